"""Training of the built-in parser on CoreNLP's own analyses of captions.

    python -m research.dependencies TREES OUT [--dev 500] [--rounds 8]

TREES: JSON Lines as `research/SceneGraphTrees.java` writes them, a caption each. The tagger and
the parser are averaged perceptrons (Collins 2002); the parser learns from its own mistakes
(Goldberg & Nivre 2013), on tags by taggers that had not seen the sentence.
"""

from __future__ import annotations

import argparse
import json
import random
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from metaeval.text.scene_graphs.dependencies.linear import Contexts, Linear, Strings
from metaeval.text.scene_graphs.dependencies.parser import (
    ARC_FEATURES,
    SIDES,
    TAG_FEATURES,
    States,
    attach_sentences,
    lemma,
    pad_words,
    tag_contexts,
    tag_sentences,
    word_parts,
)

_SCALE = 8  # weights are kept to an eighth of one update …
_LEAST_TAGS, _LEAST_ARCS = 4, 6  # … and left out below a half, and three quarters


@dataclass(frozen=True, slots=True)
class Example:
    """A sentence as CoreNLP reads it; `heads`: the number of words stands for the root."""

    words: list[str]
    tags: list[str]
    heads: list[int]
    relations: list[str]


class AveragedPerceptron:
    """A perceptron whose weights are averaged over all steps."""

    def __init__(self, classes: Sequence[str], templates: Mapping[str, Sequence[int]]) -> None:
        self.classes, self.templates = list(classes), templates
        self.columns = {name: i for i, name in enumerate(self.classes)}
        self.sides = {
            side: [i for i, name in enumerate(self.classes) if name[0] == side] for side in SIDES
        }
        self._weights: dict[str, dict[int, float]] = defaultdict(dict)
        self._sums: dict[str, dict[int, float]] = defaultdict(dict)
        self._since: dict[str, dict[int, int]] = defaultdict(dict)
        self._steps = 0

    def scores(self, features: Sequence[str]) -> list[float]:
        totals = [0.0] * len(self.classes)
        weights = self._weights
        for name in features:
            if name in weights:
                for column, weight in weights[name].items():
                    totals[column] += weight
        return totals

    def update(self, features: Sequence[str], right: int, wrong: int) -> None:
        self._steps += 1
        if right == wrong:
            return
        for name in features:
            for column, change in ((right, 1.0), (wrong, -1.0)):
                weight = self._weights[name].get(column, 0.0)
                passed = self._steps - self._since[name].get(column, 0)
                self._sums[name][column] = self._sums[name].get(column, 0.0) + passed * weight
                self._since[name][column] = self._steps
                self._weights[name][column] = weight + change

    def average(self) -> Linear:
        """The averaged weights, to `_SCALE`ths of a step; features without any are left out."""
        rows: dict[str, dict[int, int]] = {}
        for name, row in self._weights.items():
            nonzero = {}
            for column, weight in row.items():
                passed = self._steps - self._since[name][column]
                mean = (self._sums[name][column] + passed * weight) / max(1, self._steps)
                if value := round(mean * _SCALE):
                    nonzero[column] = value
            if nonzero:
                rows[name] = nonzero
        names = sorted(rows)
        weights = np.zeros((len(names), len(self.classes)), dtype=np.int16)
        for i, name in enumerate(names):
            for column, value in rows[name].items():
                weights[i, column] = value
        return Linear(
            self.classes, self.templates, "".join(f"{n}\n" for n in names).encode(), weights
        )


def feature_names(
    templates: Mapping[str, Sequence[int]], contexts: Contexts, strings: Sequence[str]
) -> list[str]:
    """The names of the only context's features, as a model is trained with them."""
    texts = [strings[field] for field in contexts[:, 0]]
    return [
        letter + " ".join(texts[field] for field in fields) for letter, fields in templates.items()
    ]


def save(model: Linear, file: Path, least: int = 1) -> None:
    """Write the names, and the weights of at least `least` either way; the others are lost."""
    weights = np.where(np.abs(model.weights) >= least, model.weights, 0)
    used = np.flatnonzero(weights.any(axis=1))
    rows, columns = np.nonzero(weights[used])
    lines = model.names.split(b"\n")
    np.savez_compressed(
        file,
        classes=np.frombuffer("\n".join(model.classes).encode(), dtype=np.uint8),
        features=np.frombuffer(b"\n".join(lines[row] for row in used), dtype=np.uint8),
        values=weights[used][rows, columns],
        columns=columns.astype(np.uint8),
        counts=np.bincount(rows, minlength=len(used)).astype(np.uint8),
    )


def read_examples(lines: Iterable[str]) -> list[Example]:
    """Sentences with a complete tree, from JSON Lines."""
    examples = []
    for line in lines:
        for sentence in json.loads(line)["sentences"]:
            tokens, n = sentence["tokens"], len(sentence["tokens"])
            heads, relations = [-1] * n, [""] * n
            for head, relation, word in sentence["basic"]:
                heads[word - 1], relations[word - 1] = (head - 1 if head else n), relation
            for i, head in enumerate(heads):  # punctuation has no head there: the word before it
                if head < 0:
                    heads[i], relations[i] = (i - 1 if i else n), "punct"
            if heads.count(n) == 1 and _projective(heads):
                words, tags = [t[0] for t in tokens], [t[1] for t in tokens]
                examples.append(Example(words, tags, heads, relations))
    return examples


def _projective(heads: Sequence[int]) -> bool:
    spans = [(min(i, h), max(i, h)) for i, h in enumerate(heads) if h < len(heads)]
    return not any(a < c < b < d for a, b in spans for c, d in spans)


def learn_lemmas(lines: Iterable[str]) -> dict[str, str]:
    """The lemmas of verbs and plurals that the rules get wrong: "word N" or "word V" → lemma."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for line in lines:
        for sentence in json.loads(line)["sentences"]:
            for word, tag, known in sentence["tokens"]:
                if tag[0] == "V" or tag in ("NNS", "NNPS"):
                    counts[f"{word.lower()} {tag[0]}"][known.lower()] += 1
    usual = {name: min(c, key=lambda k: (-c[k], k)) for name, c in sorted(counts.items())}
    tags = {"V": "VB", "N": "NNS"}
    return {
        name: known
        for name, known in usual.items()
        if lemma(name[:-2], tags[name[-1]], {}) != known
    }


def train_tagger(examples: Sequence[Example], rounds: int, seed: int = 0) -> Linear:
    """A tagger that imitates the examples' tags."""
    classes = sorted({tag for example in examples for tag in example.tags})
    model, chance, strings = (
        AveragedPerceptron(classes, TAG_FEATURES),
        random.Random(seed),
        Strings(),
    )
    padded = pad_words(strings, [example.words for example in examples])
    order = list(zip(padded.T, [example.tags for example in examples], strict=True))
    parts, numbers = word_parts(strings), [strings[tag] for tag in classes]
    texts = list(strings)
    for _ in range(rounds):
        chance.shuffle(order)
        for words, rights in order:
            tags = [strings["^"]] * 2
            for place, right in enumerate(rights):
                near, before = words[place : place + 5, None], np.array(tags[-2:])[:, None]
                names = feature_names(TAG_FEATURES, tag_contexts(near, before, parts), texts)
                scores = model.scores(names)
                guess = max(range(len(scores)), key=scores.__getitem__)
                model.update(names, model.columns[right], guess)
                tags.append(numbers[guess])
    return model.average()


def train_parser(
    examples: Sequence[Example],
    tags: Sequence[Sequence[str]],
    rounds: int,
    report: Callable[[int, float], None],
    seed: int = 0,
) -> Linear:
    """A parser that imitates the examples' trees from these tags."""
    relations = {r for example in examples for r in example.relations}
    classes = [SIDES[0], *sorted(side + r for r in relations for side in SIDES[1:])]
    model, chance = AveragedPerceptron(classes, ARC_FEATURES), random.Random(seed)
    order = list(range(len(examples)))
    for done in range(rounds):
        chance.shuffle(order)
        right = total = 0
        for k in order:
            right += _learn(model, examples[k], tags[k], chance.random if done else None)
            total += len(examples[k].words)
        report(done, right / total)
    return model.average()


def _learn(
    model: AveragedPerceptron,
    example: Example,
    tags: Sequence[str],
    chance: Callable[[], float] | None,
) -> int:
    """Learn from one sentence; how many words came to the right head by the right relation."""
    strings, only = Strings(), np.array([0])
    states = States(strings, [example.words], [tags])
    sides = np.array([SIDES.index(name[0]) for name in model.classes])
    relations = np.array([strings[name[1:]] for name in model.classes])
    texts = list(strings)
    while len(states.unread()):
        names = feature_names(ARC_FEATURES, states.contexts(only), texts)
        scores = model.scores(names)
        allowed = [s for s, open_ in zip(SIDES, states.allowed(only)[:, 0], strict=True) if open_]
        guess = max((i for s in allowed for i in model.sides[s]), key=scores.__getitem__)
        free = _right_actions(states, example, model, allowed)
        best = max(free, key=scores.__getitem__)
        model.update(names, best, best if guess in free else guess)
        follow = guess if chance is not None and chance() < 0.9 else best
        states.apply(only, sides[[follow]], relations[[follow]])
    arcs = zip(*states.arcs()[0], example.heads, example.relations, strict=True)
    return sum((head, texts[r]) == (own, relation) for head, r, own, relation in arcs)


def _right_actions(
    states: States, example: Example, model: AveragedPerceptron, sides: Sequence[str]
) -> list[int]:
    """Those actions that lose fewest of the arcs that can still be had.

    Where the head is right, only the right relation is; where it is lost, any will do.
    """
    heads, first = example.heads, int(states.next[0])
    stack = states.stack(0)
    top = stack[-1] if stack else -1
    below = stack[-2] if len(stack) > 1 else -1
    lost = {"S": 0, "L": 0, "R": 0}
    if stack:
        dependents = heads[first:].count(top)
        head = heads[top]
        lost["L"] = dependents + (head == below or head > first)
        lost["R"] = dependents + (head >= first)
    if first < len(heads):
        lost["S"] = sum(heads[w] == first for w in stack) + (heads[first] in stack[:-1])
    least = min(lost[side] for side in sides)
    right: list[int] = []
    for side in sides:
        if lost[side] == least:
            target = {"L": first, "R": below}.get(side, -2)
            if side != "S" and heads[top] == target:
                right.append(model.columns[side + example.relations[top]])
            else:
                right += model.sides[side]
    return right


def jackknifed_tags(examples: Sequence[Example], rounds: int, folds: int = 4) -> list[list[str]]:
    """Tags of each sentence by a tagger that was trained on the others."""
    tags: list[list[str]] = [[] for _ in examples]
    for fold in range(folds):
        model = train_tagger([e for i, e in enumerate(examples) if i % folds != fold], rounds)
        tags[fold::folds] = tag_sentences(model, [e.words for e in examples[fold::folds]])
    return tags


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("trees", type=Path)
    arguments.add_argument("out", type=Path)
    arguments.add_argument("--dev", type=int, default=500, help="captions kept out, the last ones")
    arguments.add_argument("--rounds", type=int, default=8)
    options = arguments.parse_args()
    lines = options.trees.read_text(encoding="utf-8").splitlines()
    lines = sorted(set(lines))
    random.Random(0).shuffle(lines)
    cut = len(lines) - options.dev
    examples, dev = read_examples(lines[:cut]), read_examples(lines[cut:])
    print(f"{len(examples)} sentences, {len(dev)} kept out", flush=True)
    tags = jackknifed_tags(examples, 5)
    right = sum(
        a == b
        for guesses, example in zip(tags, examples, strict=True)
        for a, b in zip(guesses, example.tags, strict=True)
    )
    print(f"tags, jackknifed: {right / sum(len(e.tags) for e in examples):.4f}", flush=True)
    options.out.mkdir(parents=True, exist_ok=True)
    lemmas = json.dumps(learn_lemmas(lines[:cut]), indent=0, ensure_ascii=False)
    (options.out / "lemmas.json").write_text(lemmas + "\n", encoding="utf-8")
    tags_model = train_tagger(examples, 6)
    save(tags_model, options.out / "tagger.npz", _LEAST_TAGS)
    arcs_model = train_parser(
        examples, tags, options.rounds, lambda r, v: print(f"round {r}: {v:.4f}", flush=True)
    )
    save(arcs_model, options.out / "arcs.npz", _LEAST_ARCS)
    total = tagged = attached = labelled = 0
    words = [example.words for example in dev]
    guesses_of = tag_sentences(tags_model, words)
    arcs = attach_sentences(arcs_model, words, guesses_of)
    for example, got, (heads, relations) in zip(dev, guesses_of, arcs, strict=True):
        for i in range(len(example.words)):
            total += 1
            tagged += got[i] == example.tags[i]
            attached += heads[i] == example.heads[i]
            labelled += (heads[i], relations[i]) == (example.heads[i], example.relations[i])
    if total:
        print(
            f"kept out: tags {tagged / total:.4f}, heads {attached / total:.4f}, "
            f"with relations {labelled / total:.4f}"
        )


if __name__ == "__main__":
    main()
