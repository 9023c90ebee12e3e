"""Which words the explanations of scores suspect: hand-worked captions, real scorers, a run."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from metaeval.config import build_all, compose_config, override_texts, selected
from metaeval.data.dataset import CaptionDataset
from metaeval.data.scenes.load import load_scenes
from metaeval.experiments.localisation.explained import by_names, by_tokens, suspicion
from metaeval.experiments.localisation.task import AUC, EXPLAINED, FIRST
from metaeval.metrics.base import Metric, Scorer
from metaeval.metrics.hallucination.chair import Chair
from metaeval.metrics.spice.metric import Spice
from metaeval.results.measured import MeasuredResult
from tests.shared import run_here, write_json


def dataset(*references: str) -> CaptionDataset:
    return CaptionDataset("toy", (1,), ("a caption",), (references,), (1,), ("a caption",))


def explanation(metric: Metric, data: CaptionDataset, caption: str) -> Mapping[str, Any]:
    scorer = metric.bind(data)
    if not isinstance(scorer, Scorer):
        pytest.skip(str(scorer))
    scorer.prepare()
    try:
        explained = scorer.explain(caption, 0)
    finally:
        scorer.close()
    return explained


def suspected(metric: Metric, data: CaptionDataset, caption: str) -> dict[str, float]:
    words = caption.split()
    values = suspicion(words, explanation(metric, data, caption))
    return dict(zip(words, values.tolist(), strict=True))


def test_tuples_by_hand() -> None:
    """Caption: cat, bench, cat-black, bench-red, cat-sit on-bench; of which only the bench is in
    the reference's graph (dog, bench, dog-black, dog-sit on-bench)."""
    spice = Spice(parser="perceptron")
    data = dataset("A black dog sits on a bench.")
    caption = "The black cats sit on a red bench."
    assert suspected(spice, data, caption) == pytest.approx(
        {"The": 0, "black": 1, "cats": 1, "sit": 1, "on": 1, "a": 0, "red": 1, "bench.": 2 / 3}
    )


def test_objects_by_hand() -> None:
    """The second mention of an animal is right; "hot dog" is one mention of two words."""
    chair = Chair(truth=["references"])
    data = dataset("two dogs by a tree")
    caption = "A Cat, dogs and a hot dog!"
    assert suspected(chair, data, caption) == {
        "A": 0, "Cat,": 1, "dogs": 0, "and": 0, "a": 0, "hot": 1, "dog!": 1
    }  # fmt: skip


def test_a_word_of_two_names_has_their_mean() -> None:
    words = ["bear", "teddy"]
    assert by_names(words, [("bear", 0.0), ("teddy bear", 1.0)]).tolist() == [0.5, 1.0]


@pytest.mark.parametrize(
    ("word", "name"),
    [("Women's", "woman"), ("(possibly", "possibly"), ('"Dare', "dare"), ("riding,", "ride"),
     ("skis.", "ski"), ("babies", "baby"), ("men", "man"), ("dogs'", "dog")],
)  # fmt: skip
def test_names_are_found_by_lemma_and_without_punctuation(word: str, name: str) -> None:
    assert by_names([word, "other"], [(name, 1.0)], lemmas=True).tolist() == [1.0, 0.0]


def test_alignment_by_hand() -> None:
    """Against the reference that counts, the second; "skiing" is two tokens, "rock" is unknown."""
    words = ["[CLS]", "a", "ski", "##ing", "[UNK]", "!", "[SEP]"]
    similarity = [[0.1] * 2, [0.9, 0.2], [0.3, 0.8], [0.4, 0.1], [0.5, 0.5], [0.0, 0.0], [0.1] * 2]
    payload = {
        "kind": "alignment",
        "words": words,
        "weights": [0, 1, 1, 0.5, 1, 1, 0],
        "references": [{"similarity": [[1.0]] * 7}, {"similarity": similarity}],
        "best": 1,
    }
    # 1 - .9; the higher of 1 - .8 and half of 1 - .4; 1 - .5, and the "!" is no letter
    values = suspicion(["A", "skiing", "rock!"], payload)
    assert values.tolist() == pytest.approx([0.1, 0.3, 0.5])


def test_matches_by_hand() -> None:
    payload = {
        "kind": "matches",
        "words": ["<start>", "a", "dog", "run", "<end>"],
        "matches": [[0.9, 0.9], [0.2, 0.3], [0.7, 0.1], [-0.5, -0.2], [0.9, 0.9]],
    }
    assert suspicion(["A", "dog-run"], payload).tolist() == pytest.approx([0.7, 1.2])


def test_transport_by_hand() -> None:
    """The dog costs .15 for .75 of the mass; the article is not in the plan."""
    flows = [
        {"word": "dog", "cost": 0.1},
        {"word": "dog", "cost": 0.05},
        {"word": "cat", "cost": 0},
    ]
    masses = [{"word": "dog", "mass": 0.75}, {"word": "cat", "mass": 0.25}]
    payload = {"kind": "transport", "plans": {"VIFIDEL": {"words": masses, "flows": flows}}}
    assert suspicion(["A", "dog", "cat"], payload).tolist() == pytest.approx([0, 0.2, 0])
    nothing = {"kind": "transport", "plans": {}}
    assert suspicion(["of", "the"], nothing).tolist() == [0, 0]
    assert suspicion(["a"], {"kind": "grounding"}) is None


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
     ("spice", "tuples"), ("chair", "objects")],
)  # fmt: skip
def test_real_explanations_suspect_the_word_that_is_wrong(
    real: Mapping[str, Metric], name: str, kind: str
) -> None:
    """A reference of the image with one noun that names nothing in it."""
    scene = load_scenes(limit=6, seed=3).subset([0])
    words = scene.references[0][0].rstrip(".").split()
    known = {w for text in scene.references[0] for w in text.lower().split()}
    noun = next(w for w in ("elephant", "train", "pizza") if w not in known)
    caption = " ".join([*words, "near", "a", noun])
    payload = explanation(real[name], scene, caption)
    values = suspicion(caption.split(), payload)
    assert payload["kind"] == kind
    assert values[-1] > values[-2] or kind in ("alignment", "matches")  # these look at articles
    assert values[-1] == values.max() or kind == "transport"  # some objects are close to the noun
    assert values.max() > values.min()


def test_tiger_tells_of_no_words(real: Mapping[str, Metric]) -> None:
    scene = load_scenes(limit=6, seed=3).subset([0])
    payload = explanation(real["tiger"], scene, scene.human[0])
    assert suspicion(scene.human[0].split(), payload) is None


# ---- a run ---------------------------------------------------------------------------------------

# capitals mark the wrong words; only they are objects that no reference mentions
CAPTIONS = ["a dog on a BED", "a dog with a CAT", "A TRAIN near a tree", "the dog eats PIZZA"]


def marked_file(folder: Path) -> Path:
    rows = [
        {
            "image_id": k,
            "candidate": text,
            "references": ["a dog runs", "a brown dog by a tree"],
            "words": [len(w) > 1 and w.isupper() for w in text.split()],
        }
        for k, text in enumerate(CAPTIONS)
    ]
    return write_json(folder / "marked.json", rows)


def run(folder: Path, *metrics: str) -> MeasuredResult:
    settings = {
        "experiment": "localisation", "dataset__file": marked_file(folder),
        "metrics": list(metrics), "stats__replicates": 100, "task__permutations": 200,
    }  # fmt: skip
    return run_here(folder, *override_texts(settings))


def test_a_run_scores_the_explanations_of_metrics_that_have_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    result = run(tmp_path, "rouge_l", "chair", "length")
    chair = result.metric("CHAIR-i (references)").numbers[EXPLAINED]
    assert (chair.value, chair.n, chair.interval) == (1.0, 4, None)
    others = ("ROUGE-L", "Length", "CHAIR-s (references)")
    assert not any(EXPLAINED in result.metric(name).numbers.values for name in others)
    assert list(result.controls) == [AUC, FIRST, EXPLAINED]
    (tested,) = result.controls[EXPLAINED].comparisons
    length = result.metric("Length").numbers.value(AUC)
    assert tested.difference.value == pytest.approx(1 - length)
    # four images: no permutation test can reach .05
    assert (result.controls[EXPLAINED].shows, tested.b) == ("undecidable", "Length")
    assert EXPLAINED in {m.key for m, _ in result.measures(result.metric("CHAIR-i (references)"))}
    printed = capsys.readouterr().out
    assert "no intervals and no tests by resampling: too few images (4 < 10)" in printed
    tex = (tmp_path / "OUT" / "tables" / "signatures.tex").read_text(encoding="utf-8")
    assert "ontology:coco" in tex


def test_without_a_control_nothing_is_compared_with_one(tmp_path: Path) -> None:
    assert not run(tmp_path, "rouge_l", "chair").controls


def test_captions_that_cannot_be_scored_have_no_explanation(tmp_path: Path) -> None:
    """No image of these has objects: FAIEr and VIFIDEL score nothing."""
    result = run(tmp_path, "faier", "vifidel", "rouge_l")
    for metric in result.metrics:
        assert metric.statistics is None or EXPLAINED not in metric.statistics.values
