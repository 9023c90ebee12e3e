"""What a run cites: its scores by signature, and BibTeX of its sources; figures of the same bytes
each time; links that save tables."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import unquote
from xml.etree import ElementTree

import matplotlib as mpl
import pytest
import yaml
from matplotlib.figure import Figure

import metaeval
from metaeval.config import build, compose_config, metric_names
from metaeval.metrics.base import StatisticsAdapter, SummableMetric
from metaeval.reports.paper.citations import (
    BIB,
    CONTROLS,
    PROTOCOL,
    cite,
    entries,
    entry,
    save_links,
    software,
)
from metaeval.reports.paper.figures import BLUE, STYLE, LazyFigure, inline, write_figure
from metaeval.reports.shared.print_tables import plain_table, write_tables
from metaeval.reports.shared.run import LoadedRun, load_run_files
from metaeval.results.run import DatasetInfo
from metaeval.runs import files
from tests.metrics.metric_cases import USERS
from tests.reports.run_files import write_run

ROOT = Path(__file__).parents[3]
WITHOUT = USERS | {
    "length",
    "brevity",
    "random_score",
    "bigram_model",
    "longest_copy",
    "gold_labels",
}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> LoadedRun:
    return load_run_files(write_run(tmp_path_factory.mktemp("paper")))


def changed(
    run: LoadedRun, control: bool = False, headline: bool = True, **fields: Any
) -> LoadedRun:
    """The run with other fields in its first metric."""
    first, *others = run.result.metrics
    column = replace(first.column, control=control, headline=headline)
    metrics = (first.model_copy(update={"column": column, **fields}), *others)
    return replace(run, result=run.result.model_copy(update={"metrics": metrics}))


def keys(bibtex: str) -> list[str]:
    return re.findall(r"^@\w+\{(\w+),$", bibtex, re.MULTILINE)


def test_every_entry_is_whole() -> None:
    wrong = [
        key
        for key, whole in entries().items()
        for fields in [dict(re.findall(r"^  (\w+) +=\s(.*?),?$", whole, re.MULTILINE))]
        if not {"title", "author", "year"} < set(fields)
        or not {"booktitle", "journal"} & set(fields)
        or whole.count("{") != whole.count("}")
        or not re.fullmatch(r"\{(19|20)\d\d\}", fields["year"])
    ]
    assert wrong == []


def test_every_key_and_every_metric_of_ours_is_known() -> None:
    nodes = [yaml.safe_load(p.read_text()) for p in (ROOT / "conf/dataset").glob("*.yaml")]
    used = {key for node in nodes for key in node.get("citation", ())}
    assert len(used) > 5
    config = compose_config([f"metric=[{','.join(n for n in metric_names() if n != 'wmd')}]"])
    for name in metric_names():
        made = compose_config(["metric=[wmd]"]) if name == "wmd" else config
        of_metric = set() if name in USERS else set(build(name, made).citation)
        cites = f"conf/metric/{name}.yaml: citation: [KEY]; the entry goes into {BIB.name}"
        assert bool(of_metric) == (name not in WITHOUT), cites
        used |= of_metric
    missing = [key for key in used | {PROTOCOL, CONTROLS} if entry(key) is None]
    assert not missing, f"{missing}: add each as @article{{KEY, …}} to reports/paper/{BIB.name}"


def test_the_statistics_of_a_metric_cite_what_the_metric_cites() -> None:
    """Captioners' corpus scores are made of them."""
    bleu = build("bleu", compose_config([]))
    assert isinstance(bleu, SummableMetric)
    assert StatisticsAdapter(bleu).citation == bleu.citation == ("papineni2002bleu",)


def test_metaeval_is_cited_as_its_citation_file_says() -> None:
    cff = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    names = [author["name"] for author in cff["authors"]]
    assert (cff["version"], names) == (metaeval.__version__, ["The metaeval authors"])
    own = software(metaeval.__version__)
    facts = (cff["title"], f"version = {{{cff['version']}}}", "{The metaeval authors}")
    assert [fact in own for fact in facts] == [True] * 3


def test_scores_have_a_line_each_with_their_signature(run: LoadedRun) -> None:
    metrics = run.result.metrics
    named = [f"{metric.name}: {metric.signature}" for metric in metrics]
    assert cite(run).scores.splitlines() == ["Scores by metaeval 0.1.0", *named]
    # one that failed, and one that another score of the metric stands for
    for others in (changed(run, status="failed"), changed(run, headline=False)):
        assert cite(others).scores.splitlines()[1:] == named[1:]


CIDER, DATA = "vedantam2015cider", {"hodosh2013framing", "hsieh2023sugarcrepe", "chen2015microsoft"}
WHOLE = "@misc{mine2026,\n  title = {Mine},\n}"  # a metric of three files has no line in the file


@pytest.mark.parametrize(
    ("fields", "key", "is_cited"),
    [
        ({"citation": (CIDER,)}, CIDER, True),
        ({"citation": ("papineni2002bleu",)}, CIDER, False),
        ({"citation": (CIDER,), "status": "skipped"}, CIDER, False),
        ({"citation": (CIDER,)}, CONTROLS, False),
        ({"control": True}, CONTROLS, True),
        ({"citation": (WHOLE,)}, "mine2026", True),
    ],
)
def test_what_ran_is_cited_and_nothing_else(
    run: LoadedRun, fields: dict[str, Any], key: str, is_cited: bool
) -> None:
    cited = keys(cite(changed(run, **fields)).bibtex)
    assert (key in cited) == is_cited
    assert cited[0] == "metaeval"
    assert len(cited) == len(set(cited))


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("flickr8k_expert", "hodosh2013framing"),
        ("sugarcrepe", "hsieh2023sugarcrepe"),
        ("coco_of_mine", "chen2015microsoft"),  # by the beginning of the name
        ("mine", None),
    ],
)
def test_data_are_cited(run: LoadedRun, name: str, key: str | None) -> None:
    info = run.info.model_copy(update={"dataset": DatasetInfo(name=name)})
    cited = set(keys(cite(replace(run, info=info)).bibtex)) & DATA
    assert (key in cited) if key else not cited


def test_a_users_metric_is_named_as_missing(run: LoadedRun) -> None:
    name = run.result.metrics[0].name
    given = ((), ("a2026key",), (CIDER,), (WHOLE,))  # of no entry in our file, and known
    missing = [name in cite(changed(run, citation=citation)).missing for citation in given]
    assert missing == [True, True, False, False]
    assert (entry("nobody2026"), entry(WHOLE)) == (None, WHOLE)


def test_the_protocol_is_cited_by_the_experiments_that_have_it(run: LoadedRun) -> None:
    other = replace(run, result=run.result.model_copy(update={"experiment": "graded"}))
    assert [PROTOCOL in keys(cite(each).bibtex) for each in (run, other)] == [True, False]


def test_links_hold_the_files(tmp_path: Path) -> None:
    rows = [['A "quoted", #1 & 100%', "0.5"], ["ρ\n<script>", "–"]]
    tables = [plain_table(name, "All <of> it.", ["Metric", "ρ"], rows) for name in ("t", "t-part")]
    write_tables(tmp_path, tables)
    whole, part = save_links(tables)
    assert (whole.choice, part.choice) == ("", "part")
    for link in (*whole.links, *part.links):
        head, _, body = link.href.partition(",")
        assert re.fullmatch("data:.*;charset=utf-8", head)
        assert unquote(body) == (tmp_path / files.TABLES / link.name).read_text("utf-8")
        assert not set(body) & set('"<> #&\n')  # nothing that ends an attribute or a link
    assert [link.name for link in part.links] == ["t-part.csv", "t-part.tex", "t-part.md"]
    assert save_links([]) == []


def drawing() -> Figure:
    """A name with markup, a line in the theme's blue."""
    with mpl.rc_context(STYLE):
        figure = Figure((3, 2))
        axes = figure.add_subplot()
        axes.plot([0, 1], [0, 0], color=BLUE)
        axes.set_yticks([0, 1], ["CIDEr <b>", "Length"])
    return figure


def test_files_are_the_same_bytes_each_time(tmp_path: Path) -> None:
    figures = (LazyFigure(drawing, ""), LazyFigure(drawing, ""))
    for k, figure in enumerate(figures):
        write_figure(figure, tmp_path / str(k), "forest", "T")
    written = [[tmp_path / k / f"forest.{form}" for form in ("svg", "pdf")] for k in ("0", "1")]
    one, other = ([path.read_bytes() for path in paths] for paths in written)
    assert one == other
    assert one[1].startswith(b"%PDF-")
    root = ElementTree.parse(written[0][0]).getroot()
    texts = [t.text for t in root.iter("{http://www.w3.org/2000/svg}text")]
    assert {"CIDEr <b>", "Length"} <= set(texts)


def test_inside_a_page_it_follows_the_theme_and_leaves_the_page_alone() -> None:
    text = str(inline(LazyFigure(drawing, ""), "a <label>"))
    ElementTree.fromstring(re.sub(r"xlink:href", "href", text))  # is well formed
    there = ('aria-label="a &lt;label&gt;"', "CIDEr &lt;b&gt;", "var(--link,#1f4f8f)")
    assert [part in text for part in there] == [True] * 3
    # every colour can be changed by the theme; matplotlib's style would hold for the whole page
    absent = (r"(?<!,)#1f4f8f", "<style", r' id="[a-z]+2?d?_\d+"', "http://www.w3.org/1999/xhtml")
    assert [re.search(pattern, text) for pattern in absent] == [None] * 4
