"""DiscourseFOIL: long captions, with a hallucination and as people corrected them."""

from pathlib import Path

import pytest

from metaeval.data.pairs.benchmarks import load_discourse_foil
from tests.data.pairs import pair_files
from tests.data.pairs.pair_files import SAID
from tests.shared import run_here

# checked on the official file, in percent of its 199 pairs
ACCURACY = {
    "SacreBLEU": 89.7,
    "BLEU-2": 89.7,
    "ROUGE-L": 81.7,
    "CIDEr": 65.8,
    "Length": 56.8,
    "Longest copy": 82.2,
}


def test_the_corrected_caption_is_the_true_one(tmp_path: Path) -> None:
    data = load_discourse_foil(data=pair_files.discourse_foil(tmp_path))
    assert [(p.true, p.false) for p in data.pairs] == [said[1:3] for said in SAID]
    assert data.pairs[0].references == ("1. On the grass a dog runs. 2. A dog runs on the grass.",)
    assert data.pairs[0].source == "coco:139"
    assert "2 records were left out" in " ".join(data.dataset.notes)


@pytest.mark.slow
@pytest.mark.coco
def test_accuracies_on_the_real_file(coco_root: Path, tmp_path: Path) -> None:
    if not (coco_root / "discourse_foil").is_dir():
        pytest.skip("METAEVAL_DATA has no folder discourse_foil")
    result = run_here(
        tmp_path,
        "experiment=pairs",
        "dataset=discourse_foil",
        f"dataset.data={coco_root}",
        "metrics=[bleu,sacrebleu,rouge_l,cider,length,longest_copy]",
        "stats.replicates=20",
        "report=none",
    )
    assert result.facts["Pairs"] == 199
    accuracy = {
        name: result.metric(name).numbers.value(result.declared[0].key) for name in ACCURACY
    }
    assert {name: round(100 * value, 1) for name, value in accuracy.items()} == ACCURACY
