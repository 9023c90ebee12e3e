"""`import metaeval`: the library's face."""

import doctest
import json
import math
import re
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from pycocoevalcap.cider.cider import Cider as CocoCider
from pycocoevalcap.rouge.rouge import Rouge

import metaeval
from metaeval.api import TrustRun, _write_records
from metaeval.corruptions.graded.shuffle import Shuffle
from metaeval.data.judgments.table import load_table
from metaeval.data.scenes import load_scenes
from metaeval.errors import ConfigError, InputError, StrictError
from metaeval.metrics.ngram.rouge import RougeL
from metaeval.results.files import write_info, write_result
from metaeval.results.run import ExperimentInfo, RunInfo
from tests.experiments.trust.trust_cases import cell_of, item_run, trust_result
from tests.forked import command
from tests.shared import write_captions, write_json

GTS = {
    7: ["two dogs run over the grass .", "dogs are running"],
    3: ["a man swings a bat", "a baseball player on a field"],
    5: ["a red bus is parked by the road"],
}
RES = {3: ["a man plays baseball"], 5: ["a bus by the road"], 7: ["two dogs run"]}
REFERENCES = [GTS[i] for i in RES]
CAPTIONS = [texts[0] for texts in RES.values()]


def test_it_names_what_it_offers() -> None:
    assert (dir(metaeval), len(metaeval.__all__)) == (sorted(metaeval.__all__), 10)
    with pytest.raises(AttributeError, match="no attribute 'scores'"):
        _ = metaeval.scores


def test_the_examples_are_true() -> None:
    done = doctest.testmod(import_module("metaeval.api"))
    assert done.attempted >= 8 > done.failed == 0


def test_all_forms_of_input_give_the_same_scores(tmp_path: Path) -> None:
    metrics = ["bleu", "rouge_l", "cider"]
    by_list = metaeval.score(CAPTIONS, REFERENCES, metrics=metrics).table.iloc[:, 2:]
    assert len(by_list.columns) == 6
    table = pd.DataFrame({"image_id": list(RES), "caption": CAPTIONS})
    results = write_json(tmp_path / "results.json", table.to_dict("records"))
    captions = write_captions(tmp_path / "captions_own.json", GTS)
    for candidates, references in [
        (RES, GTS),
        ({i: texts[0] for i, texts in RES.items()}, GTS),
        (table, GTS),
        (table.assign(references=REFERENCES), None),
        (results, captions),
        (str(results), str(captions)),
        # in any container; images are numbered
        (pd.Series(CAPTIONS, index=[7, 8, 9]), pd.Series(REFERENCES)),
        (np.array(CAPTIONS), [np.array(texts) for texts in REFERENCES]),
        (dict(enumerate(CAPTIONS)).values(), (texts for texts in REFERENCES)),
        ((text for text in CAPTIONS), [" ||| ".join(texts) for texts in REFERENCES]),
        (tuple(CAPTIONS), [json.dumps(texts) for texts in REFERENCES]),
    ]:
        scored = metaeval.score(candidates, references, metrics=metrics)
        assert scored.table["image_id"].tolist() in ([3, 5, 7], [0, 1, 2])
        pd.testing.assert_frame_equal(scored.table.iloc[:, 2:], by_list)
    # pycocoevalcap itself, on texts that are tokenised already
    tokenised = {i: [text.replace(" .", "") for text in GTS[i]] for i in RES}
    for name, oracle in (("CIDEr", CocoCider()), ("ROUGE-L", Rouge())):
        corpus, each = oracle.compute_score(tokenised, RES)
        np.testing.assert_allclose(by_list[name], each, atol=1e-9)
        assert scored.corpus[name] == pytest.approx(corpus, abs=1e-9)


def test_a_metric_of_the_user_that_fails_raises() -> None:
    def broken(captions: list[str]) -> list[float]:
        raise KeyError("weights")

    with pytest.raises(StrictError, match="metric 'broken' failed: KeyError: 'weights'"):
        metaeval.score(CAPTIONS, REFERENCES, metrics=["rouge_l", broken])
    # one that has no file, as from standard input
    code = (
        "import metaeval\n"
        "def mine(captions): return [float(len(c)) for c in captions]\n"
        "print(metaeval.score(['a dog', 'cat'], metrics=[mine]).table['mine'].tolist())\n"
        "print(metaeval.score(['a dog', 'cat'], metrics=[lambda captions: [0.0]]))\n"
    )
    done = subprocess.run([sys.executable], input=code, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "[5.0, 3.0]\n"), done.stderr
    assert "StrictError: metric '" in done.stderr.splitlines()[-1]


def test_a_row_without_references_has_no_score() -> None:
    rows = {"image_id": [1, 2], "caption": "a dog", "references": [["a dog"], None]}
    scored = metaeval.score(pd.DataFrame(rows), metrics="rouge_l").table["ROUGE-L"]
    assert scored.isna().tolist() == [False, True]


def test_rows_of_one_image_keep_their_references() -> None:
    """Each row against its own references, as pycocoevalcap scores it."""
    table = pd.DataFrame(
        {
            "image_id": [1, 1, 2, 1],
            "caption": ["a dog", "a cat", "a bus", "a dog"],
            "references": [["a dog runs"], ["a cat sits", "cat"], ["a red bus"], ["a dog runs"]],
        }
    )
    calls: set[tuple[int, str, tuple[str, ...]]] = set()

    def spy(captions: list[str], references: list[list[str]], image_ids: list[int]) -> list[float]:
        calls.update(zip(image_ids, captions, map(tuple, references), strict=True))
        return [0.0] * len(captions)

    scored = metaeval.score(table, metrics=["rouge_l", spy])
    expected = [
        Rouge().calc_score([caption], references)
        for caption, references in zip(table["caption"], table["references"], strict=True)
    ]
    made = scored.table[["image_id", "ROUGE-L"]].to_dict("list")
    assert made == {"image_id": [1, 1, 2, 1], "ROUGE-L": pytest.approx(expected, abs=1e-12)}
    assert calls == {
        (1, "a cat", ("a cat sits", "cat")),
        (1, "a dog", ("a dog runs",)),
        (2, "a bus", ("a red bus",)),
    }


def test_a_corpus_score_is_no_mean_where_counts_add_up() -> None:
    scored = metaeval.score(CAPTIONS, REFERENCES, metrics=["bleu", "cider"])
    assert scored.aggregates == {**{f"BLEU-{n}": "corpus" for n in range(1, 5)}, "CIDEr": "mean"}
    bleu, mean = scored.corpus["BLEU-1"], scored.table.mean(numeric_only=True)
    # by hand: 3 of 4, 5 of 5 and 3 of 3 words are in the references; 12 words against 5 + 8 + 3
    assert bleu == pytest.approx(11 / 12 * np.exp(1 - 16 / 12))
    assert bleu != pytest.approx(mean["BLEU-1"])
    assert scored.corpus["CIDEr"] == pytest.approx(mean["CIDEr"])
    shown = ("BLEU-1" in str(scored), f"<td>{bleu:.4f}</td>" in scored._repr_html_())
    assert shown == (True, True)


def test_several_captions_of_an_image_and_none_are_fine() -> None:
    table = pd.DataFrame({"image_id": ["b", "a", "b"], "caption": ["x y", "", "x"]})
    scored = metaeval.score(table, {"a": ["x"], "b": ["x y"], "c": ["z"]}, metrics="rouge_l")
    rows = list(zip(scored.table["image_id"], scored.table["ROUGE-L"], strict=True))
    assert rows[:2] == [("b", 1.0), ("a", 0.0)]
    assert scored.notes == ("1 images have references and no candidate: they are left out.",)


def test_metrics_that_need_what_is_not_given_are_skipped_with_a_reason() -> None:
    scored = metaeval.score(["a dog"], metrics=["rouge_l", "vifidel", "length"])
    assert (scored.table["Length"][0], list(scored.skipped)) == (2, ["rouge_l", "vifidel"])
    assert scored.skipped["rouge_l"] == "skipped: none of the images has a reference"
    assert scored.skipped["vifidel"].startswith("skipped: no objects were given")


def test_objects_reach_the_metrics_that_look_at_them() -> None:
    scored = metaeval.score(
        ["a dog on a couch", "a dog on a couch"],
        objects=[["dog", ("couch", [0, 0.5, 1, 1])], ["airplane"]],
        metrics="vifidel",
    )
    (column,) = (c for c in scored.table.columns[2:] if "ref" not in c)
    assert scored.table[column][0] > scored.table[column][1]


def test_functions_classes_and_metrics_may_be_given_themselves() -> None:
    def words(captions: list[str]) -> list[int]:
        return [len(c.split()) for c in captions]

    scored = metaeval.score(CAPTIONS, REFERENCES, metrics=["rouge_l", words, Rouge])
    assert scored.table["words"].tolist() == [4, 5, 3]
    np.testing.assert_allclose(scored.table["Rouge"], scored.table["ROUGE-L"], atol=1e-9)
    beta = metaeval.score(CAPTIONS, REFERENCES, metrics=RougeL(beta=2)).signatures["ROUGE-L"]
    assert beta == "rouge-l|tok:ptb-3.4.1|beta:2|v:1"
    with pytest.raises(ConfigError, match="two metrics are called 'rouge_l'"):
        metaeval.score(CAPTIONS, REFERENCES, metrics=["rouge_l", RougeL(beta=2)])


@pytest.mark.parametrize(
    ("arguments", "options", "problem"),
    [
        (([], []), {}, "no candidate caption"),
        ((["a", "b"], [["x"]]), {}, "1 references for 2 candidates"),
        (({1: "a"}, {2: ["b"]}), {}, "references of 1 of 1 images are missing, of 1 for one"),
        (({1: "a"}, [["b"]]), {}, "references must be a mapping from image ids"),
        (({1: "a", "2": "b"}, None), {}, "image ids must be all numbers or all strings"),
        (([1], [["x"]]), {}, "image 0, field 'caption': is a number, not a string"),
        ((["a"], [[1]]), {}, "image 0, field 'references': is not a list of strings"),
        (({"a", "b"}, None), {}, "candidates must be a list or a mapping, not set"),
        ((5, None), {}, "candidates must be a list or a mapping, not int"),
        ((["a"], 5), {}, "references must be a list or a mapping, not int"),
        ((["a"], [["x"]]), {"limit": 20}, "unknown option; did you mean 'dataset__limit'"),
        ((pd.DataFrame({"id": [1]}), None), {}, "has no column 'image_id', but id"),
        ((["a"], [["x"]]), {"images": ["/no/such.png"]}, "image file not found"),
        ((["a"], [["x"]]), {"objects": [[("dog", [0, 0, 2, 1])]]}, "the box of 'dog' of image 0"),
        ((["a"], [["x"]]), {"metrics": ["blue"]}, "unknown metric 'blue'"),
        ((["a"], [["x"]]), {"metrics": [3]}, "3 is not a metric"),
        ((["a"], [["x"]]), {"metric__bleu__smoth": "x"}, "smoth"),
    ],
)
def test_what_does_not_fit_is_refused(arguments: Any, options: Any, problem: str) -> None:
    with pytest.raises((InputError, ConfigError), match=re.escape(problem)):
        metaeval.score(*arguments, **{"metrics": "rouge_l", **options})


TWICE = pd.DataFrame([[1, 2]], columns=["a", "a"])


@pytest.mark.parametrize(
    ("function", "arguments", "options", "problem"),
    [
        *(
            (metaeval.corrupt, arguments, options, problem)
            for arguments, options, problem in (
                ((["a b"], "replac"), {"rate": 0.5}, "replac"),
                ((["a b"], "shuffle"), {}, "'shuffle' needs a rate in (0, 1]"),
                ((["a b"], "shuffle"), {"rate": 1.5}, "corruption.rate: 1.5 is not in (0, 1]"),
                ((["a b"], "reverse"), {"rate": 0.5}, "'reverse' has no rate"),
                ((["a b"], "replace"), {"rate": 0.5}, "the bag of words is empty"),
                (([], "reverse"), {}, "no caption to corrupt"),
                ((["a b"], "no such"), {}, "unknown corruption 'no such'"),
                ((["a b"], "truth_replace_object"), {}, "cannot run"),
                (("a dog runs", "reverse"), {}, "is one text, not a list"),
                ((b"a dog", "reverse"), {}, "is one text, not a list"),
                (([7], "reverse"), {}, "is a number, not a string"),
            )
        ),
        (
            metaeval.run,
            ("replace",),
            {"metrics": ["blue"], "dataset": "scenes"},
            "unknown metric 'blue'",
        ),
        (metaeval.load_run, ("none",), {}, "run directory not found"),
        (metaeval.load_run, (".",), {}, "contains no run.json"),
        # records that cannot be written
        *(
            (metaeval.run, ("judgments",), {"dataset": given, "out": "OUT"}, problem)
            for given, problem in (
                ([{"candidate": b"a dog"}], "dataset[0]: b'a dog' is bytes, which a record cannot"),
                ([{}, {"candidate": "a \ud800"}], "surrogates not allowed"),
                (TWICE, "a column of the DataFrame occurs twice"),
                (pd.DataFrame(), "dataset: no record"),
            )
        ),
    ],
)
def test_what_cannot_be_is_refused_and_leaves_nothing(
    function: Callable[..., Any], arguments: Any, options: Any, problem: str, folder: Path
) -> None:
    with pytest.raises((InputError, ConfigError), match=re.escape(problem)):
        function(*arguments, **options)
    assert not (folder / "OUT").exists()


def test_corrupt_is_what_an_experiment_does() -> None:
    scenes = load_scenes(limit=40)
    given = dict(zip(scenes.image_ids, scenes.human, strict=True))
    corrupted = metaeval.corrupt(given, "shuffle", rate=0.5, seed=3)
    expected = [(c.text, c.applied) for c in Shuffle(0.5).apply(scenes, 3)]
    assert list(zip(corrupted["caption"], corrupted["applied"], strict=True)) == expected
    # one caption alone, in a mapping, has the same fate
    last = scenes.image_ids[-1]
    alone = metaeval.corrupt({last: given[last]}, "shuffle", rate=0.5, seed=3)
    assert alone["caption"][0] == expected[-1][0]
    # words come from the corpus that is named
    other = metaeval.corrupt(["x y"], "random", corpus=["red blue"])
    assert other["caption"].tolist() == ["red blue"]
    replaced = metaeval.corrupt(["x y"], "replace", rate=1.0, corpus=["red blue"] * 4)
    assert set(replaced["caption"][0].split()) <= {"red", "blue"}
    assert metaeval.corrupt({9: "b", 2: "a"}, "reverse")["image_id"].tolist() == [9, 2]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder, with a cache of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("METAEVAL_CACHE", str(tmp_path / "cache"))
    return tmp_path


@pytest.mark.slow
def test_a_run_is_the_commands(folder: Path) -> None:
    options = {
        "dataset": "scenes", "dataset__limit": 20, "stats__replicates": 20, "controls": [],
    }  # fmt: skip
    run = metaeval.run("shuffle", metrics=["rouge_l"], out="it's [here]", quiet=True, **options)
    (metric,) = run.result.metrics
    (row,) = run.table().to_dict("records")
    rho = metric.numbers.value("rank_order_rho")
    assert (row["metric"], row["rank_order_rho"], metric.status) == ("ROUGE-L", rho, "ok")
    assert set(run.captions["set"]) == {"Shuffle 100%", "Shuffle 50%", "Shuffle 25%", "Human"}
    facts = (run.directory, len(run.scores), run.config["dataset"]["limit"])
    assert facts == (Path("it's [here]"), 20 * 4, 20)
    given = ["experiment=shuffle", "metrics=[rouge_l]", "dataset=scenes", "dataset.limit=20"]
    command(*given, "stats.replicates=20", "hydra.run.dir=OUT", cwd=folder)
    same = metaeval.load_run("OUT")
    pd.testing.assert_frame_equal(same.scores, run.scores)
    one, other = ((each.directory / "statistics.json").read_bytes() for each in (run, same))
    assert one == other
    cell = run.show(height=300)._repr_html_()
    texts = ("<iframe srcdoc=", "height:300px", "&lt;html")
    assert ([text in cell for text in texts], "ROUGE-L" in run._repr_html_()) == ([True] * 3, True)


def test_scores_in_threads_are_those_of_one() -> None:
    """2 of 3 words match, 3 words for 4: exp(1 - 4 / 3) * 2 / 3."""
    given = {"candidates": ["a dog runs"], "references": [["a dog is running"]], "metrics": "bleu"}
    with ThreadPoolExecutor(4) as pool:
        scored = list(pool.map(lambda _: metaeval.score(**given).corpus["BLEU-1"], range(12)))
    assert scored == pytest.approx([math.exp(1 - 4 / 3) * 2 / 3] * 12, rel=1e-6)


@pytest.mark.slow
def test_trust_tests_your_metric_next_to_others(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(folder)
    Path("shared_words.py").write_text(
        "def shared_words(captions, references):\n"
        "    known = [set(' '.join(several).split()) for several in references]\n"
        "    return [sum(w in k for w in c.split()) / max(1, len(c.split()))\n"
        "            for c, k in zip(captions, known)]\n"
    )
    Path("battery.yaml").write_text(
        "items:\n  small: [experiment=sensitivity, dataset=scenes, task.images=120, "
        "'task.corruptions=[objects,order]', task.fitted=false, stats.replicates=100]\n"
    )
    mine = import_module("shared_words").shared_words
    found = metaeval.trust(
        metric=mine, battery="battery.yaml", metrics="rouge_l", out="OUT", quiet=True
    )
    objects = "catch invented or wrong objects"
    assert {"ROUGE-L", "shared_words", "Longest copy"} <= set(found.matrix.index)
    assert found.words.loc["shared_words", "judge the language"] != "shown"  # it sees no order
    assert found.matrix.loc["shared_words", objects] < 1
    standing = found.standing("shared_words").set_index("use")
    assert standing.loc[objects, "against"] == "ROUGE-L"
    assert len(found.table()) > len(found.standing("ROUGE-L")) > 0
    page = Path("OUT/report.html").read_text(encoding="utf-8")
    assert ("shared_words" in found._repr_html_(), "Your metric" in page) == (True, True)


def test_a_folder_of_a_trust_run_gives_its_matrix_and_your_metrics_standing(
    tmp_path: Path,
) -> None:
    result = trust_result(item_run("a", {"CIDEr": 0.9, "mine": 0.57}), own=["mine"])
    for name, each in (("trust", result), ("arena", item_run("a", {"A": 0.6}).result)):
        write_result(tmp_path / name / "statistics.json", each)
        facts = ExperimentInfo(name=name, title="", question="")
        write_info(tmp_path / name / "run.json", RunInfo(status="finished", experiment=facts))
    found = metaeval.load_run(tmp_path / "trust")
    assert isinstance(found, TrustRun)
    use, names = "choose the better of two captions", ["CIDEr", "mine"]
    # (.9 - .5) / (1 - .5) and (.57 - .5) / (1 - .5)
    assert found.matrix.loc[names, use].tolist() == pytest.approx([0.8, 0.14])
    for name in names:
        (one,) = found.standing(name).to_dict("records")
        assert (one["use"], one["word"]) == (use, cell_of(result, name)["word"])
    with pytest.raises(ConfigError, match="unknown metric 'cider'; did you mean 'CIDEr'"):
        found.standing("cider")
    assert not isinstance(metaeval.load_run(tmp_path / "arena"), TrustRun)


def test_a_run_takes_a_table(folder: Path, tmp_path: Path) -> None:
    """There may be too many for an argument: they go through a file in the run's folder."""
    records = [
        {"imgid": f"i{k}", "mt": " ".join(["word"] * (1 + k % 7)), "refs": ["a word"], "stars": k}
        for k in range(200)
    ]
    options = {
        "report": "none",
        "task__fitted": False,
        "stats__replicates": 10,
        "metrics": ["length"],
        "quiet": True,
    }
    run = metaeval.run("judgments", dataset=pd.DataFrame(records), out=tmp_path / "OUT", **options)
    assert (tmp_path / "OUT" / "dataset.jsonl").is_file()
    assert run.scores["score"].tolist() == [len(record["mt"].split()) for record in records]


def test_values_of_numpy_and_pandas_in_records_are_written_as_they_are(tmp_path: Path) -> None:
    table = pd.DataFrame(
        {
            "image_id": [1, 2, 3],
            "candidate": "a dog",
            "human": [0.1, np.inf, np.nan],
            "references": [np.array(["a"]), ["b", "c"], None],
            "n": pd.array([1, None, 3], dtype="Int64"),
        }
    )
    records = [
        {"image_id": np.int64(1), "human": np.float32(0.5), "references": np.array(["a", "b"])},
        {"image_id": "x", "human": [np.float64(1.0)], "ok": np.bool_(True), "none": pd.NA},
    ]
    as_written = [
        {"image_id": 1, "human": 0.5, "references": ["a", "b"]},
        {"image_id": "x", "human": [1.0], "ok": True, "none": None},
    ]
    rows = [
        {"image_id": 1, "candidate": "a dog", "human": 0.1, "references": ["a"], "n": 1},
        # inf is then refused
        {"image_id": 2, "candidate": "a dog", "human": np.inf, "references": ["b", "c"], "n": None},
        {"image_id": 3, "candidate": "a dog", "human": None, "references": None, "n": 3},
    ]
    for overrides, expected in (
        ({"dataset": "table", "dataset__file": records}, as_written),
        ({"dataset": records}, as_written),
        ({"dataset": table}, rows),
    ):
        _write_records("judgments", overrides, tmp_path)
        lines = Path(overrides["dataset__file"]).read_text().splitlines()
        assert (overrides["dataset"], list(map(json.loads, lines))) == ("table", expected)
    with pytest.raises(InputError, match=r"'human': inf is not a number"):
        load_table(tmp_path / "dataset.jsonl")
