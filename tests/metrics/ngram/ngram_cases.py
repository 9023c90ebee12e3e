"""What the tests of BLEU, SacreBLEU, ROUGE-L and CIDEr are fed with, and their oracle."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from hypothesis import strategies as st

from metaeval.data.dataset import CaptionDataset
from metaeval.metrics.base import Metric, Scores
from metaeval.text.tokenizers import base as tokenizers
from tests.metrics.metric_cases import images, ready, scores_of


class Case(NamedTuple):
    """Per image its references; any number of sets, each with one candidate per image."""

    references: tuple[tuple[str, ...], ...]
    sets: tuple[tuple[str, ...], ...]

    @property
    def dataset(self) -> CaptionDataset:
        return images(self.references, self.sets[0])

    @property
    def captions(self) -> list[str]:
        return [caption for captions in self.sets for caption in captions]

    @property
    def index(self) -> npt.NDArray[np.intp]:
        return np.tile(np.arange(len(self.references)), len(self.sets))


# COCO image 544, from the appendix of González-Chávez et al.
BASEBALL = Case(
    (
        (
            "A man swinging a bat at a baseball on a field.",
            "A man that has a baseball bat standing in the dirt.",
            "The stands are packed as a baseball player in a gray uniform holds a bat as a catcher "
            "holds out his mitt.",
            "A baseball player holding a bat over the top of a base.",
            "A baseball game is going on for the crowd.",
        ),
    ),
    (("A baseball player is swinging his bat to hit the ball.",),),
)

# FAIEr, figure 5: one image, four candidates
CHILDREN = Case(
    (
        (
            "two children are standing in a grassy field.",
            "there are two children standing in the grass by water.",
            "two small children with umbrellas in a field near the shore.",
        ),
    ),
    (
        ("Two children with umbrellas in a grassy field.",),
        ("A girl with blue dress and a boy standing in front of trees.",),
        ("A couple of kids on top of a lush green field.",),
        ("Two dogs are standing in an oil field.",),
    ),
)

_LONG = " ".join(f"word{i % 70} and" for i in range(90))
NASTY = Case(
    (
        ("a dog runs", "the dog is running fast"),
        ("a a a a b", "a a", "b b b"),
        ("dog", "a dog", "dog dog", "dog a", "a"),
        (_LONG, "a short one"),
        ("", "a dog"),
        ("",),
        ("ein Hündchen läuft über die Straße", "狗 在 跑", "собака бежит 🐕"),
        ("one two three four five six seven eight",),
    ),
    (
        ("", "", "", "", "", "", "", ""),
        ("dog", "a", "dog", "word3", "dog", "dog", "🐕", "nine"),
        ("a dog runs", "a a a a a a a a a", "a dog", _LONG, "", "", "собака бежит 🐕", "one two"),
        (
            "cat sat mat cat sat mat cat",
            "b a b a b a",
            "dog dog dog",
            "a short " * 60,
            "a dog",
            "a",
            "狗 在 跑 狗 在 跑",
            "one two three four five six seven eight nine ten",
        ),
        (_LONG, _LONG, _LONG, "and word0 and word1", _LONG, _LONG, _LONG, _LONG),
    ),
)


def tokenised(case: Case, tokenizer: str = "ptb") -> Case:
    """The case with every text as its tokens, joined by spaces: what pycocoevalcap works on."""

    def joined(texts: Sequence[str]) -> tuple[str, ...]:
        return tuple(" ".join(tokens) for tokens in tokenizers.get(tokenizer)(texts))

    return Case(tuple(map(joined, case.references)), tuple(map(joined, case.sets)))


def case_strategy() -> st.SearchStrategy[Case]:
    """Small cases over few words, so that n-grams repeat and match often."""
    caption = st.lists(st.sampled_from(["a", "b", "c", "d", "é"]), max_size=9).map(" ".join)
    group = st.lists(caption, min_size=1, max_size=4).map(tuple)
    worded = st.lists(group, min_size=1, max_size=4).filter(lambda gs: any(map("".join, gs)))
    return worded.flatmap(
        lambda groups: st.builds(
            Case,
            st.just(tuple(groups)),
            st.lists(
                st.tuples(*[caption] * len(groups)),
                min_size=1,
                max_size=3,
            ).map(tuple),
        )
    )


def prepared(metric: Metric, case: Case) -> Any:
    return ready(metric, case.dataset)


def scores(metric: Metric, case: Case) -> Scores:
    return scores_of(metric, case.dataset, case.captions, case.index)


def oracle(scorer: Any, case: Case) -> Scores:
    """What pycocoevalcap's `scorer` says of each caption, set by set, [n, columns]."""
    references = {i: list(group) for i, group in enumerate(case.references)}
    columns = []
    for captions in case.sets:
        candidates = {i: [caption] for i, caption in enumerate(captions)}
        each = np.asarray(scorer(references, candidates)[1], dtype=np.float64)
        columns.append(each.reshape(-1, len(captions)).T)
    return np.concatenate(columns)
