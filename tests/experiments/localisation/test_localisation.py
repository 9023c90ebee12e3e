"""Words that people marked as wrong: the change of a score without each, and its explanation."""

import re
from collections.abc import Mapping, Sequence
from contextlib import closing
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, strategies as st
from scipy.stats import mannwhitneyu

from metaeval.config import build_all, compose_config, selected
from metaeval.data.dataset import CaptionDataset
from metaeval.data.judgments.table import load_table
from metaeval.data.scenes.load import load_scenes
from metaeval.errors import ConfigError, InputError
from metaeval.experiments.localisation.explained import by_names, by_tokens, suspicion
from metaeval.experiments.localisation.task import AUC, EXPLAINED, FIRST, outcome
from metaeval.metrics.base import Metric, Scorer
from metaeval.metrics.hallucination.chair import Chair
from metaeval.metrics.spice.metric import Spice
from metaeval.overrides import override_texts
from metaeval.results.measured import MeasuredResult
from metaeval.runs import files
from tests.metrics.metric_cases import images
from tests.shared import run_here, write_json

# capitals mark the wrong words: a metric that counts them knows the truth
CAPTIONS = [
    "a DOG runs over grass", "two CATS sit on a BENCH", "the BUS is parked", "a man RIDES a horse",
    "three women HOLD umbrellas", "a plate of FISH and rice", "the sky is GREEN", "A child sleeps",
]  # fmt: skip


def marked_file(folder: Path, captions: Sequence[str] = CAPTIONS, **fields: object) -> Path:
    rows = [
        {
            "image_id": 100 + i // 2,
            "candidate": text,
            "references": ["a dog runs on the grass", "people sit in the park"],
            "grounding": [[w, len(w) > 1 and w.isupper()] for w in text.split()],
            **fields,
        }
        for i, text in enumerate(captions)
    ]
    return write_json(folder / "marked.json", rows)


@pytest.mark.parametrize("seed", range(20))
def test_auc_is_that_of_mann_and_whitney(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 15))
    wrong = rng.permutation(n) < rng.integers(1, n)
    without = rng.integers(0, 4, n) / 4  # with ties
    u = mannwhitneyu(without[wrong], without[~wrong]).statistic
    top = wrong[without == max(without)]
    expected = (u / (wrong.sum() * (~wrong).sum()), top.mean())
    # the same sum in another order
    assert outcome(0.3, without, wrong) == pytest.approx(expected, abs=1e-12)


NAN = float("nan")


@pytest.mark.parametrize(
    ("whole", "without", "expected"),
    [
        (1.0, [NAN, 0.2, 0.5], (1.0, 1.0)),
        (1.0, [NAN, 0.2, NAN], (NAN, NAN)),
        (NAN, [0.1, 0.2, 0.3], (NAN, NAN)),
    ],
)
def test_words_without_a_score_are_left_out(
    whole: float, without: list[float], expected: tuple[float, float]
) -> None:
    made = outcome(whole, np.array(without), np.array([True, False, True]))
    assert made == pytest.approx(expected, nan_ok=True)


def run(folder: Path, file: Path, *given: str, out: str = "OUT", **more: object) -> MeasuredResult:
    settings = {
        "experiment": "localisation", "dataset__file": file, "metrics": ["rouge_l", "length"],
        "stats__replicates": 100, **more,
    }  # fmt: skip
    return run_here(folder, *override_texts(settings), *given, out=out)


MODULE = """
def knows(captions):
    return [-float(sum(len(w) > 1 and w.isupper() for w in c.split())) for c in captions]

def errs(captions):
    return [-score for score in knows(captions)]
"""


@pytest.mark.parametrize(("function", "value"), [("knows", 1.0), ("errs", 0.0)])
def test_a_metric_that_knows_the_wrong_words_finds_them_all(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    function: str,
    value: float,
) -> None:
    (tmp_path / f"{function}_module.py").write_text(MODULE)
    monkeypatch.syspath_prepend(tmp_path)
    result = run(
        tmp_path, marked_file(tmp_path), "metric=[callable,length]", "metrics=[callable,length]",
        f"metric.callable.function={function}_module.{function}",
    )  # fmt: skip
    # the last caption has no wrong word
    n_words = sum(len(c.split()) for c in CAPTIONS[:7])
    assert dict(result.facts) == {"Captions": 7, "Images": 4, "Words": n_words}
    numbers, length = result.metrics[0].numbers, result.metric("Length").numbers
    chance = result.settings["chance_of_first"]
    assert numbers.facts["n"] == 7
    for key, of_length in ((AUC, 0.5), (FIRST, chance)):  # each by its own statistic
        (tested,) = result.controls[key].comparisons
        made = (numbers.value(key), length.value(key), tested.difference.value)
        assert made == pytest.approx((value, of_length, value - of_length))
    assert len(pd.read_parquet(tmp_path / "OUT" / files.CAPTIONS)) == n_words + 7
    n_wrong = sum(len(w) > 1 and w.isupper() for text in CAPTIONS for w in text.split())
    line = f"7 of 8 captions have wrong and right words; 34 words, {n_wrong} of them wrong"
    assert line in capsys.readouterr().out
    assert "wrong words, AUC" in (tmp_path / "OUT" / files.REPORT).read_text(encoding="utf-8")


def one_marked(folder: Path, **record: object) -> Path:
    return write_json(folder / "marked.json", [{"image_id": 1, "candidate": "a dog", **record}])


@pytest.mark.parametrize(
    ("record", "message"),
    [
        ({"words": [["a", False]]}, "words': has 1 entries, and the candidate 2 words"),
        ({"words": [["a", 0], ["cat", 1]]}, "words': 'cat' is marked where the candidate has 'dog"),
        ({"words": [[None, 0], ["dog", 0]]}, "words': [None, 0] is not [word, true or false]"),
        ({"words": [["a", 2], ["dog", 0]]}, "words': ['a', 2] is not [word, true or false]"),
        ({"words": [0.5, 1]}, "words': 0.5 is not"),
        ({"words": "dog"}, "words': is not a list with an entry a word"),
        # a control character becomes a space: two words
        ({"candidate": "a\u0007dog", "words": [True]}, "has 1 entries, and the candidate 2 words"),
    ],
)
def test_marks_that_do_not_fit_are_refused(
    tmp_path: Path, record: dict[str, object], message: str
) -> None:
    with pytest.raises(InputError, match=rf"field '.*{re.escape(message)}"):
        load_table(one_marked(tmp_path, **record))


def test_marks_of_no_caption_are_refused(tmp_path: Path) -> None:
    rows = [{"image_id": 1, "candidate": "a", "words": [0]}, {"image_id": 1, "words": [0]}]
    with pytest.raises(InputError, match=r"\[1\], field 'candidate': is missing"):
        load_table(write_json(tmp_path / "marked.json", rows))


@pytest.mark.parametrize("higher", [True, False])
def test_marks_are_ratings_where_there_are_none(tmp_path: Path, higher: bool) -> None:
    for fields, expected in (({}, [(higher - 1.0,)] * 7 + [(float(higher),)]),
                             ({"rating": 3}, [(3.0 if higher else -3.0,)] * 8)):  # fmt: skip
        data = load_table(marked_file(tmp_path, **fields), higher_is_better=higher)
        assert [j.human["human"] for j in data.judged] == expected
    for text in ("a dog", "a\u0007dog"):
        flags = one_marked(tmp_path, candidate=text, words=[0, 1])
        assert load_table(flags).judged[0].wrong == (False, True)


def test_captions_without_marks_are_one_line(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"needs captions with marked words.*dataset\.fields"):
        run(tmp_path, one_marked(tmp_path, human=1))
    for captions in (CAPTIONS[7:], ["DOGS RUN"]):
        with pytest.raises(ConfigError, match="no caption has both wrong and right words"):
            run(tmp_path, marked_file(tmp_path, captions))


def explanation(metric: Metric, data: CaptionDataset, caption: str) -> Mapping[str, Any]:
    scorer = metric.bind(data)
    if not isinstance(scorer, Scorer):
        pytest.skip(str(scorer))
    with closing(scorer):
        scorer.prepare()
        return scorer.explain(caption, 0)


@pytest.mark.parametrize(
    ("metric", "reference", "expected"),
    [
        # cat, bench, cat-black, bench-red, cat-sit on-bench; of which only the bench is in the
        # reference's graph (dog, bench, dog-black, dog-sit on-bench)
        (Spice(parser="perceptron"), "A black dog sits on a bench.",
         {"The": 0, "black": 1, "cats": 1, "sit": 1, "on": 1, "a": 0, "red": 1, "bench.": 2 / 3}),
        # the second mention of an animal is right; "hot dog" is one mention of two words
        (Chair(truth=["references"]), "two dogs by a tree",
         {"A": 0, "Cat,": 1, "dogs": 0, "and": 0, "a": 0, "hot": 1, "dog!": 1}),
    ],
    ids=["tuples", "objects"],
)  # fmt: skip
def test_explanations_by_hand(metric: Metric, reference: str, expected: dict[str, float]) -> None:
    words = list(expected)
    values = suspicion(words, explanation(metric, images([[reference]]), " ".join(words)))
    assert values.tolist() == pytest.approx(list(expected.values()))


@pytest.mark.parametrize(
    ("words", "names", "expected"),
    [
        *(([word, "other"], [(name, 1.0)], [1.0, 0.0]) for word, name in (
            ("Women's", "woman"), ("(possibly", "possibly"), ('"Dare', "dare"), ("riding,", "ride"),
            ("skis.", "ski"), ("babies", "baby"), ("men", "man"), ("dogs'", "dog"),
        )),
        # a word of two names has their mean
        (["bear", "teddy"], [("bear", 0.0), ("teddy bear", 1.0)], [0.5, 1.0]),
    ],
)  # fmt: skip
def test_names_are_found_by_lemma_and_without_punctuation(
    words: list[str], names: list[tuple[str, float]], expected: list[float]
) -> None:
    assert by_names(words, names, lemmas=True).tolist() == expected


# against the reference that counts, the second; "skiing" is two tokens, "rock" is unknown
ALIGNMENT = {
    "kind": "alignment",
    "words": ["[CLS]", "a", "ski", "##ing", "[UNK]", "!", "[SEP]"],
    "weights": [0, 1, 1, 0.5, 1, 1, 0],
    "references": [
        {"similarity": [[1.0]] * 7},
        {"similarity": [
            [0.1] * 2, [0.9, 0.2], [0.3, 0.8], [0.4, 0.1], [0.5, 0.5], [0.0, 0.0], [0.1] * 2,
        ]},
    ],
    "best": 1,
}  # fmt: skip
MATCHES = {
    "kind": "matches",
    "words": ["<start>", "a", "dog", "run", "<end>"],
    "matches": [[0.9, 0.9], [0.2, 0.3], [0.7, 0.1], [-0.5, -0.2], [0.9, 0.9]],
}
# the dog costs .15 for .75 of the mass; the article is not in the plan
PLAN = {
    "words": [{"word": "dog", "mass": 0.75}, {"word": "cat", "mass": 0.25}],
    "flows": [{"word": w, "cost": c} for w, c in (("dog", 0.1), ("dog", 0.05), ("cat", 0))],
}


@pytest.mark.parametrize(
    ("words", "payload", "expected"),
    [
        # 1 - .9; the higher of 1 - .8 and half of 1 - .4; 1 - .5, and the "!" is no letter
        ("A skiing rock!", ALIGNMENT, [0.1, 0.3, 0.5]),
        ("A dog-run", MATCHES, [0.7, 1.2]),
        ("A dog cat", {"kind": "transport", "plans": {"VIFIDEL": PLAN}}, [0, 0.2, 0]),
        ("of the", {"kind": "transport", "plans": {}}, [0, 0]),
        ("a", {"kind": "grounding"}, None),
    ],
)
def test_payloads_by_hand(
    words: str, payload: Mapping[str, Any], expected: list[float] | None
) -> None:
    values = suspicion(words.split(), payload)
    assert (values if values is None else values.tolist()) == pytest.approx(expected)


TEXT = st.text(st.sampled_from("abcéÄñß0ç'-.,"), min_size=1, max_size=8)


@given(st.lists(st.tuples(TEXT, st.lists(st.integers(1, 7)), st.booleans()), max_size=6), st.data())
def test_tokens_fall_into_their_words(
    drawn: list[tuple[str, list[int], bool]], data: st.DataObject
) -> None:
    """Words are cut at random places; each token keeps the number of the word that it is from."""
    words, losses, expected = [], [("[CLS]", 99.0)], []
    for word, places, marked in drawn:
        cuts = [0, *sorted({p for p in places if p < len(word)}), len(word)]
        pieces = [word[a:b] for a, b in pairwise(cuts)]
        numbers = [data.draw(st.floats(0.1, 1)) for _ in pieces]
        words.append(word.upper() if marked and word.upper().lower() == word else word)
        losses += [
            (f"##{piece}" if k and marked else piece, number)
            for k, (piece, number) in enumerate(zip(pieces, numbers, strict=True))
        ]
        lettered = [n for p, n in zip(pieces, numbers, strict=True) if any(c.isalnum() for c in p)]
        expected.append(max(lettered, default=0.0))
    assert by_tokens(words, [*losses, ("[SEP]", 99.0)]).tolist() == expected


@pytest.fixture(scope="module")
def real() -> Mapping[str, Metric]:
    """Metrics as the configuration makes them for drawn scenes."""
    names = "bertscore,faier,vifidel,spice,chair,tiger"
    config = compose_config(["dataset=scenes", f"metrics=[{names}]"])
    return build_all(selected(config), config)


@pytest.mark.parametrize(
    ("name", "kind"),
    [("bertscore", "alignment"), ("faier", "matches"), ("vifidel", "transport"),
     ("spice", "tuples"), ("chair", "objects"), ("tiger", None)],
)  # fmt: skip
def test_real_explanations_suspect_the_word_that_is_wrong(
    real: Mapping[str, Metric], name: str, kind: str | None
) -> None:
    """A reference of the image with one noun that names nothing in it."""
    scene = load_scenes(limit=6).subset([1])
    words = scene.references[0][0].rstrip(".").split()
    known = {w for text in scene.references[0] for w in text.lower().split()}
    noun = next(w for w in ("elephant", "train", "pizza") if w not in known)
    caption = " ".join([*words, "near", "a", noun])
    payload = explanation(real[name], scene, caption)
    values = suspicion(caption.split(), payload)
    if name == "tiger":
        assert values is None  # its explanation is not of words
        return
    assert (payload["kind"], values.max() > values.min()) == (kind, True)
    assert values[-1] > values[-2] or kind in ("alignment", "matches")  # these look at articles
    assert values[-1] == values.max() or kind == "transport"  # some objects are close to the noun


# capitals mark the wrong words; only they are objects that no reference mentions
OBJECTS = ["a dog on a BED", "a dog with a CAT", "A TRAIN near a tree", "the dog eats PIZZA"]


def run_on_objects(folder: Path, *metrics: str, **more: object) -> MeasuredResult:
    file = marked_file(folder, OBJECTS, references=["a dog runs", "a brown dog by a tree"])
    return run(folder, file, metrics=list(metrics), **more)


def test_a_run_scores_the_explanations_of_metrics_that_have_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    result = run_on_objects(tmp_path, "rouge_l", "chair", "length")
    explained = {m.name: m.numbers[EXPLAINED] for m in result.metrics
                 if EXPLAINED in m.numbers.values}  # fmt: skip
    chair = explained.pop("CHAIR-i (references)")
    assert (chair.value, chair.n, chair.interval, explained) == (1.0, 4, None, {})
    assert list(result.controls) == [AUC, FIRST, EXPLAINED]
    (tested,) = result.controls[EXPLAINED].comparisons
    length = result.metric("Length").numbers.value(AUC)
    # two images: no permutation test can reach .05
    assert (tested.b, tested.difference.value, result.controls[EXPLAINED].shows) == (
        "Length", pytest.approx(1 - length), "undecidable",
    )  # fmt: skip
    assert EXPLAINED in {m.key for m, _ in result.measures(result.metric("CHAIR-i (references)"))}
    printed = capsys.readouterr().out
    assert "no intervals and no tests by resampling: too few images (2 < 10)" in printed
    tex = (tmp_path / "OUT" / "tables" / "signatures.tex").read_text(encoding="utf-8")
    assert "ontology:coco" in tex


def test_captions_that_cannot_be_scored_have_no_explanation(tmp_path: Path) -> None:
    """No image of these has objects: FAIEr and VIFIDEL score nothing. No control is compared."""
    result = run_on_objects(tmp_path, "faier", "vifidel", "rouge_l", report="none")
    values = [m.statistics.values for m in result.metrics if m.statistics]
    assert (result.controls, [EXPLAINED for of in values if EXPLAINED in of]) == ({}, [])
