"""Tagged words → a dependency tree, by shifting and reducing (arc-hybrid; Kuhlmann et al. 2011)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from metaeval.text.scene_graphs.dependencies.perceptron import Linear

SHIFT = "S"
Context = tuple[str | int, ...]  # what `context_of` returns


@dataclass(slots=True)
class State:
    """What has been read and attached so far.

    Words have places 0 … n - 1; n stands for the root, which comes last. `heads` is -1 where none
    is known yet. `left` and `right`: per word its dependents on either side, outermost last.
    """

    size: int
    stack: list[int] = field(default_factory=list)
    next: int = 0
    heads: list[int] = field(default_factory=list)
    relations: list[str] = field(default_factory=list)
    left: list[list[int]] = field(default_factory=list)
    right: list[list[int]] = field(default_factory=list)

    @classmethod
    def start(cls, size: int) -> State:
        """Before the first of `size` words."""
        return cls(
            size,
            heads=[-1] * size,
            relations=[""] * size,
            left=[[] for _ in range(size + 1)],
            right=[[] for _ in range(size + 1)],
        )

    @property
    def done(self) -> bool:
        """Whether every word has its head."""
        return self.next == self.size and not self.stack

    def allowed(self) -> tuple[bool, bool, bool]:
        """Whether one can shift, attach to the next word, attach to the word below."""
        last, depth = self.next == self.size, len(self.stack)
        return not last, depth > 0 and (not last or depth == 1), depth > 1

    def apply(self, action: str) -> None:
        """Shift, or attach the word on top: "L" to the next word, "R" to the one below it."""
        if action == SHIFT:
            self.stack.append(self.next)
            self.next += 1
            return
        word = self.stack.pop()
        head = self.next if action[0] == "L" else self.stack[-1]
        self.heads[word], self.relations[word] = head, action[1:]
        (self.left if action[0] == "L" else self.right)[head].append(word)


def features(state: State, words: Sequence[str], tags: Sequence[str]) -> list[str]:
    """What the next action is judged by; `words` and `tags` end in three marks for "none"."""
    return named_features(context_of(state, words, tags))


def context_of(state: State, words: Sequence[str], tags: Sequence[str]) -> Context:
    """All that the features of the next action depend on."""
    none = state.size + 1
    stack, right, left = state.stack, state.right, state.left
    s0 = stack[-1] if stack else none
    s1 = stack[-2] if len(stack) > 1 else none
    s2 = stack[-3] if len(stack) > 2 else none
    b0 = state.next
    b1, b2 = min(b0 + 1, none), min(b0 + 2, none)
    sr = sl = bl = none
    sr_relation = sl_relation = bl_relation = s1_relation = ""
    count = 0
    if s0 != none:
        if right[s0]:
            sr = right[s0][-1]
            sr_relation = state.relations[sr]
        if left[s0]:
            sl = left[s0][-1]
            sl_relation = state.relations[sl]
        count = len(right[s0])
    if left[b0]:
        bl = left[b0][-1]
        bl_relation = state.relations[bl]
    if s1 != none and right[s1]:
        s1_relation = state.relations[right[s1][-1]]
    case = words[left[b0][0]] if left[b0] and state.relations[left[b0][0]] == "case" else ""
    s_case = words[left[s0][-1]] if sl_relation == "case" else ""
    apart = min(b0 - s0, 5) if s0 != none else 0
    return (
        words[s0],
        words[s1],
        words[s2],
        tags[s0],
        tags[s1],
        tags[s2],
        words[b0],
        words[b1],
        tags[b0],
        tags[b1],
        tags[b2],
        sr_relation,
        sl_relation,
        bl_relation,
        s1_relation,
        tags[sr],
        tags[sl],
        tags[bl],
        case,
        s_case,
        count,
        apart,
    )


def named_features(context: Context) -> list[str]:
    """The names of a context's features."""
    (
        w0,
        w1,
        w2,
        t0,
        t1,
        t2,
        v0,
        v1,
        u0,
        u1,
        u2,
        sr_relation,
        sl_relation,
        bl_relation,
        s1_relation,
        sr_tag,
        sl_tag,
        bl_tag,
        case,
        s_case,
        count,
        apart,
    ) = context
    return [
        "a",
        f"b{w0} {t0}",
        f"c{t0}",
        f"d{w1} {t1}",
        f"e{t1}",
        f"f{v0} {u0}",
        f"g{u0}",
        f"h{v1} {u1}",
        f"i{u1} {u2}",
        f"j{w0} {v0}",
        f"k{w0} {u0}",
        f"l{t0} {v0}",
        f"m{t0} {u0} {apart}",
        f"n{t0} {u0} {u1}",
        f"o{t1} {t0} {u0}",
        f"p{t1} {t0} {u0} {u1}",
        f"q{t2} {t1} {t0} {u0}",
        f"r{w1} {w0}",
        f"s{w1} {t0}",
        f"t{t1} {w0}",
        f"u{t1} {t0} {v0}",
        f"v{w1} {t0} {v0}",
        f"w{t0} {sr_relation} {u0}",
        f"x{t0} {sl_relation} {u0}",
        f"y{t0} {u0} {bl_relation}",
        f"z{t0} {sl_relation} {sr_relation} {count}",
        f"A{w0} {sr_relation} {sl_relation}",
        f"B{t1} {s1_relation} {t0} {sl_relation}",
        f"C{w1} {s1_relation} {s_case}",
        f"D{w1} {s_case} {w0}",
        f"E{t1} {s_case} {t0} {u0}",
        f"F{w0} {case} {v0}",
        f"G{t1} {t0} {sl_relation} {u0} {v0}",
        f"H{v0} {v1}",
        f"I{t0} {u0} {u1} {u2}",
        f"J{w0} {t0} {u0} {u1}",
        f"K{t2} {t1} {s1_relation} {s_case}",
        f"L{sr_tag} {t0} {u0}",
        f"M{sl_tag} {t0} {bl_tag} {u0}",
        f"N{w2} {w1} {s_case}",
        f"O{t0} {v0} {v1}",
        f"P{t1} {s_case} {v0} {u1}",
        f"Q{w1} {s_case} {t0} {v0}",
        f"R{t0} {v0} {u1} {u2}",
    ]


def attach_words(
    model: Linear, words: Sequence[str], tags: Sequence[str]
) -> tuple[list[int], list[str]]:
    """Per word the place of its head (the number of words for the root) and its relation."""
    state = State.start(len(words))
    words, tags = marked(words, tags)
    while not state.done:
        # captions are much alike: most contexts have been decided before
        key = context_of(state, words, tags), state.allowed()
        action = model.decided.get(key)
        if action is None:
            action = model.decide(key, _best(model, *key))
        state.apply(action)
    return state.heads, state.relations


def _best(model: Linear, context: Context, allowed: tuple[bool, bool, bool]) -> str:
    """The action with the highest score, of equal ones the first, among those allowed."""
    sides = "".join(side for side, can in zip("SLR", allowed, strict=True) if can)
    scores = model.scores(named_features(context)).tolist()
    pairs = [
        (score, name) for score, name in zip(scores, model.classes, strict=True) if name[0] in sides
    ]
    return max(pairs, key=lambda pair: pair[0])[1]


def marked(words: Sequence[str], tags: Sequence[str]) -> tuple[list[str], list[str]]:
    """Words in lower case and tags, with the marks of the root and of "none" behind them."""
    lowered = ["0" if word.isdigit() else word.lower() for word in words]
    return [*lowered, "ROOT", "-", "-"], [*tags, "ROOT", "-", "-"]
