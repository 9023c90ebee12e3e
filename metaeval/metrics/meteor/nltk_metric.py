"""METEOR of the package nltk: an older score (Lavie and Agarwal, 2007) than METEOR 1.5.

It matches words, Porter stems and WordNet's synonyms one after the other, each word with the last
one that fits, knows no paraphrases and no function words, and has other weights: α = 0.9, β = 3,
γ = 0.5. Scores are nltk's own doing; stems and synonyms are looked up once a word, as nltk looks
them up again for every pair of texts: a seventh of its time on 2,800 pairs of val2017.
"""

from __future__ import annotations

import shutil
import sys
import warnings
from collections.abc import Callable, Sequence
from functools import cache as remembered, partial
from importlib.metadata import version
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from metaeval.compute.device import missing_packages
from metaeval.data.dataset import Absent, CaptionDataset
from metaeval.data.download import DownloadError
from metaeval.errors import InputError
from metaeval.metrics.base import Metric, ReferenceScorer
from metaeval.options import checked
from metaeval.readers.files import user_path
from metaeval.runs.files import digest, file_sha256
from metaeval.runs.records import ScoreColumn
from metaeval.runs.store import Store
from metaeval.text.tokenizers import base as tokenizers

if TYPE_CHECKING:
    from nltk.corpus.reader.wordnet import WordNetCorpusReader


PARTS = ("noun", "verb", "adj", "adv")
# what decides which words are synonyms, and so what a signature names
FILES = tuple(f"{kind}.{part}" for kind in ("index", "data") for part in PARTS)
_EXCEPTIONS = tuple(f"{part}.exc" for part in PARTS)
# WordNet's files of lexicographers in the order of their numbers (lexnames(5WN)): part of speech,
# its number, names
_LEXICOGRAPHERS = (
    ("adj", 3, "all pert"),
    ("adv", 4, "all"),
    ("noun", 1, "Tops act animal artifact attribute body cognition communication event feeling"),
    ("noun", 1, "food group location motive object person phenomenon plant possession process"),
    ("noun", 1, "quantity relation shape state substance time"),
    ("verb", 2, "body change cognition communication competition consumption contact creation"),
    ("verb", 2, "emotion motion perception possession social stative weather"),
    ("adj", 3, "ppl"),
)


def find_wordnet(cache: Path | None = None) -> Path | Absent:
    """The folder of WordNet's files, in our cache folder or one of nltk's; or how to install it.

    A folder in which one of the files is missing is passed over.
    """
    if (absent := missing_packages("wordnet", "nltk")) is not None:
        return absent
    from nltk.data import path as nltk_folders

    folders = [Path(folder) / "corpora" / "wordnet" for folder in nltk_folders]
    for folder in [*([_target(cache)] if cache else []), *folders]:
        if all((folder / name).is_file() for name in (*FILES, *_EXCEPTIONS, "lexnames")):
            return folder
    return Absent(
        "wordnet",
        "WordNet, the source of synonyms for nltk's METEOR, is not installed",
        "python -m metaeval doctor --install wordnet",
    )


def read_wordnet(folder: Path) -> WordNetCorpusReader:
    """nltk's reader of these files (English alone, which needs no further corpus)."""
    from nltk import data
    from nltk.corpus.reader.wordnet import WordNetCorpusReader

    if (root := str(folder.parent.parent)) not in data.path:
        data.path.append(root)  # nltk reads from nowhere else

    class English(WordNetCorpusReader):  # type: ignore[misc]  # nltk has no types
        """Without the map between versions, for which other languages would need `index.sense`."""

        def map_wn(self, version: str = "wordnet") -> None:
            return None

    with warnings.catch_warnings():  # a warning that other languages are missing
        warnings.simplefilter("ignore")
        return English(str(folder), None)


def install(cache: Path, source: Path | None = None) -> None:
    """Bring WordNet 3.0 into the cache folder: by nltk's downloader, or from a local folder.

    Raises InputError for a folder without WordNet's files, DownloadError where nltk cannot download
    them.
    """
    target = _target(user_path(cache))
    if source is None:
        import nltk

        if not nltk.download("wordnet", download_dir=str(target.parent.parent), quiet=True):
            raise DownloadError("nltk could not download its corpus 'wordnet'")
        shutil.unpack_archive(target.with_suffix(".zip"), target.parent)
    else:
        source = user_path(source)
        for name in (*FILES, *_EXCEPTIONS):
            if not (source / name).is_file():
                raise InputError(f"contains no WordNet: '{name}' is missing", file=source)
        target.mkdir(parents=True, exist_ok=True)
        for name in (*FILES, *_EXCEPTIONS):
            shutil.copyfile(source / name, target / name)
        (target / "lexnames").write_text(_lexnames(), encoding="utf-8")
    print(f"WordNet is in {target}", file=sys.stderr)


def _target(cache: Path) -> Path:
    return cache / "nltk_data" / "corpora" / "wordnet"


def _lexnames() -> str:
    entries = [
        (f"{part}.{name}", number)
        for part, number, names in _LEXICOGRAPHERS
        for name in names.split()
    ]
    return "".join(f"{i:02d}\t{name}\t{number}\n" for i, (name, number) in enumerate(entries))


class MeteorNltk(Metric):
    """`nltk.translate.meteor_score.meteor_score(references, caption)`, in [0, 1].

    The highest score over the references or their mean, each word in lower case. An empty caption
    scores 0; NaN only where the image has no reference. It needs WordNet's files
    (`find_wordnet`); without them it does not run, rather than match stems alone.

    Parameters
    ----------
    tokenizer
        "whitespace" (nltk up to 3.6.5 split texts so, and left it to the caller since; punctuation
        then belongs to the word it is attached to) or "ptb".
    references
        "best" (nltk's own way with several references) or "mean": the mean of the scores against
        each. On Replace and Shuffle the mean comes nearest to what González-Chávez et al. published
        as METEOR (docs/statistics.md).
    cache
        The cache folder, into which `doctor --install wordnet` puts WordNet.
    """

    name = "meteor_nltk"
    languages = frozenset({"en"})
    columns = (ScoreColumn("METEOR (nltk)", variant_of="METEOR", model="nltk"),)

    @checked
    def __init__(
        self,
        tokenizer: str = "whitespace",
        references: Literal["best", "mean"] = "best",
        cache: str | Path | None = None,
    ) -> None:
        self.references = references
        self.tokenizer = tokenizers.get(tokenizer)
        self.cache = user_path(cache) if cache else None

    def bind(
        self, dataset: CaptionDataset, store: Store | None = None
    ) -> MeteorNltkScorer | Absent:
        folder = find_wordnet(self.cache)
        if (absent := self.missing_part(dataset)) is not None:
            return absent
        if isinstance(folder, Absent):
            return folder
        files = "".join(file_sha256(folder / name, store) for name in FILES)
        settings = {
            "tok": self.tokenizer.signature,
            "nltk": version("nltk"),
            "wordnet": digest(files).hex()[:12],
            **({"ref": "mean"} if self.references == "mean" else {}),
            "v": 1,
        }
        return MeteorNltkScorer(self, settings, dataset, folder)


class MeteorNltkScorer(ReferenceScorer):
    """nltk's METEOR against the references of a dataset."""

    metric: MeteorNltk

    usual_ms = 0.6

    def __init__(
        self, metric: MeteorNltk, settings: dict[str, object], dataset: CaptionDataset, folder: Path
    ) -> None:
        super().__init__(metric, settings, dataset)
        self._folder = folder

    def prepare(self) -> None:
        self._matched = pair_score(self._folder)
        self._references = self.metric.tokenizer.of_groups(self.dataset.references)

    def score_caption(self, caption: str, image_index: int) -> float:
        (words,) = self.metric.tokenizer([caption])
        scores = [self._matched(reference, words) for reference in self._references[image_index]]
        if self.metric.references == "mean" and scores:
            return sum(scores) / len(scores)
        return max(scores, default=np.nan)


class _Lemma(NamedTuple):
    """The part of a lemma that nltk's METEOR uses."""

    word: str

    def name(self) -> str:
        return self.word


class _Synset(NamedTuple):
    """The part of a synset that nltk's METEOR uses."""

    words: tuple[_Lemma, ...]

    def lemmas(self) -> tuple[_Lemma, ...]:
        return self.words


def pair_score(folder: Path) -> Callable[[Sequence[str], Sequence[str]], float]:
    """nltk's score of a reference and a caption, both split into words, in [0, 1]; `folder` holds
    WordNet's files.

    Stems and synonyms are remembered. All synonyms of a word are one synset: nltk's METEOR only
    puts the single words of a word's synsets into one set; phrases it leaves out itself.
    """
    from nltk.stem.porter import PorterStemmer
    from nltk.translate.meteor_score import single_meteor_score

    wordnet = read_wordnet(folder)

    @remembered
    def synsets(word: str) -> tuple[_Synset]:
        names = {name for synset in wordnet.synsets(word) for name in synset.lemma_names()}
        return (_Synset(tuple(_Lemma(name) for name in sorted(names) if "_" not in name)),)

    stemmer = SimpleNamespace(stem=remembered(PorterStemmer().stem))
    return partial(single_meteor_score, stemmer=stemmer, wordnet=SimpleNamespace(synsets=synsets))
