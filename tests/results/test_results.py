"""Results: what is undefined, refused and comes back from JSON; measures, their comparisons and
sentences; the JSON schemas on the site fit the files of a run."""

import json
import math
import re
from itertools import combinations, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError

from metaeval.errors import InputError
from metaeval.experiments.printout import printout
from metaeval.results.base import Estimate, Measured, MetricResult
from metaeval.results.comparison import Comparisons, Power
from metaeval.results.files import dump, read_info, read_result, write_info, write_result
from metaeval.results.measured import Extra, MeasuredResult
from metaeval.results.run import Measure, RunInfo
from metaeval.results.sentences import (
    above_control,
    bold_names,
    join_names,
    leaders,
    sentences,
)
from metaeval.runs.records import BATCH_DEPENDENT, ScoreColumn, TrainingFacts
from tests.docs.schemas import schemas
from tests.results.measured_results import (
    against,
    comparison_of,
    measured_result,
    separated,
)
from tests.shared import run_here, write_json


def test_an_undefined_number_is_none_and_numpy_scalars_are_numbers() -> None:
    estimate = Estimate(value=np.float64("nan"), low=np.float32(0.5), high=math.inf, n=np.int64(3))
    assert estimate == Estimate(value=None, low=0.5, high=None, n=3)
    assert (estimate.interval, Estimate(value=1, low=0, high=2).interval) == (None, (0, 2))
    with pytest.raises(ValidationError):
        Estimate(value=1.0, lower=0.5)  # type: ignore[call-arg]
    with pytest.raises(ValidationError):
        Estimate(value=1.0).value = 2.0  # type: ignore[misc]


def test_a_metric_that_is_there_twice_is_refused() -> None:
    metrics = [MetricResult(column=ScoreColumn(name), family="x") for name in ("A", "B", "A")]
    given = {"experiment": "x", "dataset": "y", "declared": (Measure("a", "A"),)}
    assert MeasuredResult(**given, metrics=metrics[:2]).metric("B") is metrics[1]
    with pytest.raises(ValidationError, match="the metric 'A' occurs twice"):
        MeasuredResult(**given, metrics=metrics)


@pytest.mark.parametrize(
    ("what", "name", "problem"),
    [
        ("metric", "BLEU4", "unknown metric 'BLEU4'; did you mean 'BLEU-4'? choose from BLEU-4, x"),
        ("measure", "acuracy", "unknown measure 'acuracy'; did you mean 'accuracy'?"),
        ("extra", "sets", "unknown extra 'sets'; this run has no extra"),
    ],
)
def test_a_name_that_is_not_there_is_an_error_with_the_names_that_are(
    what: str, name: str, problem: str
) -> None:
    result = measured_result({"BLEU-4": 0.5, "x": 0.1})
    with pytest.raises(KeyError, match=re.escape(f"the result of retrieval: {problem}")):
        getattr(result, what)(name)


def test_comparisons_are_found_in_either_direction() -> None:
    pairs = [comparison_of(*pair, 0.1, p) for pair, p in (("AB", 0.01), ("AC", 0.05), ("BC", 0.2))]
    ends = Estimate(value=0.3, low=0.2, high=0.5)
    pairs[0] = pairs[0].model_copy(update={"difference": ends})
    family = Comparisons(measure="rho", alpha=0.05, pairs=tuple(pairs))
    assert family.between("B", "A").difference == Estimate(value=-0.3, low=-0.5, high=-0.2)
    # at alpha is not below it
    assert [family.not_separated_from(name) for name in "AC"] == [{"C"}, {"A", "B"}]
    assert family.between("A", "D") is None


def test_a_damaged_or_foreign_file_is_refused_with_file_and_field(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    info = RunInfo(status="finished", seed=3)
    write_info(path, info)
    assert read_info(path) == info
    data = dump(info)
    for change, field in (
        ({"schema": 1}, "schema"),
        ({"seed": "three"}, "seed"),
        ({"status": "done"}, "status"),
        ({"stages": [{"name": "scores"}]}, "stages.0.seconds"),
        ({"stagse": []}, "stagse"),
    ):
        write_json(path, {**data, **change})
        with pytest.raises(InputError) as caught:
            read_info(path)
        assert (caught.value.file, caught.value.field) == (path, field)
    with pytest.raises(InputError, match="JSON object"):
        read_info(write_json(path, [1, 2]))


TRAINED = TrainingFacts(chosen_on=("retrieval",))


def test_names_share_a_letter_unless_a_test_separates_them() -> None:
    """Every one of the 1,024 ways to separate five names."""
    pairs = list(combinations("ABCDE", 2))
    for chosen in product((False, True), repeat=len(pairs)):
        apart = [pair for pair, is_apart in zip(pairs, chosen, strict=True) if is_apart]
        letters = separated("ABCDE", apart).letters("ABCDE")
        for a, b in pairs:
            assert bool(set(letters[a]) & set(letters[b])) is ((a, b) not in apart)
        assert all(letters.values())
    assert separated("ABC", [("A", "C")]).letters("ABC") == {"A": "a", "B": "ab", "C": "b"}


LOWEST = {"declared": (Measure("accuracy", "error", unit="share", best="lowest"),)}


@pytest.mark.parametrize(
    ("values", "apart", "fields", "expected"),
    [
        ({"A": 0.5, "B": 0.6}, [], {}, "No test separates B (60.0) from any other metric."),
        ({"A": 0.9, "B": 0.6, "C": 0.5}, [("A", "C")], {}, "A leads (90.0), not separated from B."),
        ({"A": 0.9, "B": 0.6}, [("A", "B")], {},
         "A leads (90.0): every other metric is significantly lower."),
        ({"A": 0.9, "B": None}, [], {}, "A: 90.0, the only metric with a value."),
        ({"A": None}, [], {}, "No metric has a value."),
        ({"A": 0.9, "B": 0.6, "C": None}, [("A", "B")], {},
         "A leads (90.0): every other metric with a value is significantly lower."),
        ({"A": 0.6, "B": 0.5}, [("A", "B")], LOWEST,
         "B leads (50.0): every other metric is significantly higher."),
        ({"A": 0.5, "B": 0.6}, None, {},
         "B has the highest value (60.0); no test compares the metrics."),
        ({"A": 0.5, "B": 0.6}, None, LOWEST,
         "A has the lowest value (50.0); no test compares the metrics."),
    ],
)  # fmt: skip
def test_who_leads(
    values: dict[str, float | None], apart: Any, fields: dict[str, Any], expected: str
) -> None:
    pairs = None if apart is None else separated("".join(values), apart)
    result = measured_result(values, comparisons=pairs, **fields)
    assert leaders(result) == expected
    assert apart is not None or bold_names(result, result.declared[0]) == frozenset()


def test_a_metric_that_learned_from_the_test_is_not_among_the_others() -> None:
    """It is on the page, and may be above the one that leads."""
    whole = measured_result(
        {"A": 0.9, "B": 0.8, "C": 0.7},
        {"Length": 0.4},
        comparisons=separated("ABC", [("A", "B"), ("A", "C"), ("B", "C")]),
        controls={"accuracy": against("Length", 0.4, {"B": 0.01, "C": 0.01}, "something")},
    )
    learned = whole.metrics[0].model_copy(update={"training": TRAINED})
    result = whole.model_copy(update={"metrics": (learned, *whole.metrics[1:])})
    text = "B leads (80.0): every other ranked metric is significantly lower."
    assert leaders(result) == text
    above = "Above the leader, but not ranked: A (accuracy 90.0), chosen on this experiment."
    assert sentences(result)[0] == f"{text} {above}"
    drawn = TrainingFacts(versions={"x": "new", "y": "seen in training"})
    last = whole.metrics[2].model_copy(update={"training": drawn})
    below = whole.model_copy(update={"metrics": (*whole.metrics[:2], last, whole.metrics[3])})
    assert sentences(below)[0].endswith("lower.")
    assert above_control(result).startswith("Every ranked metric is significantly above the best")
    alone = whole.model_copy(update={"metrics": (learned,)})
    assert leaders(alone) == "No ranked metric has a value."


POOLED, WITHIN = Measure("pooled", "ρ", primary=True), Measure("within", "ρ within", primary=True)
FURTHER = Measure("further", "τ", group="Further", primary=True)


def of_measures(pooled: str, within: str, tied: str = "") -> MeasuredResult:
    """Three metrics by measures that order them as these letters; a test separates every pair but
    `tied`."""
    places = {"pooled": pooled, "within": within, "further": "CBA"}
    metrics = [
        MetricResult(
            column=ScoreColumn(name),
            family=name,
            statistics=Measured(
                values={
                    key: Estimate(value=round(0.9 - 0.2 * order.index(name), 1))
                    for key, order in places.items()
                }
            ),
        )
        for name in "ABC"
    ]
    comparisons = {
        key: Comparisons(
            measure=key,
            alpha=0.05,
            pairs=tuple(
                comparison_of(a, b, 0.2, 0.5 if {a, b} == set(tied) else 0.01)
                for a, b in combinations(order, 2)
            ),
        )
        for key, order in places.items()
    }
    return MeasuredResult(
        experiment="x", dataset="y", metrics=tuple(metrics), comparisons=comparisons,
        declared=(POOLED, WITHIN, FURTHER),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("orders", "expected"),
    [
        (("ABC", "ACB"), "A leads (0.900): every other metric is significantly lower."),
        (("ABC", "BAC"), "By measure: A leads in ρ (0.900); B leads in ρ within (0.900)."),
        (
            ("ABC", "BAC", "AB"),
            "By measure: A leads, not separated from B, in ρ (0.900); "
            "B leads, not separated from A, in ρ within (0.900).",
        ),
    ],
)
def test_every_leader_of_a_primary_measure_is_named(orders: Any, expected: str) -> None:
    """Measures of another group answer other questions."""
    assert sentences(of_measures(*orders)) == [expected]


@pytest.mark.parametrize(
    ("order", "own", "expected"),
    [
        (
            "ABC",
            "B",
            "B is number 2 of 3 by ρ (0.700): not separated from A (the best known and next "
            "above); significantly better than C (next below).",
        ),
        (
            "CAB",
            "B",
            "B is number 3 of 3 by ρ (0.500): significantly worse than C (the best known); not "
            "separated from A (next above).",
        ),
        ("BAC", "B", "B is number 1 of 3 by ρ (0.900): not separated from A (the best known and "
                     "next below)."),
        ("ABC", "Z", ""),
    ],
)  # fmt: skip
def test_how_a_metric_of_the_user_stands(order: str, own: str, expected: str) -> None:
    result = of_measures(order, order, "AB").model_copy(update={"own": (own,)})
    assert sentences(result)[1:] == ([expected] if expected else [])


def test_a_column_says_what_a_reader_must_know() -> None:
    made = [join_names("ABCDEFG"), join_names("ABCDEFGH"), join_names("ABC", most=1)]
    assert made == ["A, B, C, D, E, F and G", "A, B, C, D, E, F and 2 more", "A and 2 more"]
    assert str(InputError("no 'a\nb'", file="x\ry.csv")) == "x y.csv: no 'a b'"
    chair = ScoreColumn("CHAIR-i", higher_is_better=False, batch_dependent=True)
    assert chair.remarks == f"{BATCH_DEPENDENT}; a lower score is better"
    assert ScoreColumn("CIDEr").remarks == ""
    people = {"accuracy": Estimate(value=0.5)}
    result = measured_result({"A": 0.6}, people=people, people_note="one with the others")
    lower = result.metrics[0].model_copy(update={"column": chair})
    lines = printout(result.model_copy(update={"metrics": (lower,)}), Path("x.json")).splitlines()
    assert lines[1].startswith(f"CHAIR-i [{chair.remarks}]")
    assert lines[3] == "(people): one with the others"


@pytest.mark.parametrize(
    ("p", "shows", "expected"),
    [
        ({"A": 0.01, "B": 0.2}, "something", "Significantly above {}: A."),
        ({"A": 0.01, "B": 0.02}, "something", "Every metric is significantly above {}."),
        ({"A": 0.3, "B": 0.2}, "unsure", "No metric is significantly above {}."),
        ({"A": 0.3, "B": 0.2}, "undecidable",
         "Whether a metric is above {}, cannot be decided with so few images or draws."),
        # C has no value, and no test
        ({"A": 0.01, "B": 0.02, "C": None}, "something",
         "Every metric with a value is significantly above {}."),
        # the highest first: the order of the configuration had the best behind "and 2 more"
        ({"I": 0.5, **dict.fromkeys("HGFEDCBA", 0.01)}, "something",
         "Significantly above {}: A, B, C, D, E, F and 2 more."),
    ],
)  # fmt: skip
def test_who_is_above_the_control(p: dict[str, float | None], shows: str, expected: str) -> None:
    values = {name: None if of is None else 0.9 - ord(name) / 1000 for name, of in p.items()}
    tests = {name: of for name, of in p.items() if of is not None}
    control = against("Length", 0.4, tests, shows)
    result = measured_result(
        values, {"Length": 0.4}, controls={"accuracy": control}, caveat="Few images."
    )
    sentence = expected.format("the best control, Length (40.0)")
    assert above_control(result) == sentence
    assert sentences(result)[1:] == [sentence, "Few images."]


def test_an_extra_is_a_rectangle_with_intervals_as_columns() -> None:
    records = [{"kind": "x", "value": Estimate(value=float("nan"), low=0.1)}, {"kind": "y", "n": 2}]
    extra = Extra.of("kinds", "By kind", records, folded=True)
    assert extra.columns == ("kind", "value", "value_low", "value_high", "n")
    assert extra.rows == (("x", None, 0.1, None, None), ("y", None, None, None, 2))
    assert extra.frame()["kind"].tolist() == ["x", "y"]
    with pytest.raises(ValueError, match="rows of 'kinds' do not have 2 cells each"):
        Extra(name="kinds", title="", columns=("a", "b"), rows=((1,),))


def test_a_result_is_read_as_it_was_written(tmp_path: Path) -> None:
    extra = Extra.of("kinds", "By kind", [{"kind": "x", "n": 2, "share": 0.5, "ok": True}])
    result = measured_result(
        {"A": 0.9, "B": None},
        {"Length": 0.4},
        separated("AB", []),
        extras=(extra,),
        controls={"accuracy": against("Length", 0.4, {"A": 0.01}, "something")},
    )
    path = tmp_path / "statistics.json"
    write_result(path, result)
    assert read_result(path) == result
    measures = {name: [m.key for m, _ in result.measures(result.metric(name))] for name in "AB"}
    assert measures == {"A": ["accuracy"], "B": []}
    assert result.table()["accuracy"].tolist()[0] == 0.9
    text = path.read_text()
    for before, after, problem in (
        ('"declared"', '"declred"', "declared"),
        ('"schema": 2', '"schema": 1', "has schema 1, and this version of metaeval reads schema 2"),
    ):
        path.write_text(text.replace(before, after))
        with pytest.raises(InputError, match=problem):
            read_result(path)


def test_only_what_a_test_puts_below_the_best_is_below_it() -> None:
    pairs = (
        comparison_of("A", "separated", 0.1, 0.001),
        comparison_of("A", "open", 0.1, 0.5),
        comparison_of("turned", "A", -0.1, 0.001),
        comparison_of("above", "A", 0.1, 0.001),  # another statistic than the one that ranks
        comparison_of("A", "undefined", None, None),
    )
    family = Comparisons(measure="m", alpha=0.05, pairs=pairs)
    names = ["A", "separated", "open", "turned", "above", "undefined", "untested"]
    assert family.not_below("A", names) == ["open", "above", "undefined", "untested"]
    lowest = family.not_below("A", names, lowest=True)
    assert ("separated" in lowest, "above" in lowest) == (True, False)
    assert Comparisons(measure="m", alpha=0.05, pairs=()).not_below("A", ["A", "B"]) == ["B"]


def test_a_metric_that_no_data_could_put_above_the_control_is_not_said_to_be_not_above_it() -> None:
    given = {"higher": 0.01, "open": 0.5, "undecidable": 0.5}
    tested = against("Length", 0.6, given, "something")
    *others, last = tested.comparisons
    undecidable = last.tests[0].model_copy(update={"decidable": False})
    last = last.model_copy(update={"tests": (undecidable,)})
    tested = tested.model_copy(update={"comparisons": (*others, last)})
    assert (tested.above, tested.not_above) == (("higher",), ("open",))


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [(0.01, 0.1, 100.0), (-0.1, -0.01, 100.0), (-0.01, 0.1, None), (0.0, 0.1, None),
     (None, None, None)],
)  # fmt: skip
def test_images_needed_only_where_the_direction_is_known(
    low: float | None, high: float | None, expected: float | None
) -> None:
    pair = comparison_of("A", "B", 0.05, 0.5).model_copy(
        update={
            "difference": Estimate(value=0.05, low=low, high=high),
            "power": Power(effect=0.1, detectable=0.1, images_needed=100.0),
        }
    )
    assert pair.images_needed == expected
    assert pair.model_copy(update={"power": None}).images_needed is None


def test_the_files_of_a_run_are_valid_and_a_wrong_one_is_not(tmp_path: Path) -> None:
    jsonschema = pytest.importorskip("jsonschema")
    of_run, schema = (json.loads(schemas()[f"{name}.schema.json"]) for name in ("run", "measured"))
    run_here(
        tmp_path, "experiment=replace", "dataset=scenes", "dataset.limit=8", "report=none",
        "metrics=[bleu,length]", "stats.replicates=20",
    )  # fmt: skip
    info, statistics = (
        json.loads((tmp_path / "OUT" / name).read_text(encoding="utf-8"))
        for name in ("run.json", "statistics.json")
    )
    jsonschema.validate(info, of_run)
    jsonschema.validate(statistics, schema)
    assert {"schema", "experiment", "dataset", "metrics"} <= set(schema["properties"])
    assert schema["additionalProperties"] is False
    del statistics["metrics"][0]["column"]["name"]
    with pytest.raises(jsonschema.ValidationError, match="'name' is a required property"):
        jsonschema.validate(statistics, schema)
