"""Corruptions of language on scenes, where what is true is known: do they keep their word?

A change of content must make a statement false or lose one, a harmless change must not:
`reader.judgement` says which. A change of language alone (a typo, another order) says nothing
false; it must leave a caption that differs word for word (`reader.still_reads`), by which
the statement where it breaks off counts as lost.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from benchmarks.corruption_audit.reader import judgement, still_reads
from metaeval.corruptions.base import Corrupted
from metaeval.data.dataset import CaptionDataset
from metaeval.data.scenes import SceneGraph, load_scenes
from metaeval.experiments.sensitivity.suite import suite

CONTENT = ("objects", "attributes", "numbers", "relations", "people", "scene", "logic", "harmless")
LANGUAGE = ("words", "grammar", "order", "spelling", "whole caption")
UNKNOWN = "not judged"
SCENES, OTHERS = 1000, 400

Judge = Callable[[SceneGraph, str, Corrupted], str]


class Row(NamedTuple):
    """Of a corruption: how many captions it changed, and how they were judged."""

    label: str
    expected: str
    changed: int
    judged: Mapping[str, int]

    @property
    def broken(self) -> int:
        """How many changes are against what the corruption declares."""
        harm = self.judged.get("false", 0) + self.judged.get("lost", 0)
        return self.judged.get("true", 0) if self.expected == "lower" else harm


def by_content(graph: SceneGraph, text: str, result: Corrupted) -> str:
    """ "false", "lost", "true" or "not judged"."""
    return judgement(graph, text, result) or UNKNOWN


def by_language(graph: SceneGraph, text: str, result: Corrupted) -> str:
    """ "lost" where the caption differs word for word, else "true"."""
    return "true" if still_reads(text, result.text) else "lost"


def rows(kinds: Sequence[str], judge: Judge, data: CaptionDataset, seed: int) -> list[Row]:
    """A row for each corruption of these kinds that changes some caption of the scenes."""
    graphs: Any = data.part("scene_graphs")
    out = []
    for corruption in suite(data, kinds):
        results = corruption.apply(data, seed)
        judged = Counter(
            judge(graphs[image_id], text, result)
            for image_id, text, result in zip(data.image_ids, data.human, results, strict=True)
            if result.applied
        )
        if judged:
            out.append(Row(corruption.label, corruption.expected, judged.total(), judged))
    return out


def print_rows() -> int:
    """The tables for the documentation; 1 where a change did not keep its word."""
    data = load_scenes(n=SCENES)
    content, language = rows(CONTENT, by_content, data, 0), rows(LANGUAGE, by_language, data, 0)
    print("| change | should | changed | false | lost | true | not judged |")
    print("|---|---|---:|---:|---:|---:|---:|")
    for row in content:
        cells = [str(row.judged.get(k, 0)) for k in ("false", "lost", "true", UNKNOWN)]
        should = "harm" if row.expected == "lower" else "not harm"
        print(f"| {row.label} | {should} | {row.changed} | {' | '.join(cells)} |")
    _print_shares(content)
    print("\n| change of language alone | changed | no longer read | read |\n|---|---:|---:|---:|")
    for row in language:
        lost, true = (row.judged.get(k, 0) for k in ("lost", "true"))
        print(f"| {row.label} | {row.changed} | {lost} | {true} |")
    return _against([*content, *language])


def print_others() -> int:
    """The shares on scenes of another split, not used to fix anything; 1 as `print_rows`."""
    data = load_scenes(n=OTHERS, split="dev", seed=6)
    content = rows(CONTENT, by_content, data, 1)
    print(f"{OTHERS} other scenes.")
    _print_shares(content)
    return _against(content)


def _print_shares(content: Sequence[Row]) -> None:
    for expected, name in (("lower", "harmful"), ("same", "harmless")):
        of = [row for row in content if row.expected == expected]
        changed, broken = sum(r.changed for r in of), sum(r.broken for r in of)
        unknown = sum(r.judged.get(UNKNOWN, 0) for r in of)
        known = changed - unknown
        share = 100 * (known - broken if expected == "lower" else broken) / known
        print(
            f"\nOf {known:,} {name} changes that were judged, {share:.2f} % make a statement false "
            f"or lose one; {unknown:,} of {changed:,} were not judged."
        )


def _against(rows: Sequence[Row]) -> int:
    against = sum(row.broken for row in rows)
    print(f"\nAgainst the declaration: {against}.")
    return int(against > 0)
