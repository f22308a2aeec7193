import json
from pathlib import Path

import pytest

from richter.errors import InputError, UnknownProvider
from richter.models import Price, price_of, read_prices, resolve
from richter_audit.llm import open_model, parse_budget


def test_names() -> None:
    assert resolve("smollm2").name == "local/smollm2"
    assert resolve("openai/gpt-4o").provider == "openai"
    assert resolve("openrouter/meta-llama/llama-3-8b").model == "meta-llama/llama-3-8b"
    assert resolve("http://localhost:8000/v1#a/b").model == "a/b"
    assert resolve("inspect/anthropic/claude").backend == "inspect"
    assert resolve("models/x.gguf").backend == "local"
    for name in ("gpt-4o", "nobody/x", "openai/", ""):
        with pytest.raises(UnknownProvider, match="names no known model provider"):
            resolve(name)
    with pytest.raises(InputError, match="names no model"):
        resolve("http://localhost:8000/v1")
    with pytest.raises(InputError, match="user name or password") as caught:
        resolve("http://me:hunter2@localhost/v1#m")
    assert "hunter2" not in str(caught.value)


def test_prices(tmp_path: Path) -> None:
    path = tmp_path / "prices.toml"
    path.write_text('["openai/gpt-4o"]\ninput_usd = 1\noutput_usd = 2.5\n')
    prices = read_prices(path)
    # 1000 tokens at $1 a million and 100 at $2.5 a million, by hand
    assert price_of("openai/gpt-4o", prices).cost(1000, 100) == pytest.approx(0.00125)
    assert price_of("openai/never-heard-of", prices) is None
    assert price_of("http://localhost:1/v1#x", prices) is None
    assert price_of("smollm2", prices).cost(10, 10) == 0
    path.write_text('["x/y"]\ninput_usd = "free"\n')
    with pytest.raises(InputError, match="'x/y' is malformed"):
        read_prices(path)
    with pytest.raises(InputError, match="cannot be read"):
        read_prices(tmp_path / "none.toml")


def test_a_list_in_litellms_form(tmp_path: Path) -> None:
    path = tmp_path / "list.json"
    row = {"litellm_provider": "xai", "mode": "chat", "input_cost_per_token": 1e-6, "output_cost_per_token": 4e-6}
    odd = {"xai/free": row | {"input_cost_per_token": -1.0}, "xai/image": row | {"mode": "image"}, "x": 3}
    path.write_text(json.dumps({"xai/new": row, **odd}))
    prices = read_prices(path)
    assert price_of("grok/new", prices) == Price(input_usd=1, output_usd=4)
    assert price_of("grok/free", prices) is price_of("grok/image", prices) is None
    assert str(path) in prices.source
    for broken in ("[1, 2]", "{", "[" * 100_000):
        path.write_text(broken)
        with pytest.raises(InputError, match="cannot be read"):
            read_prices(path)


def test_budgets() -> None:
    assert parse_budget("5usd").money_usd == 5
    assert parse_budget("$2.50").money_usd == 2.5
    assert parse_budget("20000calls").calls == 20000
    assert parse_budget("2Mtok").tokens == 2_000_000
    both = parse_budget("1kcalls, 3usd")
    assert (both.calls, both.money_usd) == (1000, 3)
    assert not parse_budget(None).is_limited
    for text in ("five", "5", "5eur", "-1usd", "usd", "$5calls"):
        with pytest.raises(InputError, match="--budget"):
            parse_budget(text)


def test_local_files_are_checked(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="No such file"):
        open_model(str(tmp_path / "none.gguf"))
    (tmp_path / "bad.gguf").write_bytes(b"PK\x03\x04")
    with pytest.raises(InputError, match="is not a GGUF file"):
        open_model(str(tmp_path / "bad.gguf"))
