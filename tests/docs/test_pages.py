"""The pages of docs/, README.md, CONTRIBUTING.md: links, anchors, menu, a page per metric; the
tutorial's cells; constraints.txt."""

import json
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml
from packaging.requirements import Requirement

from benchmarks.numbers.pictures import stale, tables_in
from metaeval.choices import list_choices
from metaeval.reports.paper.citations import entries
from tests.docs.notebook import NOTEBOOK, executed

pytestmark = pytest.mark.docs
ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
TEXTS = [*PAGES, *sorted(ROOT.glob("*.md"))]
OVERVIEWS = {"index", "systems", "diversity"}  # of many metrics, and of no metric of captions
METRICS = sorted(p for p in (DOCS / "metrics").glob("*.md") if p.stem not in OVERVIEWS)
SECTIONS = [
    "What it is",
    "Formula",
    "In this tool",
    "What it sees and misses",
    "Pitfalls",
    "Citation",
]

_FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")


def prose(page: Path) -> str:
    """A page without its blocks of code."""
    return _FENCE.sub("", page.read_text(encoding="utf-8"))


def headings(page: Path, level: int | None = None) -> list[str]:
    marks = r"#{1,6}" if level is None else "#" * level
    return re.findall(rf"^{marks} (.+)$", prose(page), re.MULTILINE)


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as mkdocs makes them: a repeated one gets a number."""
    found: dict[str, int] = {}
    for heading in headings(page):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)|[`*]", r"\1", heading)
        ascii_only = plain.encode("ascii", "ignore").decode()
        name = re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", ascii_only).strip().lower())
        found[name] = found.get(name, -1) + 1
    return {name if k == 0 else f"{name}_{k}" for name, n in found.items() for k in range(n + 1)}


def broken(page: Path, text: str) -> list[str]:
    """The links of a text that lead to no file, or to no heading."""
    wrong = []
    for link in _LINK.findall(text):
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        if not target.exists() or (anchor and anchor not in anchors(target)):
            wrong.append(link)
    return wrong


@pytest.mark.parametrize("page", TEXTS, ids=lambda p: str(p.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    assert broken(page, prose(page)) == []


def test_the_tutorial_links_to_no_file_and_names_pages_that_are_there() -> None:
    """The site has it at another place than the repository, and leaves its links as they are."""
    cells = json.loads((DOCS / "tutorial.ipynb").read_text(encoding="utf-8"))["cells"]
    text = "\n".join("".join(c["source"]) for c in cells if c["cell_type"] == "markdown")
    assert all(re.match("[a-z]+:", link) for link in _LINK.findall(text))
    pages = re.findall(r"`(?:docs/)?(\w+\.md)`", text)
    assert pages
    assert all((DOCS / page).is_file() for page in pages)


def test_a_wrong_link_is_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# A heading: of two\n\n## Again\n\n## Again\n", encoding="utf-8")
    text = "[a](page.md#a-heading-of-two) [b](page.md#again_1) [c](page.md#none) [d](gone.md)"
    assert broken(page, text) == ["page.md#none", "gone.md"]


def test_the_menu_has_every_page_once() -> None:
    # mkdocs' own loader knows tags of Python, which are not in use here
    menu = yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))["nav"]

    def files(entry: object) -> list[str]:
        if isinstance(entry, str):
            return [entry]
        assert isinstance(entry, list | dict)
        inner = entry if isinstance(entry, list) else entry.values()
        return [file for part in inner for file in files(part)]

    listed = files(menu)
    assert len(listed) == len(set(listed))
    there = {str(p.relative_to(DOCS)) for p in [*PAGES, *DOCS.glob("*.ipynb")]}
    assert set(listed) == there


@pytest.mark.parametrize("page", METRICS, ids=lambda p: p.stem)
def test_a_metrics_page_answers_the_same_questions(page: Path) -> None:
    assert [h for h in headings(page, 2) if h in SECTIONS] == SECTIONS
    text = page.read_text(encoding="utf-8")
    assert re.search(r"[Ss]ignature", text)
    numbers = "<!-- numbers: "
    sees = text[text.index("## What it sees") : text.index("## Pitfalls")]
    linked = [(page.parent / link.partition("#")[0]) for link in _LINK.findall(sees)]
    # numbers by a command, here or on a page that is linked; or it is said that there are none
    assert (
        numbers in sees
        or "`python -m" in sees
        or sees.count("Not measured here")
        or any(numbers in other.read_text(encoding="utf-8") for other in linked if other.is_file())
    )


@pytest.mark.parametrize("page", METRICS, ids=lambda p: p.stem)
def test_what_to_cite_is_what_reports_cite(page: Path) -> None:
    known = set(entries().values())
    text = page.read_text("utf-8")
    blocks = re.findall(r"^```bibtex\n(.*?)^```$", text, re.M | re.S)
    cited = [entry for block in blocks for entry in re.split(r"\n+(?=@)", block.strip())]
    assert set(cited) <= known
    # or its section says on which page the source is
    assert cited or _LINK.search(text[text.index("## Citation") :])


def test_every_metric_of_ours_is_on_a_page() -> None:
    pages = "\n".join(page.read_text(encoding="utf-8") for page in PAGES)
    pages = re.sub(r"<!-- list: metric -->.*?<!-- end -->", "", pages, flags=re.DOTALL)
    assert set(list_choices("metric")) <= set(re.findall(r"(?<=[`\[,])\w+(?=[`\],])", pages))


BIGGEST = 100_000  # bytes: a report stored in it would be several times that


def printed(cell: dict[str, Any]) -> list[str]:
    """What a cell printed and showed as text, without spaces: tables' widths are pandas' affair."""
    outputs = cell.get("outputs", [])
    texts = [output.get("text") or output["data"]["text/plain"] for output in outputs]
    return ["".join("".join(lines).split()) for lines in texts]


@pytest.mark.slow
def test_the_cells_run_and_say_what_is_stored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("METAEVAL_CACHE", str(tmp_path / "cache"))
    stored = json.loads(NOTEBOOK.read_text(encoding="utf-8"))
    again = executed(stored, tmp_path)
    for before, after in zip(stored["cells"], again["cells"], strict=True):
        assert printed(before) == printed(after), "".join(before["source"])


def test_every_cell_was_executed_in_order_and_the_file_is_small() -> None:
    cells = json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]
    counts = [cell["execution_count"] for cell in cells if cell["cell_type"] == "code"]
    assert counts == list(range(1, len(counts) + 1))
    assert NOTEBOOK.stat().st_size < BIGGEST


def test_every_dependency_has_a_tested_version() -> None:
    """constraints.txt has every dependency, in a version that pyproject.toml allows."""
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pinned = dict(line.split("==") for line in lines if not line.startswith("#"))
    assert all(re.fullmatch(r"[a-z0-9-]+", name) for name in pinned)  # no address of a host
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    for dependency in map(Requirement, project["dependencies"]):
        version = pinned[re.sub(r"[-_.]+", "-", dependency.name).lower()]
        assert dependency.specifier.contains(version), f"{dependency} and {version}"
    assert "pip install -c constraints.txt ." in (ROOT / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("picture", sorted(DOCS.glob("*.png")), ids=lambda p: p.name)
def test_a_picture_is_as_new_as_its_table(picture: Path, tmp_path: Path) -> None:
    """`make numbers` and `make matrix` write both."""
    bodies = tables_in(ROOT)
    assert stale(picture, bodies) is None
    older = {name: f"{body}| another | row |" for name, body in bodies.items()}
    assert "is older than the table" in (stale(picture, older) or "")
