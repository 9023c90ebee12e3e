"""What a paper that uses a run cites: its scores by signature, and BibTeX of its sources."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import NamedTuple

from metaeval.reports.shared.row_kind import kind_of
from metaeval.reports.shared.run import LoadedRun

BIB = Path(__file__).with_name("citations.bib")
PROTOCOL = "gonzalez2022metrics"  # of the experiments replace and shuffle
CONTROLS = "perrella2024guardians"

# how the name of a dataset begins → keys
OF_DATASET = {
    "coco": ("chen2015microsoft",),
    "flickr8k": ("hodosh2013framing",),
    "composite": ("aditya2015images",),
    "pascal50s": ("vedantam2015cider",),
    "thumb": ("kasai2022transparent", "chen2015microsoft"),
    "sugarcrepe": ("hsieh2023sugarcrepe", "chen2015microsoft"),
    "valse": ("parcalabescu2022valse", "chen2015microsoft"),
    "caparena": ("cheng2025caparena",),
    "foil": ("shekhar2017foil", "chen2015microsoft"),
}


class Citation(NamedTuple):
    """A sentence that names the scores of a run exactly, and the BibTeX of what to cite.

    `missing` are the metrics whose paper is not known here: users' own ones.
    """

    sentence: str
    bibtex: str
    missing: tuple[str, ...]


def cite(run: LoadedRun) -> Citation:
    """What to cite of a run: metaeval, the protocol, the data and the metrics that ran."""
    version = run.info.metaeval
    metrics = [m for m in run.result.visible if m.ok]
    scores = [m for m in metrics if kind_of(m) == "result" and m.signature]
    named = "; ".join(f"{m.name} ({m.signature})" for m in scores)
    keys = [
        *((PROTOCOL,) if run.result.experiment in ("replace", "shuffle") else ()),
        *_of_dataset(run.dataset.name),
        *(key for m in metrics for key in m.citation),
        *((CONTROLS,) if any(m.column.control for m in metrics) else ()),
    ]
    known = entries()
    missing = dict.fromkeys(m.name for m in scores if not known.keys() & set(m.citation))
    parts = [software(str(version)), *(known[key] for key in dict.fromkeys(keys) if key in known)]
    sentence = f"Scores by metaeval {version}" + (f": {named}." if named else ".")
    return Citation(sentence, "\n\n".join(parts), tuple(missing))


def software(version: str) -> str:
    """The BibTeX entry of metaeval itself, as in CITATION.cff."""
    return (
        "@software{metaeval,\n"
        "  title   = {metaeval: which image-captioning metric can you trust, and for what?},\n"
        "  author  = {{The metaeval authors}},\n"
        f"  version = {{{version}}}\n"
        "}"
    )


@cache
def entries() -> dict[str, str]:
    """Key → entry of citations.bib, in its order."""
    text = BIB.read_text(encoding="utf-8").strip()
    entries = re.split(r"\n\n(?=@)", text)
    return {re.split(r"[{,]", entry, maxsplit=2)[1]: entry.strip() for entry in entries}


def _of_dataset(name: str) -> tuple[str, ...]:
    return next((keys for start, keys in OF_DATASET.items() if name.startswith(start)), ())
