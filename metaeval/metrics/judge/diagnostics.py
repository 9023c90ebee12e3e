"""What the answers of a run show about its judges (`metaeval.results.judge`)."""

from __future__ import annotations

import json
import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from metaeval.readers.yaml_text import read_yaml
from metaeval.results.judge import (
    DOMINANT,
    EqualRatingEffects,
    JudgeDiagnostics,
    JudgesFile,
)
from metaeval.runs import files
from metaeval.runs.answers import Answer

_TABLE = Path(__file__).with_name("families.yaml")


@cache
def families() -> Mapping[str, Sequence[str]]:
    """Family → how the names of its models begin, in lower case."""
    return read_yaml(_TABLE)


def family_of(names: Iterable[str]) -> str | None:
    """The only family that occurs in the names of models; `None` for none or several.

    A beginning counts at the start of the name or after a character that is not a letter or digit.

    >>> family_of(["org/LLaVA-1.5-7b"]), family_of(["MiniGPT-4"]), family_of(["gpt-4o", "qwen2"])
    ('llava', None, None)
    """
    text = " ".join(names).lower()
    known = [
        family
        for family, beginnings in families().items()
        if any(re.search(rf"(?<![a-z0-9]){re.escape(word)}", text) for word in beginnings)
    ]
    return known[0] if len(known) == 1 else None


PEOPLE = "human"  # what a captioner is called that is people, in lower case


class RatedCaption(NamedTuple):
    """A caption that people have rated.

    Attributes
    ----------
    image_id, caption
        The image and the caption.
    system
        What wrote it, where that is known.
    ratings
        What people rated → the caption's mean rating.
    """

    image_id: str
    caption: str
    system: str | None
    ratings: Mapping[str, float]


def write_diagnostics(
    answers: Sequence[Answer], out: Path, rated: Sequence[RatedCaption] = ()
) -> None:
    """Write `judges.json` into a run's folder, where the run used answers of judges."""
    by_judge: dict[str, list[Answer]] = defaultdict(list)
    for answer in answers:
        by_judge[answer.judge].append(answer)
    if by_judge:
        content = JudgesFile(judges=tuple(diagnose(name, a, rated) for name, a in by_judge.items()))
        files.write_json(out / files.JUDGES, content.model_dump(mode="json"))


def diagnose(
    judge: str, answers: Sequence[Answer], rated: Sequence[RatedCaption] = ()
) -> JudgeDiagnostics:
    """The diagnostics of one judge from its parsed answers.

    The score of a pairwise answer is that of its first caption, in [0, 1]; the answer about the
    same captions in the other order has them exchanged.
    """
    items: dict[tuple[str, str, str | None], list[float]] = defaultdict(list)
    questions: dict[tuple[str, str, str | None, str], list[float]] = defaultdict(list)
    for answer in answers:
        score = math.nan if answer.score is None else answer.score
        items[answer.image_id, answer.caption, answer.rival].append(score)
        questions[answer.image_id, answer.caption, answer.rival, _question(answer)].append(score)
    known = [a.score for a in answers if a.score is not None and not math.isnan(a.score)]
    value, n = Counter(known).most_common(1)[0] if known else (math.nan, 0)
    share = n / len(known) if known else math.nan
    samples = [s for scores in questions.values() if len(s := _numbers(scores)) > 1]
    thousand = 1000 / len(questions)
    models = sorted({a.model for a in answers if a.model})
    family = family_of(models or [judge])

    def total(of: Callable[[Answer], float | None]) -> float:
        values = [of(answer) for answer in answers]
        present = [value for value in values if value is not None]
        return math.fsum(present) * thousand if len(present) == len(values) else math.nan

    return JudgeDiagnostics(
        judge=judge,
        captions=len(questions),
        answers=len(answers),
        distinct=len(set(known)),
        most_frequent=value,
        most_frequent_share=share,
        dominated=share > DOMINANT,
        unparsed=len(answers) - len(known),
        truncated=sum(answer.finish_reason == "length" for answer in answers),
        refused=sum(answer.refusal is not None for answer in answers),
        **_orders(items),
        repeatability_sd=float(np.mean([np.std(s, ddof=1) for s in samples])) if samples else None,
        same_answers=float(np.mean([len(set(s)) == 1 for s in samples])) if samples else None,
        input_tokens=total(lambda a: a.prompt_tokens),
        output_tokens=total(lambda a: a.completion_tokens),
        seconds=total(lambda a: a.seconds),
        usd=total(lambda a: a.usd),
        models=tuple(models),
        family=family,
        at_equal_rating=_effects(answers, rated, family),
    )


def _question(answer: Answer) -> str:
    """The request without what differs between samples."""
    try:
        request = json.loads(answer.request)
    except ValueError:  # recorded by others: the text of a prompt
        return answer.request
    if not isinstance(request, dict):
        return answer.request
    same = {name: value for name, value in request.items() if name not in ("sample", "seed")}
    return json.dumps(same, sort_keys=True)


def _orders(items: dict[tuple[str, str, str | None], list[float]]) -> dict[str, float | None]:
    """Consistency, order bias and ties of pairwise answers."""
    first = {key: float(np.mean(s)) for key, scores in items.items() if (s := _numbers(scores))}
    pairs = [key for key in first if key[2] is not None]
    if not pairs:
        return {"order_consistency": None, "first_preferred": None, "ties": None}
    both = [(first[k], 1 - first[o]) for k in pairs if (o := (k[0], str(k[2]), k[1])) in first]
    decided = [first[k] for k in pairs if first[k] != 0.5]
    same = [np.sign(a - 0.5) == np.sign(b - 0.5) for a, b in both]
    return {
        "order_consistency": float(np.mean(same)) if same else None,
        "first_preferred": float(np.mean([v > 0.5 for v in decided])) if decided else None,
        "ties": 1 - len(decided) / len(pairs),
    }


def _effects(
    answers: Sequence[Answer], rated: Sequence[RatedCaption], family: str | None
) -> dict[str, EqualRatingEffects]:
    """The effects at equal rating, by what people rated. A score is the mean of its samples."""
    samples: dict[tuple[str, str], list[float]] = defaultdict(list)
    for answer in answers:
        if answer.rival is None and answer.score is not None:
            samples[answer.image_id, answer.caption].append(answer.score)
    means = {key: float(np.mean(s)) for key, of in samples.items() if (s := _numbers(of))}
    scored = [(c, means[key]) for c in rated if (key := (c.image_id, c.caption)) in means]
    scores = np.array([score for _, score in scored], dtype=np.float64)
    words = np.array([len(c.caption.split()) for c, _ in scored], dtype=np.float64)
    same = np.array([_is_of_family(c.system, family) for c, _ in scored], dtype=np.float64)
    effects = {}
    for dimension in dict.fromkeys(name for caption, _ in scored for name in caption.ratings):
        ratings = np.array([c.ratings.get(dimension, math.nan) for c, _ in scored])
        effects[dimension] = EqualRatingEffects(
            length_slope=slope_at_equal_rating(scores, words, ratings),
            self_preference=slope_at_equal_rating(scores, same, ratings),
            same_family=int(((same == 1) & ~np.isnan(ratings)).sum()),
        )
    return effects


def _is_of_family(system: str | None, family: str | None) -> float:
    """1 for a captioner of the family, 0 for another one, NaN for people and where unknown."""
    if system is None or family is None or system.lower() == PEOPLE:
        return math.nan
    return float(family_of([system]) == family)


def slope_at_equal_rating(
    scores: npt.NDArray[np.float64],
    variable: npt.NDArray[np.float64],
    ratings: npt.NDArray[np.float64],
) -> float:
    """The change of a score with one unit of a variable, among captions of equal human rating.

    The least-squares slope after the means of each rating are subtracted from scores and variable;
    NaN where the variable does not differ within any rating. Of a variable of 0 and 1 it is the
    weighted mean over the ratings of the difference of two means. Captions with a NaN are left out.
    """
    known = ~(np.isnan(scores) | np.isnan(variable) | np.isnan(ratings))
    x, y = variable[known].astype(np.float64), scores[known].astype(np.float64)
    for rating in np.unique(ratings[known]):
        rows = ratings[known] == rating
        x[rows] -= x[rows].mean()
        y[rows] -= y[rows].mean()
    spread = float(x @ x)
    return float(x @ y) / spread if spread > 0 else math.nan


def _numbers(scores: Sequence[float]) -> list[float]:
    return [score for score in scores if not math.isnan(score)]
