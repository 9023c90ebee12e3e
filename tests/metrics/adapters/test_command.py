"""A program as a metric: what it is given, what it may write, its environment, and a kill."""

import sys
import textwrap
import venv
from pathlib import Path

import numpy as np
import pytest

from metaeval.errors import ConfigError
from metaeval.metrics.adapters.command import KIT_PROGRAMS, CommandMetric, CommandScorer
from metaeval.runs.store import MemoryStore
from tests.metrics.adapters.adapter_cases import HUMAN, scored, scores_of, small

ALL = [0, 1, 2]
OVERLAP = """
    import json, sys
    for line in sys.stdin:
        item = json.loads(line)
        words = set(item["caption"].split())
        print(len(words & set(" ".join(item["references"]).split())) / len(words))
"""


def script(folder: Path, text: str, name: str = "score.py") -> str:
    """The command that runs a program of this text."""
    file = folder / name
    file.write_text(textwrap.dedent(text), encoding="utf-8")
    return f"'{sys.executable}' '{file}'"


EACH = "import json, sys\nfor k, _ in enumerate(sys.stdin): "


@pytest.mark.parametrize(
    ("text", "columns", "expected"),
    [
        # by hand: "A man plays baseball." shares "man" of 4; "two dogs run": 3 of 3; 5 of 5
        (OVERLAP, None, [[0.25], [1.0], [1.0]]),
        (EACH + 'print(json.dumps({"id": k, "score": k}))', None, [[0], [1], [2]]),
        (EACH + 'print(json.dumps({"B": k, "A": -k}))', ["A", "B"], [[0, 0], [-1, 1], [-2, 2]]),
        (EACH + "print([k, 2 * k])", ["A", "B"], [[0, 0], [1, 2], [2, 4]]),
        (EACH + "print([0, 'null', 'NaN'][k])", None, [[0], [np.nan], [np.nan]]),
    ],
)
def test_a_line_is_a_number_a_list_or_an_object(
    tmp_path: Path, text: str, columns: list[str] | None, expected: list[list[float]]
) -> None:
    metric = CommandMetric(script(tmp_path, text), columns=columns)
    assert metric.name == "score"
    np.testing.assert_array_equal(scores_of(metric, small(), HUMAN, ALL), expected)


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        *(({"run": run}, r"metric\.command\.run") for run in (None, " ", "a 'b")),
        *(
            ({"preset": preset}, r"^metric\.command\.preset: '.*write capevalkit:METRIC")
            for preset in ("polos", "capevalkit:", "capevalkit:a b", "kit:polos")
        ),
    ],
)
def test_a_command_or_a_preset_is_needed(options: dict[str, str | None], problem: str) -> None:
    with pytest.raises(ConfigError, match=problem):
        CommandMetric(**options)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("print(1)", "wrote 1 lines for 3 captions, not one for each"),
        ("print('1\\n2\\nthree')", "line 3 is not a number: 'three'"),
        ('print(\'{"id": 1, "score": 2}\\n\' * 3)', "wrote 4 lines"),
        ("print('\\n'.join(['{\"id\": 1, \"score\": 2}'] * 3))", "line 1 is of item 1: keep the"),
        ("import sys; sys.exit('no weights')", "exit code 1 (no weights)"),
        ("import time; time.sleep(60)", " 1 s"),
    ],
)
def test_what_is_wrong_is_said_in_a_line(tmp_path: Path, text: str, problem: str) -> None:
    metric = CommandMetric(script(tmp_path, text), timeout=1.0)
    done = scored(metric, small(), HUMAN, ALL)
    assert done.status == "failed"
    assert problem in str(done.reason)


def test_a_program_that_is_not_there_is_a_row(tmp_path: Path) -> None:
    done = scored(CommandMetric(str(tmp_path / "nothing")), small(), HUMAN, ALL)
    assert done.status == "skipped"
    assert "nothing' is not on this machine" in str(done.reason)


def test_the_signature_has_command_files_and_version(tmp_path: Path) -> None:
    text = "import sys\nif '--version' in sys.argv: sys.exit(print('score 2.1'))\n"
    metric = CommandMetric(script(tmp_path, text), version="--version")
    (first,) = metric.scorer(small()).signatures  # type: ignore[union-attr]
    assert "|version:score 2.1" in first
    script(tmp_path, text + "# changed")
    (second,) = CommandMetric(script(tmp_path, text + "#")).scorer(small()).signatures  # type: ignore[union-attr]
    files = [next(p for p in s.split("|") if p.startswith("score.py:")) for s in (first, second)]
    assert files[0] != files[1]


def test_it_runs_in_its_own_environment_and_goes_on_after_a_failure(tmp_path: Path) -> None:
    """In another virtual environment, with another numpy; the second batch fails once, and the next
    run calls the program for that batch alone."""
    venv.create(tmp_path / "other", with_pip=False)
    (packages,) = (tmp_path / "other").glob("lib/python*/site-packages")
    (packages / "numpy.py").write_text("__version__ = 'another'\n", encoding="utf-8")
    text = f"""
        import json, pathlib, sys
        import numpy
        assert numpy.__version__ == "another"
        captions = [json.loads(line)["caption"] for line in sys.stdin]
        with open({str(tmp_path / "calls")!r}, "a") as file:
            print(*captions, sep=";", file=file)
        if captions == [{HUMAN[2]!r}] and not pathlib.Path({str(tmp_path / "mended")!r}).exists():
            sys.exit("out of memory")
        for caption in captions:
            print(len(caption.split()))
    """
    script(tmp_path, text)
    python = next((tmp_path / "other").glob("bin/python"))
    metric = CommandMetric(f"'{python}' '{tmp_path / 'score.py'}'", batch_size=2, on_error="nan")
    store = MemoryStore()
    first = scored(metric, small(), HUMAN, ALL, store)
    np.testing.assert_array_equal(first.scores, [[4], [3], [np.nan]])
    (tmp_path / "mended").touch()
    (tmp_path / "calls").unlink()
    assert scored(metric, small(), HUMAN, ALL, store).scores.tolist() == [[4], [3], [5]]
    calls = (tmp_path / "calls").read_text(encoding="utf-8").splitlines()
    assert calls[0] == HUMAN[2]
    assert ";".join(HUMAN[:2]) not in calls


KIT = """
    import argparse, json
    parser = argparse.ArgumentParser()
    score = parser.add_subparsers().add_parser("score")
    score.add_argument("--metric", required=True)
    score.add_argument("--predictions", required=True)
    score.add_argument("--references")
    score.add_argument("--image-dir")
    score.add_argument("--output", required=True)
    score.add_argument("args", nargs=argparse.REMAINDER)
    given = parser.parse_args()
    assert [given.metric, *(a for a in given.args if a != "--")] == {words!r}.split()
    assert (given.references is None) == (given.metric == "fleur")
    captions = [json.loads(line) for line in open(given.predictions, encoding="utf-8")]
    for line in open(given.references, encoding="utf-8") if given.references else []:
        assert json.loads(line)["references"] == ["a"]
    assert all(c["image"].startswith("/") for c in captions)
    n = {{c["id"]: len(c["caption"]) for c in reversed(captions)}}
    none = dict.fromkeys(n, 0.0)
    json.dump({output}, open(given.output, "w"))
"""


@pytest.mark.parametrize(
    ("words", "output", "status"),
    [
        ("polos", '{"Polos": {"score": 0, "per_item": n}}', "ok"),
        ("vela --mode desc", '{"VELA": {"score": 0, "mode": "desc", "per_item": n}}', "ok"),
        ("refpacscore", '{"PAC-S": {"per_item": none}, "RefPAC-S": {"per_item": n}}', "ok"),
        ("bleu", '{"BLEU-1": {"per_item": none}, "BLEU-4": {"per_item": n}}', "ok"),
        ("fleur", '{"FLEUR": {"per_item": n}}', "ok"),
        (
            "refclipscore-vitl",
            '{"RefCLIPScore": 0, "per_item": {k: {"CLIP": 0, "RefCLIPScore": n[k]} for k in n}}',
            "ok",
        ),
        ("polos", '{"Other": {"per_item": n}}', "capevalkit wrote no score 'Polos'"),
    ],
)
def test_a_preset_is_the_command_of_capevalkit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: str, output: str, status: str
) -> None:
    """The parser and the outputs are those of capevalkit 0.1.3; so is which metrics read no
    references: FLEUR that is given some writes RefFLEUR's scores."""
    metric = CommandMetric(preset=f"capevalkit:{words}")
    assert metric.name == words.split()[0]
    text = textwrap.dedent(KIT).format(words=words, output=output)
    monkeypatch.setenv("PATH", str(tmp_path))
    for program, how in KIT_PROGRAMS.items():
        missing = f"the program '{program}' is not on this machine; {how}"
        assert str(metric.bind(small())) == missing
        (tmp_path / program).write_text(f"#!{sys.executable}\n{text}", encoding="utf-8")
        (tmp_path / program).chmod(0o755)
    monkeypatch.setattr(metric, "missing_part", lambda dataset: None)
    scorer = metric.bind(small((("a",),) * 3))
    assert isinstance(scorer, CommandScorer)
    scorer.paths = [Path("x.jpg")] * 3
    scorer.prepare()
    if status == "ok":
        assert scorer.values(list(HUMAN), np.arange(3))[:, 0].tolist() == [
            len(text) for text in HUMAN
        ]
    else:
        with pytest.raises(ValueError, match=f"^{status} for item 1$"):
            scorer.values(list(HUMAN), np.arange(3))
