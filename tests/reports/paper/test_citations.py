"""What a run cites: its scores by signature, and BibTeX of what it stands on."""

from __future__ import annotations

import copy
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

import metaeval
from metaeval.config import metric_names
from reports.paper.citations import (
    CONTROLS,
    OF_DATASET,
    OF_FAMILY,
    PROTOCOL,
    citation,
    entries,
    software,
)
from reports.shared.run import FinishedRun, read_run
from tests.reports.run_files import write_run

ROOT = Path(__file__).parents[3]
# controls, and what users bring
WITHOUT = {"length", "brevity", "random_score", "bigram_model", "longest_copy"} | {
    "callable", "coco", "torchmetrics", "evaluate", "scores",
}  # fmt: skip
VARIANTS = re.compile("_(noref|rel|corruptions)$")  # of FAIEr, whose family is faier


@pytest.fixture
def run(tmp_path: Path) -> FinishedRun:
    return read_run(write_run(tmp_path / "OUT"))


def changed(run: FinishedRun, **record: Any) -> FinishedRun:
    """The run with other fields in the record of its first metric."""
    statistics = copy.deepcopy(dict(run.statistics))
    statistics["metrics"][0].update(record)
    return FinishedRun(run.directory, statistics, run.info, run.config)


def keys(bibtex: str) -> list[str]:
    return re.findall(r"^@\w+\{(\w+),$", bibtex, re.MULTILINE)


def test_every_entry_is_whole() -> None:
    for key, entry in entries().items():
        fields = dict(re.findall(r"^  (\w+) +=\s(.*?),?$", entry, re.MULTILINE))
        assert {"title", "author", "year"} < set(fields), key
        assert {"booktitle", "journal"} & set(fields), key
        assert entry.count("{") == entry.count("}")
        assert re.fullmatch(r"\{(19|20)\d\d\}", fields["year"]), key


def test_every_key_and_every_metric_of_ours_is_known() -> None:
    used = {key for keys_of in (*OF_FAMILY.values(), *OF_DATASET.values()) for key in keys_of}
    assert used | {PROTOCOL, CONTROLS} <= set(entries())
    for name in metric_names():
        if name not in WITHOUT:
            assert VARIANTS.sub("", name) in OF_FAMILY, name


def test_metaeval_is_cited_as_its_citation_file_says() -> None:
    cff = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    entry = software(metaeval.__version__)
    assert cff["title"] in entry
    assert cff["version"] == metaeval.__version__
    assert f"version = {{{cff['version']}}}" in entry
    assert [author["name"] for author in cff["authors"]] == ["The metaeval authors"]
    assert "{The metaeval authors}" in entry


def test_scores_are_named_by_their_signatures(run: FinishedRun) -> None:
    records = [r for r in run.statistics["metrics"] if r["status"] == "ok"]
    assert records
    told = citation(run)
    for record in records:
        assert f"{record['metric']} ({record['signature']})" in told.sentence
    assert (
        "("
        not in citation(changed(run, status="failed"))
        .sentence.split(";")[0]
        .split(records[1]["metric"])[0]
    )


def test_what_ran_is_cited_and_nothing_else(run: FinishedRun) -> None:
    first = changed(run, family="cider")
    assert "vedantam2015cider" in keys(citation(first).bibtex)
    assert "vedantam2015cider" not in keys(citation(changed(run, family="bleu")).bibtex)
    absent = changed(run, family="cider", status="skipped")
    assert "vedantam2015cider" not in keys(citation(absent).bibtex)
    assert CONTROLS not in keys(citation(first).bibtex)
    assert CONTROLS in keys(citation(changed(run, control=True)).bibtex)
    told = keys(citation(first).bibtex)
    assert told[0] == "metaeval"
    assert len(told) == len(set(told))


def test_a_metric_of_ones_own_is_named_as_missing(run: FinishedRun) -> None:
    record = run.statistics["metrics"][0]
    assert record["metric"] in citation(changed(run, family="callable")).missing
    assert record["metric"] not in citation(changed(run, family="cider")).missing


def test_protocol_and_data(run: FinishedRun) -> None:
    assert PROTOCOL in keys(citation(run).bibtex)
    other = FinishedRun(run.directory, {**run.statistics, "experiment": "graded"}, run.info, "")
    assert PROTOCOL not in keys(citation(other).bibtex)
    info = {**run.info, "dataset": {**run.dataset, "name": "flickr8k_expert"}}
    judged = FinishedRun(run.directory, run.statistics, info, "")
    assert "hodosh2013framing" in keys(citation(judged).bibtex)
    assert "hodosh2013framing" not in keys(citation(run).bibtex)
