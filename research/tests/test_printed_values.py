"""The audit of printed values: a small table with its answers by hand, and values of papers."""

import shutil
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from metaeval.choices import conf
from metaeval.errors import ConfigError
from metaeval.papers.expected import Paper, papers
from metaeval.readers.yaml_text import read_yaml
from metaeval.reproduce.explain import PrintedValue, Search
from research.printed_values import _Printed, _search, audit, audited_table

# protocol → the values of two metrics; the first is the stated one
GRID = {
    ("drop", "tau_c"): (0.310, 0.440),
    ("drop", "tau_b"): (0.305, 0.430),
    ("keep", "tau_c"): (0.370, 0.520),
    ("keep", "tau_b"): (0.362, 0.511),
}
STATED = pd.Series({"own": "drop", "statistic": "tau_c", "variant": "default"})


def searched(*printed: str) -> Any:
    """The made-up table with these printed values, compared."""
    known = {"own": ("drop", "keep"), "statistic": ("tau_c", "tau_b"), "variant": ("default",)}
    values = [PrintedValue("", m, m, text, 1.0, float(text), 10.0 ** (2 - len(text)), 0.0, known)
              for m, text in zip("AB", printed, strict=True)]  # fmt: skip
    frames = [
        pd.DataFrame(
            [
                {"own": o, "statistic": s, "variant": "default", "value": row[j]}
                for (o, s), row in GRID.items()
            ]
        )
        for j in range(len(values))
    ]
    search = object.__new__(Search)
    search.default = STATED
    return search._compared(values, frames, STATED)


@pytest.mark.parametrize(
    ("printed", "verdicts", "found", "points"),
    [
        (("0.3100", "0.4400"), ["stated", "stated"], "", {}),
        (("0.3050", "0.4300"), ["another"] * 2, "statistic=tau_b", {"statistic=tau_b": -0.75}),
        # own captions: .362 − .305 and .511 − .430; τ-b: .362 − .370 and .511 − .520
        (
            ("0.3620", "0.5110"),
            ["another"] * 2,
            "own=keep, statistic=tau_b",
            {"own=keep": 6.9, "statistic=tau_b": -0.85},
        ),
        (("0.3100", "0.4300"), ["stated", "none"], "", {}),  # no single protocol has both
        (("0.3700", "0.2500"), ["another", "none"], "own=keep", {"own=keep": 6.0}),
        (("0.3990", "0.4990"), ["none", "none"], "", {}),
        (("0.37", "0.25"), ["none", "none"], "", {}),  # random values are matched too often
        (("0.3100", "0.4490"), ["stated", "none"], "", {}),  # one digit wrong
    ],
)
def test_verdicts_of_a_table(
    printed: tuple[str, str], verdicts: list[str], found: str, points: dict[str, float]
) -> None:
    audited = audited_table(searched(*printed), STATED)
    assert [v["verdict"] for v in audited["verdicts"]] == verdicts
    assert audited["found"] == found
    assert {s["switch"]: s["points"] for s in audited["switches"]} == pytest.approx(points)
    assert 0 <= audited["by chance"] < 0.1


def test_what_is_not_searched_is_counted() -> None:
    paper = Paper.model_validate(
        {
            "paper": "mine",
            "title": "",
            "source": "",
            "items": [
                {
                    "item": "a",
                    "title": "A",
                    "run": {"experiment": "judgments", "dataset": "flickr8k_cf"},
                    "value": "values.spearman",
                    "cells": {"TIGEr": 0.4, "CIDEr": 0.3, "BLEU-1": None},
                }
            ],
        }
    )
    result = audit(known={"mine": paper})
    assert result.not_searched == {"needs a model": 1, "no grid of protocols": 1}
    assert result.tables.empty
    with pytest.raises(ConfigError, match=r"^audit: unknown paper 'his'; choose from mine$"):
        audit(["his"], {"mine": paper})


# what the papers and their code are known to do; of Flickr8k-CF test_explain.py has the values
KNOWN = {
    ("sarto2023pacscore", "flickr8k_expert", "CIDEr", "43.6"): "stated",
    ("sarto2023pacscore", "flickr8k_expert", "CIDEr", "43.9"): "stated",
    ("hessel2021clipscore", "composite", "BLEU-4", "30.6"): "stated",
    ("jiang2019tiger", "flickr8k_expert", "BLEU-4", "0.138"): "none",
    ("jiang2019tiger", "composite", "METEOR", "0.379"): "another",  # references without it alone
}


def test_stated_switches_are_those_of_the_grids() -> None:
    for paper in papers().values():
        for item in paper.items:
            if item.stated:
                grid = read_yaml(conf() / "protocols" / f"{item.run['dataset']}.yaml")
                assert set(item.stated) <= set(grid["switches"]), f"{paper.paper}/{item.item}"


@pytest.mark.parametrize(
    ("references", "open_ones"),
    [("drawn 5", ["drawn 5"]), ("all", ["drawn 5", "drawn 1", "all"])],
)
def test_references_that_are_drawn_stay_as_stated(references: str, open_ones: list[str]) -> None:
    """The rule in docs/audit.md: the category stays, too; all else that the grid has is open."""
    stated = {"references": references, "labels": "direct", "category": "mean"}
    row = {"metric": "BLEU-4", "dataset": "pascal50s", "value": "75", "table": "mine: 1"}
    known = _search("pascal50s", [_Printed("mine", "", row, stated)])[0].values[0].known
    found = [list(known[switch]) for switch in ("references", "labels", "category")]
    assert found == [open_ones, ["consensus", "direct"], ["mean"]]


@pytest.fixture(scope="module")
def scores(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A cache: captions of one dataset are scored once for all papers."""
    return str(tmp_path_factory.mktemp("cache"))


@pytest.mark.slow
@pytest.mark.parametrize(("paper", "dataset"), dict.fromkeys(key[:2] for key in KNOWN))
def test_known_values_of_papers(
    coco_root: Path, scores: str, monkeypatch: pytest.MonkeyPatch, paper: str, dataset: str
) -> None:
    if not (coco_root / ("composite" if dataset == "composite" else "flickr8k")).is_dir():
        pytest.skip(f"METAEVAL_DATA has no {dataset}")
    monkeypatch.setenv("METAEVAL_CACHE", scores)
    values = audit([paper], datasets=[dataset]).values
    for (*where, metric, printed), verdict in KNOWN.items():
        if where == [paper, dataset] and (metric != "METEOR" or shutil.which("java")):
            rows = values[(values["metric"] == metric) & (values["printed"] == printed)]
            assert verdict in set(rows["verdict"]), (metric, printed)
