"""All figures of a results document, and each as a file of its own."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

from richter.errors import InputError, StorageError
from richter.report._calibration import calibration_figures
from richter.report._figure import Figure, with_colours
from richter.report._floors import floors_figures
from richter.report._judges import judges_figures
from richter.report._search import search_figures
from richter.report._severity import severity_figures
from richter.report._tail import tail_figures

__all__ = ["figures", "write_figures"]

Drawer = Callable[[Any], Iterator[Figure]]
SECTIONS: dict[str, Drawer] = {
    "severity": severity_figures,
    "tail": tail_figures,
    "calibration": calibration_figures,
    "floors": floors_figures,
    "search": search_figures,
    "judges": judges_figures,
}


def figures(document: Mapping[str, Any]) -> dict[str, Figure]:
    """The figures that a results document allows, by name, in the order of the report."""
    sections = document.get("sections") or {}
    found: dict[str, Figure] = {}
    for name, draw in SECTIONS.items():
        section = sections.get(name)
        if not section or (isinstance(section, Mapping) and "missing" in section):
            continue
        found |= {f.name: f for f in draw(section)}
    return found


def write_figures(
    document: Mapping[str, Any],
    folder: str | Path,
    format: Literal["svg", "png"] = "svg",  # noqa: A002 (the word users know)
    *,
    width: int = 720,
) -> list[Path]:
    """Write each figure of a results document to `folder` as `<name>.svg` or `.png`, on white; the paths written."""
    import vl_convert

    if format not in ("svg", "png"):
        raise InputError(f"Figures cannot be written as {format!r}.", remedy="Use svg or png.")
    folder = Path(folder)
    paths = []
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, figure in figures(document).items():
            spec = with_colours(_sized(figure, width), figure.rows)
            path = folder / f"{name}.{format}"
            if format == "svg":
                path.write_text(vl_convert.vegalite_to_svg(spec), encoding="utf-8")
            else:
                path.write_bytes(vl_convert.vegalite_to_png(spec, scale=2))
            paths.append(path)
    except OSError as error:
        raise StorageError(
            f"{folder} cannot be written: {error.strerror}.", remedy="Choose a folder that you may write to."
        ) from error
    return paths


def _sized(figure: Figure, width: int) -> dict[str, Any]:
    """The spec at a fixed width: facets as many beside each other as fit, as the page does it."""
    spec = figure.spec
    if "facet" not in spec:
        return {**spec, "width": width, "autosize": {"type": "fit-x", "contains": "padding"}}
    room = width - 150
    columns = max(1, min(room // 170, len({row[spec["facet"]["field"]] for row in figure.rows})))
    return {**spec, "columns": columns, "spec": {**spec["spec"], "width": min(380, room // columns - 22)}}
