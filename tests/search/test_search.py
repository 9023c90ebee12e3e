"""The search: drafts keep their falsehood, budgets are kept, traces are read as documented."""

import re

import numpy as np
import pytest

from metaeval.search.beam import (
    UNDOING,
    Draft,
    SearchLimits,
    Trace,
    Trial,
    false_draft,
    mutated,
    search,
    vocabulary,
)

NEAR, FAR = ("dog", "grass", "two"), ("table", "red", "man")


def free(text: str) -> Draft:
    """A draft of which every word may change."""
    words = tuple(text.split())
    return Draft(words, (False,) * len(words))


def test_false_words_their_phrase_and_their_neighbours_stay() -> None:
    draft = false_draft("a man riding a horse on a beach", "a man riding a cow on a beach")
    assert draft.text == "a man riding a cow on a beach"
    assert draft.fixed == (False, False, True, True, True, True, False, False)


@pytest.mark.parametrize(
    ("end", "stays", "kinds"),
    [
        (" on a beach", " riding a cow on ", {-1, 0, 1}),
        ("", r" riding a cow $", {-1, 0, 1}),  # nothing is inserted behind it
    ],
)
def test_no_mutation_touches_what_stays(end: str, stays: str, kinds: set[int]) -> None:
    start = false_draft(f"a man riding a horse{end}", f"a man riding a cow{end}")
    rng, made = np.random.default_rng(0), set()
    for draft in filter(None, (mutated(start, NEAR, FAR, rng) for _ in range(500))):
        made.add(len(draft.words) - len(start.words))
        assert re.search(stays, f" {draft.text} ")
        assert (draft.edits, draft.text != start.text) == (1, True)
    assert made == kinds


def test_words_that_take_statements_back_are_not_put_in() -> None:
    assert set(vocabulary(["A dog, not a cat", "perhaps a dog"])) == {"a", "dog", "cat"}
    assert "without" in UNDOING


def length_score(texts, index):
    return np.array([len(t.split()) for t in texts], dtype=float)


def test_the_search_spends_its_budget_and_finds_the_longest_caption() -> None:
    limits = SearchLimits(calls=50, edits=3)
    traces = search(
        length_score,
        [[free("a dog")], [free("a cat on a mat")]],
        [NEAR, NEAR],
        FAR,
        [1, 2],
        limits,
        0,
        "length",
    )
    for trace, words in zip(traces, (2, 5), strict=True):
        assert len(trace.trials) <= 50
        assert all(t.draft.edits <= 3 for t in trace.trials)
        assert (
            len(trace.best_first(50)[0].draft.words) == words + 3
        )  # three insertions, and no more
        assert trace.best_first(0) == trace.trials[:1]


def test_an_image_is_searched_the_same_whatever_the_others_are() -> None:
    limits = SearchLimits(calls=40, edits=2)
    starts = [[free("a dog on grass")], [free("a man")]]
    both = search(length_score, starts, [NEAR, NEAR], FAR, [1, 2], limits, 0, "x")
    alone, other = (
        search(length_score, starts[1:], [NEAR], FAR, [2], limits, seed, "x")[0] for seed in (0, 1)
    )
    assert both[1] == alone != other


def test_only_admitted_captions_count() -> None:
    def short(texts, index):
        return np.array([len(t.split()) <= 3 for t in texts])

    limits = SearchLimits(calls=60, edits=3)
    (trace,) = search(length_score, [[free("a dog")]], [NEAR], FAR, [1], limits, 0, "x", short)
    assert len(trace.best_first(60)[0].draft.words) == 3


@pytest.mark.parametrize(
    ("calls", "expected"), [(0, [0.1]), (1, [0.1]), (2, [0.5, 0.1]), (5, [0.9, 0.5, 0.1])]
)
def test_the_best_of_a_trace_first(calls: int, expected: list[float]) -> None:
    scored = (
        (0.1, True),
        (0.5, True),
        (float("nan"), True),
        (1.0, False),
        (0.9, True),
        (2.0, True),
    )
    trace = Trace([Trial(free("a dog"), score, admitted) for score, admitted in scored])
    assert [trial.score for trial in trace.best_first(calls)] == expected
