"""Protocols of printed values: small files by hand and SciPy, and what papers are known to use."""

import shutil
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import metaeval
from metaeval.cli.main import run_verb
from metaeval.data.dataset import RecordCount
from metaeval.data.judgments.pascal50s import CATEGORIES, ForcedChoice
from metaeval.errors import MetaevalError
from metaeval.reproduce.explain import _accuracy
from tests.shared import in_data

# the caption of each image has as many words as `LENGTHS` says; its three ratings
LENGTHS = (2, 9, 4, 7, 3, 8, 5, 6, 2, 4)
RATINGS = [(1, 1, 3), (4, 3, 4), (2, 1, 1), (3, 4, 2), (1, 2, 2)] * 2


@pytest.fixture
def tiny_expert(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Flickr8k-Expert with ten images; caption k is judged with the next image."""
    folder = tmp_path / "data/flickr8k"
    folder.mkdir(parents=True)
    texts = [" ".join(f"w{k}x{w}" for w in range(n)) for k, n in enumerate(LENGTHS)]
    (folder / "Flickr8k.token.txt").write_text(
        "".join(f"{k}.jpg#{r}\t{text}\n" for k, text in enumerate(texts) for r in range(2))
    )
    (folder / "ExpertAnnotations.txt").write_text(
        "".join(
            "\t".join([f"{(k + 1) % 10}.jpg", f"{k}.jpg#0", *map(str, given)]) + "\n"
            for k, given in enumerate(RATINGS)
        )
    )
    monkeypatch.setenv("METAEVAL_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("METAEVAL_CACHE", str(tmp_path / "cache"))


def tau_a(x: np.ndarray, y: np.ndarray) -> float:
    pairs = list(combinations(range(len(x)), 2))
    return float(sum(np.sign(x[i] - x[j]) * np.sign(y[i] - y[j]) for i, j in pairs)) / len(pairs)


LENGTH, RATED = np.array(LENGTHS, dtype=float), np.array(RATINGS, dtype=float)
EACH = np.repeat(LENGTH, 3), RATED.ravel()


@pytest.mark.parametrize(
    ("protocol", "value"),
    [
        ("default", stats.kendalltau(*EACH, variant="c").statistic),
        ("statistic=kendall_tau_b", stats.kendalltau(*EACH).statistic),
        ("statistic=kendall_tau_a", tau_a(*EACH)),
        ("ratings=mean, statistic=pearson", stats.pearsonr(LENGTH, RATED.mean(1)).statistic),
        (
            "ratings=median, statistic=pearson",
            stats.pearsonr(LENGTH, np.median(RATED, axis=1)).statistic,
        ),
        ("ratings=rater 2, statistic=spearman", stats.spearmanr(LENGTH, RATED[:, 1]).statistic),
    ],
)
def test_a_value_leads_to_its_protocol(tiny_expert: None, protocol: str, value: float) -> None:
    found = metaeval.explain("length", "flickr8k_expert", f"{100 * value:.4f}")
    assert found["protocol"][0] == protocol
    assert found["ours"][0] == pytest.approx(100 * value)
    # six ways to use the ratings and five statistics, of which some give the same
    assert 20 < found["cells"][0] <= 30
    assert found["verdict"][0] == "found"


def test_a_value_that_no_protocol_gives_has_its_nearest(tiny_expert: None) -> None:
    found = metaeval.explain("length", "flickr8k_expert", 0.0123, statistic="pearson")
    assert found["verdict"].tolist() == ["none"] * 3
    assert found["ours"].sub(0.0123).abs().is_monotonic_increasing
    stated = metaeval.explain(
        "length", "flickr8k_expert", f"{stats.pearsonr(*EACH).statistic:.3f}",
        ratings="each", statistic="pearson", own_captions="drop", references="all",
    )  # fmt: skip
    assert stated["verdict"].tolist() == ["as stated"]


def test_a_metric_that_cannot_run_says_so(
    tiny_expert: None, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["metric=clipscore", "dataset=flickr8k_expert", "value=51.2", "variant=default"]
    assert run_verb(["explain", *options]) == 0
    printed = capsys.readouterr().out
    assert "51.2 NaN not run" in " ".join(printed.split())
    assert "not searched: clipscore (default): " in printed


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"dataset": "scenes"}, "dataset: unknown dataset with protocols 'scenes'"),
        ({"metric": "lenght"}, "metric: unknown metric or column 'lenght'"),
        ({"value": "43,6"}, r"explain, length, field 'value': '43,6' is not a number; write 1234"),
        ({"value": None}, "field 'value': value 1 has no value; write value="),
        ({"rating": "mean"}, "explain: unknown switch of flickr8k_expert 'rating'"),
        ({"values": pd.DataFrame()}, "the table of values is empty; write one value"),
        ({"ratings": "each|all"}, "ratings: unknown value on flickr8k_expert 'all'"),
    ],
)
def test_wrong_questions(tiny_expert: None, options: dict[str, Any], message: str) -> None:
    given = {"metric": "length", "dataset": "flickr8k_expert", "value": ".436", **options}
    with pytest.raises(MetaevalError, match=f"^{message}"):
        metaeval.explain(**given)


def test_the_command_reads_a_table_and_marks_matches(
    tiny_expert: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    value = f"{stats.kendalltau(*EACH).statistic:.5f}"
    options = ["metric=length", "dataset=flickr8k_expert", f"value={value}"]
    assert run_verb(["explain", *options]) == 0
    printed = capsys.readouterr().out
    assert "distinct protocols matches 1 of 1 values" in printed
    assert printed.count(f"[{float(value):.4g}]") == 1
    table = tmp_path / "paper.tsv"
    table.write_text(f"metric\tdataset\tvalue\nlength\tflickr8k_expert\t{value}\n")
    assert run_verb(["explain", f"values={table}"]) == 0
    assert f"{value} " in capsys.readouterr().out
    assert run_verb(["explain", "length"]) == 2


# the gaps of two pairs of each category (HC, HI, HM, MM), and the votes of both sets of labels
GAPS = np.array([1, 0, 1, -1, 1, 1, -1, -1], dtype=float)
VOTES = {"consensus": [2, 2, 2, 2, 0, 2, 2, 2], "direct": [-2] * 8}


@pytest.mark.parametrize(
    ("labels", "ties", "category", "value"),
    [
        ("consensus", "half", "HC", (1 + 0.5) / 2),
        ("consensus", "wrong", "HC", 1 / 2),
        ("consensus", "half", "HM", (0.5 + 1) / 2),  # people are divided on one pair
        ("consensus", "wrong", "HM", 1 / 2),
        ("consensus", "drop", "HM", 1.0),
        ("consensus", "half", "mean", (0.75 + 0.5 + 0.75 + 0) / 4),
        ("direct", "half", "mean", (0.25 + 0.5 + 0 + 1) / 4),
    ],
)
def test_accuracy_of_a_forced_choice_by_hand(
    labels: str, ties: str, category: str, value: float
) -> None:
    votes = {name: np.array([(1 + v, 1 - v) for v in of]) for name, of in VOTES.items()}
    texts = ("",) * len(GAPS)
    pairs = ForcedChoice(
        "p", "P", texts, texts, texts, ((),) * len(GAPS), tuple(np.repeat(CATEGORIES, 2)),
        votes["consensus"], (1,), 1, {}, (), RecordCount(8, 8), other_votes=votes["direct"],
    )  # fmt: skip
    scores = np.concatenate([GAPS, np.zeros(len(GAPS))])
    assert _accuracy(pairs, scores, labels, ties, category) == {"": pytest.approx(value)}


def test_a_value_of_drawn_references_has_a_tolerance(tiny_expert: None) -> None:
    """All draws of both references are the same set, and length reads none of them."""
    value = stats.kendalltau(*EACH, variant="c").statistic
    off = f"{value + 0.004:.4f}"
    found = [
        metaeval.explain("length", "flickr8k_expert", off, references="drawn 2", **more)
        for more in ({}, {"tolerance": "0.005"})
    ]
    assert (found[0]["protocol"] == "references=drawn 2").sum() <= 1
    best = found[1][found[1]["protocol"] == "references=drawn 2"]
    assert best["ours"].tolist() == pytest.approx([value])
    assert best["matched"].tolist() == [1]


# what the papers and their code are known to do (REFERENCES: PAC-S's code prints both taus)
B, C = "statistic=kendall_tau_b", "default"
METEOR = ("METEOR", "41.5", B), ("METEOR", "41.8", C)
EXPERT = {
    "tau-b": [("BLEU-4", "30.6", B), ("CIDEr", "43.6", B), ("ROUGE-L", "32.1", B), METEOR[0]],
    "tau-c": [("BLEU-4", "30.8", C), ("CIDEr", "43.9", C), ("ROUGE-L", "32.3", C), METEOR[1]],
    "one digit wrong": [("BLEU-4", "36.6", None), ("CIDEr", "43.6", B), ("ROUGE-L", "32.1", B)],
}
TIGER = [
    ("BLEU-1", ".323", "kendall_tau_b|kendall_tau_c", C),
    ("BLEU-1", ".404", "spearman", "statistic=spearman"),
    ("BLEU-4", ".138", "kendall_tau_b|kendall_tau_c", None),
    ("BLEU-4", ".387", "spearman", "statistic=spearman"),
    ("ROUGE-L", ".323", "kendall_tau_b|kendall_tau_c", C),
    ("CIDEr", ".439", "kendall_tau_b|kendall_tau_c", C),
]
CROWD = "statistic=kendall_tau_c"
KNOWN = {
    "flickr8k_expert": (
        [(t, m, v, "", p) for t, values in EXPERT.items() for m, v, p in values]
        + [("tiger", *row) for row in TIGER],
        {"own_captions": "drop", "references": "all", "documents": "rating"},
    ),
    "flickr8k_cf": (
        [
            ("tau-b", "BLEU-4", "16.9", "", C),
            ("tau-b", "ROUGE-L", "19.9", "", C),
            ("tau-c", "BLEU-4", "8.7", "", CROWD),
            ("tau-c", "ROUGE-L", "10.3", "", CROWD),
        ],
        {"own_captions": "unreference", "references": "all", "variant": "default"},
    ),
    "composite": (
        [("tau-c", "BLEU-4", "0.306", "kendall_tau_c", C)],
        {"own_captions": "unreference|keep", "references": "all", "variant": "default"},
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("dataset", KNOWN)
def test_known_protocols_of_papers(
    coco_root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, dataset: str
) -> None:
    in_data(coco_root, "composite" if dataset == "composite" else "flickr8k")
    monkeypatch.setenv("METAEVAL_CACHE", str(tmp_path))
    rows, known = KNOWN[dataset]
    if shutil.which("java") is None:
        rows = [row for row in rows if row[1] != "METEOR"]
    names = ["table", "metric", "value", "statistic", "protocol"]
    table = pd.DataFrame(rows, columns=names)
    shown = metaeval.explain(
        dataset=dataset, values=table.drop(columns="protocol"), **known
    ).drop_duplicates(["metric", "value", "verdict"])
    found = shown[shown["verdict"] == "found"]
    expected = table.dropna(subset="protocol").drop_duplicates(["metric", "value"])
    assert set(zip(found["metric"], found["value"], found["protocol"], strict=True)) == set(
        zip(expected["metric"], expected["value"], expected["protocol"], strict=True)
    )
    nothing = table[table["protocol"].isna()]
    none = shown[shown["verdict"] == "none"]
    assert set(none["value"]) == set(nothing["value"])
