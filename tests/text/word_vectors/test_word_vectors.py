"""Word vectors from files in the field's formats, and MiniLM's of single words."""

import gzip
import hashlib
import pickle
import struct
from pathlib import Path

import numpy as np
import pytest
from pytest_httpserver import HTTPServer

from metaeval.errors import ConfigError, InputError, MetaevalError
from metaeval.runs.store import MemoryStore
from metaeval.text.word_vectors.base import MiniLmVectors, VectorFile

WORDS = ["dog", "café", "new york", "dog", "zero", "犬"]
ROWS = np.array(
    [[3, 4, 0], [0, -2, 0], [1, 1, 1], [9, 9, 9], [0, 0, 0], [0.25, 0, -0.125]], dtype=np.float32
)
ASKED = ["犬", "nothing", "dog", "zero", "café", "Dog"]
# by hand: the first "dog" counts; a row of zeros has no direction; case is not folded
UNIT = {"犬": [2 / 5**0.5, 0, -1 / 5**0.5], "dog": [0.6, 0.8, 0], "café": [0, -1, 0]}


def word2vec(newline: bytes = b"\n") -> bytes:
    entries = [
        word.replace(" ", "_").encode() + b" " + struct.pack("<3f", *row) + newline
        for word, row in zip(WORDS, ROWS.tolist(), strict=True)
    ]
    return b"6 3\n" + b"".join(entries)


def text(header: bool) -> bytes:
    lines = [
        " ".join([word, *map(repr, row)]) for word, row in zip(WORDS, ROWS.tolist(), strict=True)
    ]
    return "\n".join(["6 3", *lines] if header else lines).encode()


def check(vectors: VectorFile) -> None:
    assert vectors.missing() is None
    before = pickle.dumps(vectors)
    embedded = vectors.embed(ASKED)
    assert pickle.dumps(vectors) == before
    assert embedded.known.tolist() == [word in UNIT for word in ASKED]
    expected = [UNIT.get(word, [0, 0, 0]) for word in ASKED]
    np.testing.assert_allclose(embedded.rows, expected, rtol=0, atol=1e-15)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.bin", word2vec()),
        ("b.bin", word2vec(b"")),  # gensim writes no newline after a row, the C program does
        ("c.txt", text(header=True)),
        ("d.txt", text(header=False) + b"\n"),
        ("e.vec", text(header=True).replace(b"\n", b" \n")),  # fastText ends lines with a space
        (
            "f.txt",
            b"\xef\xbb\xbf" + text(header=False).replace(b" ", b"  ").replace(b"new  ", b"new "),
        ),
        ("g.txt", b" " + text(header=False)),
    ],
)
def test_reads_every_format(tmp_path: Path, name: str, content: bytes) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    check(VectorFile(path, cache=tmp_path / "cache"))
    vectors = VectorFile(path, cache=tmp_path / "cache")  # now by the index that is there
    check(vectors)
    assert len(list((tmp_path / "cache/vectors").iterdir())) == 1
    assert vectors.identity() == f"{name}:{hashlib.sha256(content).hexdigest()[:12]}"


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.bin", word2vec()[:-9], "ends within word 6 of 6"),
        ("a.bin", word2vec().replace(b"new_york", b"n\new_yor"), "word 3 of 6 holds a line end"),
        ("a.bin", text(header=False), "should begin with two counts"),
        ("a.txt", text(header=True).replace(b" 0.0\n", b"\n", 1), "line 2.*word and 3 numbers"),
        ("a.txt", text(header=True).replace(b"-2.0", b"x"), "should hold 3 numbers"),
        ("a.txt", text(header=True).replace(b"-2.0", b"nan"), "should hold 3 numbers"),
        (
            "a.txt",
            b"cat 0 1 0\nnew york 1 1 1\ndog 3 4 0 5\n",
            "line 3: should hold a word and 3 numbers, but has more",
        ),
        *(
            ("a.txt", f"cat 0 1 0\ndog 3 {number} 0\n".encode(), "should hold 3 numbers")
            for number in ("1_0", "0x1", "1,5")
        ),
        ("a.txt", b"4 2\ndog 1 2\ncat 3 4\n", "holds 2 words where its first line says 4"),
        ("a.txt", b"2 " + b"9" * 30 + b"\ndog 1 2\n", r"a\.txt: begins with counts that no file"),
        *(
            ("a.txt", b"2 2\ndog 1 " + number + b"\ncat 3 4\n", "should hold 2 numbers")
            for number in (b"nan", b"inf", b"1e99")
        ),
        ("a.bin", b"1 2\ndog " + struct.pack("<2f", 1, float("inf")), r"a\.bin.*not finite"),
        (
            "a.bin",
            b"1 2\ndog " + struct.pack("<2f", 1, 1) + b"cat 12345678",
            r"a\.bin: goes on after its 1 words",
        ),
        ("a.txt", b"dog\n", "holds no vectors"),
        ("a.txt", b"", "is empty"),
        ("a.kv", b"nonsense", "save_word2vec_format"),
        ("a.dat", b"x", "vectors.format=word2vec"),
    ],
)
def test_refuses_damaged_files(tmp_path: Path, name: str, content: bytes, message: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=message):
        VectorFile(tmp_path / name, cache=tmp_path).embed(["café", "dog"])


def test_a_changed_file_is_read_again(tmp_path: Path) -> None:
    path, identities = tmp_path / "a.txt", set()
    for content, row in ((b"dog 1 0\n", [1, 0]), (b"cat 0 1\ndog 0 2\n", [0, 1])):
        path.write_bytes(content)
        assert VectorFile(path, cache=tmp_path).embed(["dog"]).rows.tolist() == [row]
        identities.add(VectorFile(path, cache=tmp_path).identity())
    assert len(identities) == 2


@pytest.mark.parametrize(
    "options", [{}, {"path": "x", "format": "csv"}], ids=["no file", "unknown format"]
)
def test_refuses_options_that_mean_nothing(options: dict[str, str]) -> None:
    with pytest.raises(ConfigError, match=r"vectors\.path|VectorFile\.format: .csv. is not one of"):
        VectorFile(**options)  # type: ignore[arg-type]


def test_downloads_only_on_request_and_only_the_right_file(
    tmp_path: Path, httpserver: HTTPServer
) -> None:
    packed = gzip.compress(text(header=True))
    httpserver.expect_request("/toy.gz").respond_with_data(packed)
    given = {"format": "text", "cache": tmp_path, "url": httpserver.url_for("/toy.gz")}
    right = hashlib.md5(packed).hexdigest()
    asked_nothing = VectorFile(**given, md5=right)  # type: ignore[arg-type]
    absent = asked_nothing.missing()
    assert "vectors.download=true" in absent.remedy
    with pytest.raises(InputError, match=r"vectors\.download=true"):
        asked_nothing.embed(["dog"])
    asked_nothing.fetch()
    assert asked_nothing.missing() == absent
    with pytest.raises(MetaevalError, match="wrong checksum"):
        VectorFile(**given, md5="0" * 32, download=True).fetch()  # type: ignore[arg-type]
    asked = VectorFile(**given, md5=right, download=True)  # type: ignore[arg-type]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HF_HUB_OFFLINE", "1")
        asked.fetch()
        assert "nothing is downloaded while offline" in str(asked.missing())
    asked.fetch()
    check(asked)
    httpserver.clear()
    check(VectorFile(**given, md5=right))  # type: ignore[arg-type]  # it stays


@pytest.fixture(scope="module")
def minilm() -> MiniLmVectors:
    return MiniLmVectors(device="cpu")


SOME = ["dog", "motorcycle", "犬", "skateboarding", "qzxv", "person", "\U0001f9ff", "tv", "café"]


def test_minilm_gives_a_word_its_sentence_embedding(minilm: MiniLmVectors) -> None:
    package = pytest.importorskip("sentence_transformers")
    expected = package.SentenceTransformer(str(minilm.model().folder), device="cpu").encode(SOME)
    embedded = minilm.embed(SOME)
    assert embedded.known.tolist() == [word != "\U0001f9ff" for word in SOME]  # no piece for it
    # float32 in batches of other shapes: the sixth decimal may differ
    assert np.abs(embedded.rows - expected)[embedded.known].max() < 2e-6
    assert np.abs(np.sqrt((embedded.rows**2).sum(axis=1)) - embedded.known).max() < 1e-15


def test_minilm_computes_a_word_once(
    minilm: MiniLmVectors, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, options = MemoryStore(), pickle.dumps(minilm)
    before = minilm.embed(["dog", "bus", "dog"], store)
    assert np.array_equal(before.rows[0], before.rows[2])
    monkeypatch.setattr(MiniLmVectors, "_encode", None)
    np.testing.assert_array_equal(minilm.embed(["bus", "dog"], store).rows, before.rows[[1, 0]])
    assert pickle.dumps(minilm) == options
