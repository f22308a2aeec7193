"""CPU per call of the peers, run in an environment that has them: `python _peers.py openai|inspect URL CALLS`."""

import asyncio
import sys
import time


async def with_openai(url: str, calls: int, at_once: int) -> None:
    from openai import AsyncOpenAI

    client = AsyncOpenAI(base_url=url, api_key="none", max_retries=5)
    gate = asyncio.Semaphore(at_once)

    async def one(number: int) -> None:
        async with gate:
            await client.chat.completions.create(
                model="fake", messages=[{"role": "user", "content": f"question {number}"}], max_tokens=32
            )

    await asyncio.gather(*(one(n) for n in range(calls)))


async def with_inspect(url: str, calls: int, at_once: int) -> None:
    from inspect_ai.model import ChatMessageUser, GenerateConfig, get_model

    config = GenerateConfig(max_connections=at_once, max_tokens=32)
    model = get_model("openai/fake", base_url=url, api_key="none", config=config, responses_api=False)
    gate = asyncio.Semaphore(at_once)

    async def one(number: int) -> None:
        async with gate:
            await model.generate([ChatMessageUser(content=f"question {number}")])

    await asyncio.gather(*(one(n) for n in range(calls)))


if __name__ == "__main__":
    peer, address, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
    run = {"openai": with_openai, "inspect": with_inspect}[peer]
    asyncio.run(run(address, 200, 100))  # imports and connections are not counted
    cpu, wall = time.process_time(), time.perf_counter()
    asyncio.run(run(address, count, 100))
    print(time.process_time() - cpu, time.perf_counter() - wall)
