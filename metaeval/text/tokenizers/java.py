"""The original PTB tokeniser: the Stanford CoreNLP 3.4.1 jar that pycocoevalcap ships.

For those who want the reference itself. `ptb.py` gives the same tokens without Java.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

from metaeval.data.dataset import Absent
from metaeval.java.process import JavaError, run_once
from metaeval.java.services import JavaRuntime, find_bundled_files, find_java
from metaeval.text.tokenizers.base import Tokenizer
from metaeval.text.tokenizers.ptb import AFTER, drop_punctuation, following_text, sanitise

JAR = "tokenizer/stanford-corenlp-3.4.1.jar"
_MAIN = "edu.stanford.nlp.process.PTBTokenizer"
_WHAT = "the PTB tokenizer"
_INPUT = "captions.txt"
_SEPARATORS = {AFTER[False]: "' '' <", AFTER[True]: "a ' '' <"}  # the jar's output for them


def find_tokenizer_jar() -> Path | Absent:
    """The tokeniser's jar in the installed pycocoevalcap."""
    jars = find_bundled_files(JAR)
    if isinstance(jars, Absent):
        return Absent("java tokenizer", jars.reason, f"{jars.remedy}, or tokenizer: ptb")
    return jars[0]


class JavaPtbTokenizer(Tokenizer):
    """Stanford CoreNLP 3.4.1's PTB tokens by its own jar; the drops of pycocoevalcap.

    All new texts go through one Java process. The lexer reads its file as one text, so between
    captions stands a line that no token, tag or abbreviation can reach across: a caption's tokens
    depend on nothing but the caption, and the lines cannot get out of step unnoticed.

    Raises `metaeval.java.process.JavaError` when Java fails or its answer does not fit.
    """

    signature = "ptb-3.4.1-java"
    seconds = 120.0  # that one call may take, and one more for every thousand texts

    def missing(self) -> Absent | None:
        files = _find_files()
        return files if isinstance(files, Absent) else None

    def tokenize(self, texts: Sequence[str]) -> list[list[str]]:
        if not texts:
            return []
        files = _find_files()
        if isinstance(files, Absent):
            raise JavaError(_WHAT, str(files))
        java, jar = files
        clean = [sanitise(text) for text in texts]
        # A folder of our own as the working directory, since CoreNLP splits paths at spaces.
        with tempfile.TemporaryDirectory(prefix="metaeval-ptb-") as folder:
            lines = "".join(text + following_text(text) for text in clean)
            Path(folder, _INPUT).write_bytes(lines.encode())
            output = run_once(
                java,
                ["-cp", str(jar), _MAIN, "-preserveLines", "-lowerCase", _INPUT],
                what=_WHAT,
                heap=512,
                timeout=self.seconds + len(texts) / 1000,
                cwd=Path(folder),
            )
        return _tokens(output.decode(), clean)


def _find_files() -> tuple[JavaRuntime, Path] | Absent:
    """Java and the jar, or the first of them that is not there."""
    java, jar = find_java(), find_tokenizer_jar()
    if isinstance(java, Absent):
        return java
    return jar if isinstance(jar, Absent) else (java, jar)


def _tokens(output: str, texts: Sequence[str]) -> list[list[str]]:
    """The captions' lines, after checking that each is followed by its separator's tokens."""
    lines = output.replace("\r\n", "\n").split("\n")
    if len(lines) != 2 * len(texts) + 1:
        raise JavaError(_WHAT, f"{len(texts)} captions came back as {len(lines) // 2}")
    for text, separator in zip(texts, lines[1::2], strict=True):
        if separator != _SEPARATORS[following_text(text)]:
            raise JavaError(_WHAT, f"lines out of step after the caption {text[:80]!r}")
    return [
        drop_punctuation([token for token in line.split(" ") if token]) for line in lines[:-1:2]
    ]
