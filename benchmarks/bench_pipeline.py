"""Building a base in one process and on Ray workers of this machine: paragraphs a second, and the driver's share.

The driver alone reads the source and writes the base. Its processor time a paragraph, against that of one process doing
everything, says how many workers it can keep busy, whatever else this machine does; elapsed time says no more than what
two busy cores gave. Texts are those of the facts base (its divisions), joined: as rows of JSONL, and as pages of a
MediaWiki dump with simulated markup around them.
"""

import importlib.util
import json
import resource
import tempfile
import time
from itertools import chain, count
from pathlib import Path
from xml.sax.saxutils import escape


def sources(folder):
    from richter_audit.bench import World, fact_documents

    documents = fact_documents(World(), parts=("divisions", "airfields"))
    texts = [p.text for p in chain.from_iterable(d.paragraphs for d in documents)]
    numbers = count()
    joined = [f"{next(numbers)}. " + " ".join(texts[i : i + 15]) for i in range(0, len(texts), 3)]
    rows, dump = folder / "rows.jsonl", folder / "dump.xml"
    rows.write_text(
        "".join(json.dumps({"title": f"T{i // 20}", "text": text}) + "\n" for i, text in enumerate(joined)),
        encoding="utf-8",
    )
    with dump.open("w", encoding="utf-8") as out:
        out.write("<mediawiki>")
        for i in range(0, len(joined) // 4, 8):
            marked = [
                text.replace(" is ", " '''is''' ").replace(" the ", " [[the|the]] ") + "<ref>{{cite|title=x}}</ref>"
                for text in joined[i : i + 8]
            ]
            text = escape("{{Infobox|a=1}}\n" + "\n\n".join(marked[:4]) + "\n== More ==\n" + "\n\n".join(marked[4:]))
            out.write(f"<page><title>P{i}</title><ns>0</ns><revision><text>{text}</text></revision></page>")
        out.write("</mediawiki>")
    return rows, dump


def build(source, folder, engine):
    from richter.engine import open_engine
    from richter_audit.knowledge import read_documents, write_base

    with open_engine(engine) as where:
        if engine == "ray":  # start the workers' processes, which a large base does not notice
            write_base(folder / "warm", read_documents(source).first(200), name="warm", engine=where)
        elapsed, cpu = time.perf_counter(), time.process_time()
        info = write_base(folder / engine, read_documents(source), name="bench", engine=where)
        return info.paragraphs, time.perf_counter() - elapsed, time.process_time() - cpu


def main():
    needed = ("ray", "wordllama", "pycountry", "mwparserfromhell")
    missing = [name for name in needed if importlib.util.find_spec(name) is None]
    if missing:
        print(f"not installed: {', '.join(missing)}")
        return
    with tempfile.TemporaryDirectory() as made:
        for source in sources(Path(made)):
            folder = Path(made) / source.stem
            found = {engine: build(source, folder, engine) for engine in ("local", "ray")}
            same = all(
                (folder / "ray" / path.name).read_bytes() == path.read_bytes() for path in (folder / "local").iterdir()
            )
            (n, local_s, local_cpu), (_, ray_s, ray_cpu) = found["local"], found["ray"]
            size = source.stat().st_size / n
            print(f"{source.name}: {n:,} paragraphs, {size:,.0f} bytes each; files the same: {same}")
            print(f"  one process: {n / local_cpu:,.0f} a second of processor time, {n / local_s:,.0f}/s elapsed")
            print(f"  Ray, all processors of this machine: {n / ray_s:,.0f}/s elapsed, {local_s / ray_s:.2f} times")
            print(
                f"  its driver: {n / ray_cpu:,.0f} a second of processor time, {ray_cpu / local_cpu:.3f} of one process"
            )
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"driver's memory at most: {peak:.1f} GB")


if __name__ == "__main__":
    main()
