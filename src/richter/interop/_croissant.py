"""A data set as others find it: described for machines (Croissant, MLCommons, format 1.0)."""

import dataclasses
import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from richter.errors import InputError
from richter.store import write_folder

__all__ = ["About", "DataFile", "write_dataset"]

_CONTEXT = {
    "@language": "en", "@vocab": "https://schema.org/", "citeAs": "cr:citeAs", "column": "cr:column",
    "conformsTo": "dct:conformsTo", "cr": "http://mlcommons.org/croissant/",
    "data": {"@id": "cr:data", "@type": "@json"}, "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "dct": "http://purl.org/dc/terms/", "equivalentProperty": "cr:equivalentProperty",
    "examples": {"@id": "cr:examples", "@type": "@json"}, "extract": "cr:extract", "field": "cr:field",
    "fileObject": "cr:fileObject", "fileProperty": "cr:fileProperty", "fileSet": "cr:fileSet", "format": "cr:format",
    "includes": "cr:includes", "isLiveDataset": "cr:isLiveDataset", "jsonPath": "cr:jsonPath", "key": "cr:key",
    "md5": "cr:md5", "parentField": "cr:parentField", "path": "cr:path", "rai": "http://mlcommons.org/croissant/RAI/",
    "recordSet": "cr:recordSet", "references": "cr:references", "regex": "cr:regex", "repeated": "cr:repeated",
    "replace": "cr:replace", "samplingRate": "cr:samplingRate", "sc": "https://schema.org/",
    "separator": "cr:separator", "source": "cr:source", "subField": "cr:subField", "transform": "cr:transform",
}  # fmt: skip


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class About:
    """What people must know of a data set: its name, what it is, whose it is and on what terms."""

    name: str
    description: str
    licenses: tuple[str, ...]
    creator: str
    keywords: tuple[str, ...]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class DataFile:
    """A Parquet file of the data set and its columns: name -> (type, what it holds, repeated)."""

    path: str
    content: bytes
    description: str
    columns: Mapping[str, tuple[str, str, bool]]


def croissant_name(text: str) -> str:
    """A name as identifiers may have it: letters, digits, minus and underscore."""
    return "".join(c if c.isascii() and (c.isalnum() or c in "-_") else "-" for c in text).strip("-") or "data"


def croissant(about: About, files: Sequence[DataFile]) -> dict[str, Any]:
    """The description as JSON-LD; the same files give the same text everywhere."""
    body: dict[str, Any] = {
        "@context": _CONTEXT,
        "@type": "sc:Dataset",
        "name": croissant_name(about.name),
        "alternateName": about.name,
        "description": about.description,
        "conformsTo": "http://mlcommons.org/croissant/1.0",
        "version": "1.0.0",
        "keywords": list(about.keywords),
        "isLiveDataset": False,
    }
    known = {
        "license": list(about.licenses),
        "creator": {"@type": "sc:Organization", "name": about.creator} if about.creator else None,
    }
    body |= {name: value for name, value in known.items() if value}  # what is not known is not said
    body["distribution"] = [_distribution(file) for file in files]
    body["recordSet"] = [_records(file) for file in files]
    return body


def _distribution(file: DataFile) -> dict[str, Any]:
    return {
        "@type": "cr:FileObject",
        "@id": file.path,
        "name": croissant_name(Path(file.path).name),
        "description": file.description,
        "contentUrl": file.path,
        "contentSize": f"{len(file.content)} B",
        "encodingFormat": "application/x-parquet",
        "sha256": hashlib.sha256(file.content).hexdigest(),
    }


def _records(file: DataFile) -> dict[str, Any]:
    name = croissant_name(Path(file.path).name.split(".")[0])
    fields = []
    for column, (kind, meaning, repeated) in file.columns.items():
        field: dict[str, Any] = {
            "@type": "cr:Field",
            "@id": f"{name}/{column}",
            "name": column,
            "description": meaning,
            "dataType": f"sc:{kind}",
            "source": {"fileObject": {"@id": file.path}, "extract": {"column": column}},
        }
        if repeated:
            field["repeated"] = True
        fields.append(field)
    return {"@type": "cr:RecordSet", "@id": name, "name": name, "description": file.description, "field": fields}


def write_dataset(folder: str | Path, about: About, files: Sequence[DataFile], readme: str) -> None:
    """Write README.md, croissant.json and the data files in one step: a folder that is there is whole."""
    target = Path(folder)
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise InputError(f"{target} exists and is not empty.", remedy="Choose another folder.")
    text = json.dumps(croissant(about, files), indent=2, ensure_ascii=False) + "\n"
    held: dict[str, str | bytes] = {file.path: file.content for file in files}
    write_folder(target, held | {"croissant.json": text, "README.md": readme})
