"""The sentences of a long caption dropped, repeated, in another order, or another image's."""

import re
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from string import punctuation as ascii_punctuation

import numpy as np

from metaeval.corruptions.base import Caption, Corrupted, RatedCorruption
from metaeval.corruptions.graded.random import FromOtherImage
from metaeval.data.dataset import Absent, CaptionDataset
from metaeval.data.language import GRAPHEME, MARKED_SCRIPTS, UNSPACED_SCRIPTS, sentence_starts
from metaeval.runs.records import MISSING_WORDS, OTHER_CAPTION, WRONG_PLACES, Edit

# Split a caption into the words that a corruption changes, and join it again.
#
# A caption is split into tokens at white space, or into characters where its script has no spaces
# (`metaeval.data.language`): a letter with its marks, since most vowels of Thai or Khmer are marks.
# A token's word is the token without the punctuation around it (ASCII, as in the paper's bag of
# words); a token of nothing but punctuation holds no word and is never touched. Words are compared
# regardless of case, as most metrics read them.

# marks of scripts without spaces stand between words without a space of their own
punctuation = ascii_punctuation + "。，、！？；：（）「」『』《》…—។៕៖၊။"
_LETTER = re.compile(f"[{UNSPACED_SCRIPTS}]")
_MARKED = re.compile(f"[{MARKED_SCRIPTS}]")
_BLANKS = " \N{ZERO WIDTH SPACE}"  # part phrases or words of the scripts with marks
_TOKEN = re.compile(f"{GRAPHEME}[{re.escape(punctuation)}]*|[^\\s{UNSPACED_SCRIPTS}]+")
_TOKEN_OR_BLANK = re.compile(
    f"{GRAPHEME}[{re.escape(punctuation)}]*|[^{_BLANKS}{UNSPACED_SCRIPTS}]+|[{_BLANKS}]+"
)


def is_unspaced(text: str) -> bool:
    """Whether most of a text is of a script without spaces: its characters are its words then.

    >>> is_unspaced("两只狗在草地上跑。"), is_unspaced("two dogs run")
    (True, False)
    """
    return not text.isascii() and 2 * len(_LETTER.findall(text)) > len("".join(text.split()))


def split(text: str) -> list[str]:
    """The tokens of a caption: at white space, or characters where there is none.

    >>> split("two dogs run."), split("两只狗跑。"), split("ที่นี่ ดี")
    (['two', 'dogs', 'run.'], ['两', '只', '狗', '跑。'], ['ที่', 'นี่', ' ', 'ดี'])
    """
    if not is_unspaced(text):
        return text.split()
    return (_TOKEN_OR_BLANK if _MARKED.search(text) else _TOKEN).findall(text)


def join(tokens: Sequence[str], source: str) -> str:
    """The tokens as a caption again, with spaces where the source has them between words."""
    return " ".join("".join(tokens).split()) if is_unspaced(source) else " ".join(tokens)


def words_by_position(tokens: Sequence[str]) -> dict[int, str]:
    """Position among the tokens → word, for the tokens that hold one."""
    cores = enumerate(token.strip(punctuation) for token in tokens)
    return {i: core for i, core in cores if core.strip(_BLANKS)}


def bare_word(token: str) -> str:
    """A token's word as it is compared: without punctuation around it, in lower case."""
    return token.strip(punctuation).lower()


def with_word(token: str, word: str) -> str:
    """The token with another word in it: its punctuation stays ("field." and "dog": "dog.")."""
    # the first match is the old word: before it there is only punctuation
    return token.replace(token.strip(punctuation), word, 1)


def rewritten(text: str, new: Mapping[int, str], requested: float) -> Corrupted:
    """The caption with the tokens at the given positions replaced.

    If no word changes, or words change their case alone, the caption stays as it was: the text
    differs from the source if and only if `applied`. `realised` is the share of the caption's words
    that changed by more than their case.
    """
    tokens = split(text)
    n_words = len(words_by_position(tokens))
    edits = []
    changed = 0
    for position in sorted(new):
        before, after = tokens[position], new[position]
        if after != before:
            tokens[position] = after
            edits.append(Edit(position, before, after))
            changed += bare_word(after) != bare_word(before)
    if not changed:
        return Corrupted(text, False, (), requested, 0.0)
    return Corrupted(join(tokens, text), True, tuple(edits), requested, changed / n_words)


Tokens = list[str]
SHARE = 0.5  # of the captions must have two sentences: others are never changed


class SentenceCorruption(RatedCorruption, kind="sentences"):
    """Changes round(rate · n) of a caption's n sentences, at least one, chosen at random.

    A caption of one sentence stays as it is. Datasets in which fewer than half of the captions have
    two sentences are refused.

    Parameters
    ----------
    rate
        The share of sentences to change, in (0, 1].
    """

    def missing(self, dataset: CaptionDataset) -> Absent | None:
        longer = sum(len(sentence_starts(split(text))) > 1 for text in dataset.human)
        if longer < SHARE * len(dataset):
            return Absent(
                "sentences",
                f"it changes captions of several sentences, and {longer:,} of {len(dataset):,} "
                "are of more than one",
                "use it on long captions (dataset=own dataset.file=FILE)",
            )
        return super().missing(dataset)

    def corrupt(self, caption: Caption, rng: np.random.Generator) -> Corrupted:
        tokens = split(caption.text)
        starts = sentence_starts(tokens)
        if len(starts) < 2:
            return Corrupted(
                caption.text, False, (), self.rate, 0.0, reason="has only one sentence"
            )
        sentences = [tokens[a:b] for a, b in zip(starts, [*starts[1:], len(tokens)], strict=True)]
        n = max(1, round(self.rate * len(sentences)))
        changed = self.changed(caption, sentences, n, rng)
        if changed is None:
            return Corrupted(
                caption.text, False, (), self.rate, 0.0, reason="has no sentence to exchange"
            )
        edits = _edits(sentences, starts, changed)
        text = join([token for sentence in changed for token in sentence], caption.text)
        if not edits or text.split() == caption.text.split():
            return Corrupted(caption.text, False, (), self.rate, 0.0, reason="would stay the same")
        touched = sum(
            len(words_by_position(s)) for s, c in zip(sentences, changed, strict=True) if s != c
        )
        return Corrupted(
            text, True, edits, self.rate, touched / max(1, len(words_by_position(tokens)))
        )

    @abstractmethod
    def changed(
        self, caption: Caption, sentences: list[Tokens], n: int, rng: np.random.Generator
    ) -> list[Tokens] | None:
        """What stands in the place of each sentence (nothing, or several); `None` if impossible."""


def _edits(sentences: list[Tokens], starts: list[int], changed: list[Tokens]) -> tuple[Edit, ...]:
    """The sentences that were removed, word by word, and those that were inserted, as wholes."""
    edits: list[Edit] = []
    for start, before, after in zip(starts, sentences, changed, strict=True):
        if after == before:
            continue
        if after[: len(before)] == before:  # the sentence stays, and more follows
            edits.append(Edit(start + len(before), "", " ".join(after[len(before) :])))
            continue
        if after:
            edits.append(Edit(start, "", " ".join(after)))
        edits += [Edit(start + k, token, "") for k, token in enumerate(before)]
    return tuple(sorted(edits, key=lambda edit: edit.position))


class DropSentence(
    SentenceCorruption, title="Sentence dropped", severity="major", flaw=MISSING_WORDS
):
    """Sentences are left out; one is always left."""

    def changed(
        self, caption: Caption, sentences: list[Tokens], n: int, rng: np.random.Generator
    ) -> list[Tokens] | None:
        dropped = _chosen(len(sentences), min(n, len(sentences) - 1), rng)
        return [[] if i in dropped else sentence for i, sentence in enumerate(sentences)]


class RepeatSentence(SentenceCorruption, title="Sentence repeated", severity="mild"):
    """Sentences are written twice, one directly after the other."""

    def changed(
        self, caption: Caption, sentences: list[Tokens], n: int, rng: np.random.Generator
    ) -> list[Tokens] | None:
        repeated = _chosen(len(sentences), n, rng)
        return [s + s if i in repeated else s for i, s in enumerate(sentences)]


class SwapSentences(
    SentenceCorruption,
    title="Sentences swapped",
    severity="mild",
    experimental=True,
    flaw=WRONG_PLACES,
):
    """Sentences change places with one another, at least two.

    Experimental: where no sentence refers to another, the order does not matter. Of 40 captions
    read for the audit, 14 were as well written as before.
    """

    def changed(
        self, caption: Caption, sentences: list[Tokens], n: int, rng: np.random.Generator
    ) -> list[Tokens] | None:
        places = sorted(_chosen(len(sentences), max(2, n), rng))
        moved = dict(zip(places, places[1:] + places[:1], strict=True))
        return [sentences[moved.get(i, i)] for i in range(len(sentences))]


class OtherSentence(
    SentenceCorruption,
    FromOtherImage,
    title="Another image's sentence",
    severity="critical",
    flaw=OTHER_CAPTION,
):
    """A sentence of another image's caption stands in the place of one of the caption's own."""

    def facts(self) -> Mapping[str, object]:
        return {"donors": len(self._donated)}

    def changed(
        self, caption: Caption, sentences: list[Tokens], n: int, rng: np.random.Generator
    ) -> list[Tokens] | None:
        tokens = split(self._donated.get(caption.image_id, ""))
        starts = sentence_starts(tokens)
        theirs = [tokens[a:b] for a, b in zip(starts, [*starts[1:], len(tokens)], strict=True)]
        theirs = [sentence for sentence in theirs if sentence not in sentences]
        n = min(n, len(theirs))
        if n == 0:
            return None
        places = _chosen(len(sentences), n, rng)
        drawn = iter([theirs[k] for k in rng.permutation(len(theirs))[:n].tolist()])
        return [next(drawn) if i in places else s for i, s in enumerate(sentences)]


def _chosen(n_sentences: int, n: int, rng: np.random.Generator) -> set[int]:
    """The places of n of the sentences, at random."""
    return set(rng.permutation(n_sentences)[:n].tolist())
