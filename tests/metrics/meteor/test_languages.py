"""METEOR in other languages: the jar's own command is the oracle."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import numpy as np
import pytest

from metaeval.data.dataset import Absent, CaptionDataset
from metaeval.metrics.meteor.metric import PARAMETERS, Meteor, find_installation

LANGUAGES = Path(__file__).parents[2] / "data" / "languages"
GERMAN = [
    line.split("\t")
    for line in (LANGUAGES / "german.txt").read_text(encoding="utf-8").splitlines()
    if line.strip()
]
IDS = tuple(range(len(GERMAN)))
HUMAN = tuple(first for first, *_ in GERMAN)
# each image has two references: its own second caption and the next image's
REFERENCES = tuple(
    (own, following)
    for (_, own), (_, following) in zip(GERMAN, [*GERMAN[1:], GERMAN[0]], strict=True)
)
DATASET = CaptionDataset("german", IDS, HUMAN, REFERENCES, IDS, HUMAN, language="de")
CAPTIONS = [*HUMAN[:12], *(own for _, own in GERMAN[12:24]), *HUMAN[24:]]  # some match wholly

INSTALLATION = find_installation()
pytestmark = pytest.mark.skipif(isinstance(INSTALLATION, Absent), reason=str(INSTALLATION))


def ours(metric: Meteor, captions: list[str], dataset: CaptionDataset = DATASET) -> np.ndarray:
    scorer = metric.bind(dataset)
    scorer.prepare()
    try:
        return scorer.score(captions, np.arange(len(captions)))[:, 0]
    finally:
        scorer.close()


def jar(folder: Path, language: str) -> tuple[list[float], float]:
    """Segment scores and the final score of the jar's plaintext command."""
    hypotheses, references = folder / "hypotheses", folder / "references"
    hypotheses.write_text("\n".join(CAPTIONS) + "\n", encoding="utf-8")
    lines = [text for texts in REFERENCES for text in texts]
    references.write_text("\n".join(lines) + "\n", encoding="utf-8")
    command = [INSTALLATION.java.executable, "-Dfile.encoding=UTF-8", "-jar", INSTALLATION.jar]
    options = ["-r", "2", "-norm", "-m", "exact stem", "-l", language]
    done = subprocess.run(
        [*command, hypotheses, references, *options],
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=True,
    )
    segments = re.findall(r"^Segment \d+ score:\s+(\S+)$", done.stdout, re.MULTILINE)
    final = re.search(r"^Final score:\s+(\S+)$", done.stdout, re.MULTILINE)
    return [float(score) for score in segments], float(final[1])


@pytest.mark.parametrize("language", sorted(PARAMETERS.keys() - {"en"}))
def test_scores_are_the_jars(language: str, tmp_path: Path) -> None:
    """The texts are German: function words and stems differ by language, and so do the scores."""
    expected, final = jar(tmp_path, language)
    metric = Meteor(tokenizer="none", language=language)  # type: ignore[arg-type]
    scores = ours(metric, CAPTIONS)
    assert len(expected) == len(CAPTIONS)
    np.testing.assert_allclose(scores, expected, atol=1e-12)  # the same arithmetic in another order
    scorer = metric.bind(DATASET)
    scorer.prepare()
    sums = scorer.statistics(CAPTIONS, np.arange(len(CAPTIONS))).sum(axis=0, keepdims=True)
    scorer.close()
    assert metric.of_statistics(sums, corpus=True)[0, 0] == pytest.approx(final, abs=1e-12)


def test_languages_differ_and_stems_match() -> None:
    data = CaptionDataset("de", (0,), ("x",), (("zwei Hunde spielen",),), (0,), ("x",))
    stem = ours(Meteor(language="de"), ["zwei Hund spielt"], data)[0]
    exact = ours(Meteor(language="de"), ["zwei Katzen schlafen"], data)[0]
    assert 0 < exact < stem < 1
    assert ours(Meteor(language="de"), [""], data).tolist() == [0.0]
    bare = CaptionDataset("de", (0, 1), HUMAN[:2], ((), REFERENCES[1]), (0, 1), HUMAN[:2])
    assert np.isnan(ours(Meteor(language="de"), ["zwei", "drei"], bare)).tolist() == [True, False]


def test_the_column_and_the_signature_say_what_matches() -> None:
    metric = Meteor(language="de")
    (column,) = metric.columns
    assert (column.name, column.variant_of) == ("METEOR (de, exact and stem)", "METEOR")
    bound = metric.bind(DATASET)
    (signature,) = bound.signatures
    assert "lang:de" in signature
    assert "modules:exact+stem" in signature
    assert "table:" not in signature
    english = Meteor().bind(DATASET)
    assert "table:" in english.signatures[0]
    assert Meteor().columns[0].name == "METEOR"


def test_captions_in_another_language_name_the_option() -> None:
    absent = Meteor().scorer(DATASET)
    assert absent.remedy == "metric.meteor.language=de"
    assert not isinstance(Meteor(language="de").scorer(DATASET), Absent)
    english = Meteor(language="fr").scorer(DATASET)
    assert english.remedy == "metric.meteor.language=de"
