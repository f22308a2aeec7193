"""Write `src/richter/models/prices.tsv` from the list in litellm's package: names and numbers of chat models only.

pip download --no-deps litellm -d wheels
python tools/build_prices.py wheels/litellm-*.whl
"""

import datetime
import json
import sys
import zipfile
from pathlib import Path

from richter.models._prices import TABLE, litellm_prices

LIST = "litellm/model_prices_and_context_window_backup.json"


def main(wheel: Path) -> None:
    """Read the list out of the wheel, without running any of it."""
    version = wheel.name.split("-")[1]
    with zipfile.ZipFile(wheel) as archive:
        prices = litellm_prices(json.loads(archive.read(LIST)))
    rows = [f"{name}\t{price.input_usd:g}\t{price.output_usd:g}" for name, price in sorted(prices.items())]
    head = f"# litellm {version}, read on {datetime.date.today()}: dollars per million tokens in and out"
    TABLE.write_text("\n".join([head, *rows]) + "\n", encoding="utf-8")
    print(f"{len(rows)} prices from litellm {version}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
