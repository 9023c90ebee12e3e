"""What a paper that uses a run cites: its scores by signature, and BibTeX of its sources."""

import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

import yaml

from metaeval import choices
from metaeval.reports.shared.formatting import row_kind
from metaeval.reports.shared.print_tables import PrintTable, to_csv, to_latex, to_markdown
from metaeval.reports.shared.run import LoadedRun

BIB = Path(__file__).with_name("citations.bib")
PROTOCOL = "gonzalez2022metrics"  # of the experiments replace and shuffle
CONTROLS = "perrella2024guardians"


class Citation(NamedTuple):
    """The scores of a run by their signatures, a line each, and the BibTeX of what to cite.

    Of several scores of a metric the one that stands for it is listed. `missing` are the metrics
    whose paper is not known here: users' own ones.
    """

    scores: str
    bibtex: str
    missing: tuple[str, ...]


def cite(run: LoadedRun) -> Citation:
    """What to cite of a run: metaeval, the protocol, the data and the metrics that ran."""
    version = run.info.metaeval
    metrics = [m for m in run.result.visible if m.ok]
    results = [m for m in metrics if row_kind(m) == "result" and m.signature]
    scores = [f"{m.name}: {m.signature}" for m in results if m.column.headline]
    keys = [
        *((PROTOCOL,) if run.result.experiment in ("replace", "shuffle") else ()),
        *_of_dataset(run.dataset.name),
        *(key for m in metrics for key in m.citation),
        *((CONTROLS,) if any(m.column.control for m in metrics) else ()),
    ]
    missing = [m.name for m in results if not any(map(entry, m.citation))]
    parts = [software(str(version)), *filter(None, map(entry, dict.fromkeys(keys)))]
    text = "\n".join([f"Scores by metaeval {version}", *scores])
    return Citation(text, "\n\n".join(parts), tuple(dict.fromkeys(missing)))


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


def entry(citation: str) -> str | None:
    """The BibTeX entry of a key of citations.bib, or the entry that stands in place of a key."""
    return citation.strip() if citation.lstrip().startswith("@") else entries().get(citation)


def _of_dataset(name: str) -> list[str]:
    """What the configuration cites whose name is the longest at the beginning of this one."""
    files = [f for folder in choices.config_folders() for f in folder.glob("dataset/*.yaml")]
    fitting = [file for file in files if name.startswith(file.stem)]
    if not fitting:
        return []
    file = max(fitting, key=lambda file: len(file.stem))
    return list(yaml.safe_load(file.read_text(encoding="utf-8")).get("citation", ()))


# Links that save a table of the page as a file: the file itself is in the link.
#
# So they work in a page that was sent by mail, and without JavaScript.

_FORMS = (
    ("CSV", "csv", "text/csv", to_csv),
    ("LaTeX", "tex", "application/x-tex", to_latex),
    ("Markdown", "md", "text/markdown", to_markdown),
)


class SaveLink(NamedTuple):
    """A form of a table: what the link says, the file's name, and the file as a data URI."""

    label: str
    name: str
    href: str


class SaveLinks(NamedTuple):
    """The links of one table; `choice` names it where the page has several in one place."""

    choice: str
    links: tuple[SaveLink, ...]


def save_links(tables: Iterable[PrintTable]) -> list[SaveLinks]:
    """Links for tables of one place: their choice is what their file's name adds to the first's."""
    listed = list(tables)
    stem = listed[0].name if listed else ""
    return [
        SaveLinks(
            table.name.removeprefix(stem).strip("-"),
            tuple(
                SaveLink(
                    label,
                    f"{table.name}.{suffix}",
                    f"data:{kind};charset=utf-8,{quote(write(table), safe='/,;:()*!')}",
                )
                for label, suffix, kind, write in _FORMS
            ),
        )
        for table in listed
    ]
