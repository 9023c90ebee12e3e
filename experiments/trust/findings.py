"""The tests that finished runs give: which measure of which run is evidence, and who judged."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from metaeval.data.judgments.pascal50s import LABELS
from metaeval.experiments.arena.task import AGREEMENT, SYSTEMS
from metaeval.experiments.attack.statistics import RESISTS
from metaeval.experiments.choices import MEAN
from metaeval.experiments.judgments.task import dimension_key
from metaeval.experiments.sensitivity.statistics import KIND, POSITIVES
from metaeval.results.measured import EXAMPLES, SETS, MeasuredResult

GRADED = ("graded", "replace", "shuffle", "sample_size")  # experiments of graded corruption
# pairs → who says which caption is better, where it is not the benchmark's authors
JUDGES = {"reformulations": "people who improved the caption"}
LONG = 30  # words of a mean caption from which battles are about long captions
CHOICE = "agreement with people's choice"
RATED: Mapping[str, Any] = {"judged": "people's ratings", "unit": "captions"}
MADE: Mapping[str, Any] = {
    "judged": "nobody: the captions were made worse", "corrupted": True, "unit": "images"
}  # fmt: skip
CHOSEN: Mapping[str, Any] = {"measure": CHOICE, "unit": "pairs"}
BATTLES: Mapping[str, Any] = {
    "measure": "agreement with the winners of battles", "judged": "people", "unit": "battles",
    "ceiling_is": "every winner, ties one half",
}  # fmt: skip
# what a number is, who judged, what its n counts, and what the best value is, by source
SOURCES: Mapping[str, Mapping[str, Any]] = {
    "graded.order": {
        "measure": "share of pairs of versions of one caption in order", **MADE,
        "ceiling_is": "every pair in order, equal captions apart",
    },
    "pairs.kinds": {
        "measure": "share of pairs with the true caption higher", "unit": "pairs",
    },
    "forced_choice.direct": CHOSEN,
    "forced_choice.consensus": CHOSEN,
    "forced_choice.one_reference": CHOSEN,
    "judgments.correlation": {**RATED, "ceiling_is": "the mean rating"},
    "judgments.with_people": {**RATED, "ceiling_is": "the mean rating"},
    "judgments.pairs": {
        **RATED, "unit": "pairs", "ceiling_is": "every pair in order",
        "measure": "pairs of captions of an image in order, or tied as by people",
    },
    "systems.correlation": {
        "measure": "r over systems", "unit": "systems", "ceiling_is": "a correlation of 1"
    },
    "sensitivity.rewrites": {
        "measure": "how often a rewrite scores above a harmful near-copy", **MADE,
        "ceiling_is": "always",
    },
    "sensitivity.kinds": {
        "measure": "how often the human caption scores higher", "ceiling_is": "always", **MADE
    },
    "arena.agreement": BATTLES,
    "arena.long": BATTLES,
    "arena.aspects": BATTLES,
    "attack.resists": {
        "measure": "share of images on which the search failed, equal scores half", **MADE,
        "ceiling_is": "never fooled", "corrupted": False, "constant": 0.5,
    },
}  # fmt: skip
Example = Mapping[str, Any]  # image_id, better, worse, and the metric's score of both


class DeclaredTest(NamedTuple):
    """One measure of one run as evidence for a use.

    Attributes
    ----------
    source, part
        What conf/trust/uses.yaml chooses by; the part is a kind, a dimension, a category.
    key
        The measure's key in the run.
    measure, judged
        What is measured, in words, and who says which caption is better.
    unit
        What its n counts.
    ceiling_is
        What the best value is.
    corrupted
        Whether the captions were corrupted by this tool.
    constant
        The value of a score that is the same for all captions, where that is a control.
    examples
        Metric → up to three captions.
    item
        The item of the battery.
    """

    source: str
    part: str
    key: str
    measure: str
    judged: str
    unit: str
    ceiling_is: str = "always right"
    corrupted: bool = False
    constant: float | None = None
    examples: Mapping[str, Sequence[Example]] = {}
    item: str = ""

    @property
    def id(self) -> tuple[str, str, str]:
        """What no other test of a use has."""
        return self.item, self.source, self.part

    @property
    def name(self) -> str:
        """ "sugarcrepe: replace_obj"."""
        return f"{self.item}: {self.part}" if self.part else self.item


def evidence_of(result: MeasuredResult) -> Iterator[DeclaredTest]:
    """All tests of a result that a use may need."""
    if result.experiment in _TESTS:
        yield from _TESTS[result.experiment](result)


def _test(source: str, part: str, key: str, **more: Any) -> DeclaredTest:
    """`more` are fields besides those of the source."""
    return DeclaredTest(source=source, part=part, key=key, **{**SOURCES[source], **more})


def _graded(result: MeasuredResult) -> Iterator[DeclaredTest]:
    yield _test("graded.order", result.experiment, "pairwise_accuracy")


def _pairs(result: MeasuredResult) -> Iterator[DeclaredTest]:
    main = f"{result.declared[0].key}_"
    judged = JUDGES.get(result.dataset, "the benchmark's authors")
    for key in result.controls:
        if key.startswith(main):
            yield _test("pairs.kinds", key.removeprefix(main), key, judged=judged)


def _forced_choice(result: MeasuredResult) -> Iterator[DeclaredTest]:
    numbers = result.settings["n_references"]
    most = max((int(str(n)) for n in numbers), default=0) if isinstance(numbers, tuple) else 0
    votes = str(result.settings["labels"])
    for measure in result.declared:
        key, _, category = measure.key.removeprefix("agreement_").partition("_")
        if measure.key not in result.controls or category in ("", MEAN):
            continue  # every category is evidence, so that their mean is none
        n = int(key)
        sources = ["consensus" if votes == "consensus" else "direct"] if n == most else []
        if n == 1 and votes != "consensus":
            sources.append("one_reference")
        for source in sources:
            yield _test(
                f"forced_choice.{source}",
                category,
                measure.key,
                measure=f"{CHOICE}, {n} reference{'s' * (n != 1)}",
                judged=LABELS.get(votes, "people"),
            )


def _judgments(result: MeasuredResult) -> Iterator[DeclaredTest]:
    statistic = str(result.settings["statistic"])
    given = result.settings["dimensions"]
    dimensions = list(map(str, given)) if isinstance(given, tuple) else []

    people = any("_without Human" in measure.key for measure in result.declared)
    source = "judgments.with_people" if people else "judgments.correlation"
    for dimension in dimensions:
        words = f"{statistic} with people"
        key = dimension_key(statistic, dimension, dimensions)
        yield _test(source, dimension, key, measure=words)
    if not people:
        main = "total" if "total" in dimensions else dimensions[0]
        yield _test("judgments.pairs", main, dimension_key("accuracy", main, dimensions))


def _systems(result: MeasuredResult) -> Iterator[DeclaredTest]:
    for measure in result.declared:
        if measure.key == f"pearson_{measure.group}":
            group = str(measure.group)
            yield _test("systems.correlation", group, measure.key, judged=f"people ({group})")


def _sensitivity(result: MeasuredResult) -> Iterator[DeclaredTest]:
    kind_of = {one["set"]: one["kind"] for one in result.extra(SETS).records}
    worst: dict[str, dict[str, list[Example]]] = {}
    for one in result.extra(EXAMPLES).records:
        example = _example(one, "changed")
        worst.setdefault(kind_of[one["set"]], {}).setdefault(one["metric"], []).append(example)
    for of_kind in worst.values():  # the changed caption scored highest
        for metric, examples in of_kind.items():
            examples.sort(key=lambda e: (e["score_better"] or 0.0) - (e["score_worse"] or 0.0))
            of_kind[metric] = examples[:3]
    for key in result.controls:
        if key == POSITIVES:
            yield _test("sensitivity.rewrites", "", key)
        elif key.startswith(KIND):
            kind = key.removeprefix(KIND)
            yield _test("sensitivity.kinds", kind, key, examples=worst.get(kind, {}))


def _example(record: Mapping[str, Any], what: str) -> Example:
    """A caption that people wrote, another one, and the metric's scores of both."""
    return {
        "image_id": record["image_id"],
        "better": record["human"],
        "worse": record[what],
        "score_better": record["score of the human caption"],
        "score_worse": record[f"score of the {what} caption"],
    }


def _arena(result: MeasuredResult) -> Iterator[DeclaredTest]:
    if result.dataset == "iiw":  # nobody was asked which of two descriptions is better
        for measure in result.declared:
            if measure.key == f"{AGREEMENT.key}_{measure.title}":
                yield _test("arena.aspects", measure.title, measure.key)
        return
    systems = [extra.records for extra in result.extras if extra.name == SYSTEMS]
    known = [s["words"] for records in systems for s in records if s["words"] is not None]
    is_long = bool(known) and sum(known) / len(known) >= LONG
    for source in ("arena.agreement", *(["arena.long"] if is_long else [])):
        yield _test(source, "", AGREEMENT.key)


def _attack(result: MeasuredResult) -> Iterator[DeclaredTest]:
    gallery: dict[str, list[Example]] = {}
    for one in result.extra(EXAMPLES).records:
        gallery.setdefault(one["metric"], []).append(_example(one, "false"))
    first = {metric: examples[:3] for metric, examples in gallery.items()}
    yield _test("attack.resists", "", RESISTS, examples=first)


_TESTS: Mapping[str, Callable[[MeasuredResult], Iterator[DeclaredTest]]] = {
    "forced_choice": _forced_choice,
    "judgments": _judgments,
    "arena": _arena,
    "pairs": _pairs,
    **dict.fromkeys(GRADED, _graded),
    "sensitivity": _sensitivity,
    "attack": _attack,
    "systems": _systems,
}
EXPERIMENTS = tuple(_TESTS)  # whose results are evidence
