"""Languages: detection on hand-made sets, what is skipped, sacrebleu's tokenizers, corruptions."""

import csv
import pickle
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest

import metaeval
from metaeval.config import build, compose_config
from metaeval.data.dataset import CaptionDataset, language_of
from metaeval.data.language import detect_language
from metaeval.data.own.captions import load_own
from metaeval.metrics.base import Scorer
from metaeval.overrides import override_texts
from metaeval.runs.store import MemoryStore
from metaeval.text.tokenizers.base import get
from tests.forked import run_command, run_experiment

SETS = Path(__file__).with_name("languages")
MECAB = find_spec("MeCab") is not None
NAMES = {"german": "de", "chinese": "zh", "japanese": "ja"}


def captions(name: str) -> list[list[str]]:
    lines = (SETS / f"{name}.txt").read_text(encoding="utf-8").splitlines()
    return [line.split("\t") for line in lines]


def table(name: str, folder: Path) -> Path:
    path = folder / f"{name}.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        rows = [(k, text) for k, pair in enumerate(captions(name)) for text in pair]
        csv.writer(file).writerows([("image_id", "caption"), *rows])
    return path


@pytest.mark.parametrize("name", NAMES)
def test_the_language_is_detected(name: str, tmp_path: Path) -> None:
    path = table(name, tmp_path)
    found = [language_of(load_own(path, language=given)) for given in (None, "en")]
    assert found == [NAMES[name], "en"]


def test_english_and_what_cannot_be_told(val2017: CaptionDataset) -> None:
    assert (detect_language(val2017.human), detect_language(val2017.human[:60])) == ("en", "en")
    assert detect_language(["ein Hund", "une vache"]) is None  # too few words
    assert (detect_language(["word word word"] * 100), detect_language([])) == (None, None)


@pytest.mark.parametrize(
    ("metric", "name", "options", "reason"),
    [
        ("spice", "german", {}, "it reads captions in en, and these are in 'de'"),
        ("meteor", "chinese", {}, "it reads captions in en, and these are in 'zh'"),
        ("bleu", "german", {}, None),
        ("bleu", "chinese", {}, "its tokenizer splits at spaces"),
        ("sacrebleu", "japanese", {}, "its tokenizer splits at spaces"),
        ("bleu", "chinese", {"tokenizer": "zh"}, None),
        ("cider", "japanese", {"tokenizer": "char"}, None),
        ("sacrebleu", "chinese", {"tokenizer": "zh"}, None),
        ("random_score", "chinese", {}, None),
        pytest.param(
            *("bleu", "japanese", {"tokenizer": "ja-mecab"}, "pip install 'sacrebleu[ja]'"),
            marks=pytest.mark.skipif(MECAB, reason="MeCab is installed"),
        ),
    ],
)
def test_metrics_of_other_languages_are_absent_with_the_reason(
    metric: str, name: str, options: dict[str, str], reason: str | None, tmp_path: Path
) -> None:
    overrides = [f"metric.{metric}.{key}={value}" for key, value in options.items()]
    config = compose_config([f"metric=[{metric}]", *overrides])
    scorer = build(metric, config).scorer(load_own(table(name, tmp_path)), MemoryStore())
    if reason is None:
        assert isinstance(scorer, Scorer)
        scorer.close()
    else:
        assert reason in f"{scorer.reason}; {scorer.remedy}"
        assert scorer.remedy


@pytest.mark.parametrize(
    ("name", "module", "kind"),
    [
        ("char", "tokenizer_char", "TokenizerChar"),
        ("zh", "tokenizer_zh", "TokenizerZh"),
        pytest.param(
            *("ja-mecab", "tokenizer_ja_mecab", "TokenizerJaMecab"),
            marks=pytest.mark.skipif(not MECAB, reason="MeCab is not installed (sacrebleu[ja])"),
        ),
    ],
)
def test_tokens_are_those_of_sacrebleu(name: str, module: str, kind: str) -> None:
    texts = [text for language in NAMES for pair in captions(language) for text in pair]
    texts += ["GPT-4 写了 3.5 页", "a dog."]
    theirs = getattr(import_module(f"sacrebleu.tokenizers.{module}"), kind)()
    assert get(name)(texts) == [theirs(text).split() for text in texts]
    assert pickle.loads(pickle.dumps(get(name))) is get(name)


@pytest.mark.parametrize("parser", ["perceptron", "lexicon"])
def test_an_unrelated_chinese_caption_has_no_spice(parser: str) -> None:
    pairs = captions("chinese")
    for k in range(3):  # one is too little to tell the language by, so SPICE is not skipped
        found = metaeval.score(
            [pairs[k][0]], [[pairs[k + 7][1]]], metrics=["spice"], metric__spice__parser=parser
        )
        (column,) = [c for c in found.table if c.startswith("SPICE (")]
        assert found.table[column].tolist() == [0.0]


def test_a_run_says_the_language_and_that_nothing_was_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("METAEVAL_CACHE", str(tmp_path / "cache"))
    options = {
        "dataset": "own",
        "dataset__file": str(table("german", tmp_path)),
        "metrics": ["bleu"],
        "stats__replicates": 10,
        "report__figures": False,
    }
    overrides = ("experiment=graded", "corruption=wrong_colour", "hydra.run.dir=1")
    refused = run_command("metaeval", *overrides, *override_texts(options), cwd=tmp_path)
    assert refused.returncode == 2
    assert "changes text in en only" in refused.stderr
    run = run_experiment(
        "graded", corruption="wrong_colour", dataset__language="en", out=tmp_path / "3", **options
    )
    assert "No corruption changed a caption" in capsys.readouterr().out
    page = (run.directory / "report.html").read_text(encoding="utf-8")
    assert "No corruption changed a caption" in page
    assert "best" not in page.split("No corruption changed a caption")[1][:300]
    assert "<dt>Language</dt><dd>en (given)</dd>" in page
