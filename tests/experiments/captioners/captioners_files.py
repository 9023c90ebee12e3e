"""A small finished run of `experiment=captioners`, made by the experiment itself."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from metaeval.experiments.run import run_configured
from tests.shared import composed, write_captions, write_json

HOSTILE = "</script><img src=x onerror=window.pwned=1> & \"quoted\" 'text'"
REFERENCES = (
    ("A dog runs on the grass.", "The dog is running.", "A brown dog.", "Dog outside.", "A dog."),
    ("Two cats on a red sofa.", "Cats sleep on a sofa.", "A sofa with cats.", "Two cats.", "Cats."),
    ("A man rides a wave.", "A surfer on a wave.", "Surfing man.", "A man surfs.", "Big wave."),
    ("A plate of pasta.", "Pasta with sauce.", "Food on a plate.", "A meal.", "Noodles."),
    (HOSTILE, "A sign.", "A street sign.", "Text on a sign.", "A red sign."),
)
SYSTEMS: Mapping[str, Sequence[str | None]] = {
    "good": ("a dog runs on grass", "two cats sleep on a sofa", "a man surfs a wave",
             "a plate of pasta with sauce", "a red street sign"),
    "fair": ("a dog", "a cat on a sofa", "a man on a wave", "a plate of food", HOSTILE),
    "<b>poor": ("a cat runs", "a red car", None, "a man and a dog", "a street"),
    "mute": ("", "a thing", "a thing", "a thing", "a thing"),
}  # fmt: skip


def write_captioners_run(folder: Path, copies: int = 4, *overrides: str) -> Path:
    """Run on `copies` times five images; the run's directory, without a report."""
    images = [(5 * k + i, i) for k in range(copies) for i in range(len(REFERENCES))]
    captions = {image: [f"{text} {image}" for text in REFERENCES[i]] for image, i in images}
    write_captions(folder / "captions_tiny.json", captions)
    files = {}
    for number, (name, texts) in enumerate(SYSTEMS.items()):
        results = [
            {"image_id": image, "caption": f"{text} {image}" if text else ""}
            for image, i in images
            if (text := texts[i]) is not None
        ]
        files[name] = str(write_json(folder / f"{number}.json", results))
    config = composed(
        folder, "experiment=captioners", "dataset=coco",
        f"dataset.captions={folder}/captions_tiny.json",
        "metric=[bleu,rouge_l,cider,clipscore]", "controls=[]", "report=none",
        "stats.replicates=50", "stats.tie_seeds=2", "task.permutations=200", *overrides,
    )  # fmt: skip
    config.captions = files  # such names cannot be written on a command line
    run_configured(config, folder / "run")
    return folder / "run"
