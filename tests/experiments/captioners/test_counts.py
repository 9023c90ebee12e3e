"""Captions that a network cut are counted, in the printout and on the page."""

import json
from pathlib import Path

import pytest

from metaeval.config import compose_config
from metaeval.data.scenes import load_scenes
from metaeval.experiments.run import run_configured


@pytest.mark.parametrize(
    ("metric", "title", "sentences", "cut"),
    [("clipscore", "CLIPScore (scenes)", 30, True), ("bertscore", "BERTScore (MiniLM)", 30, False),
     ("bertscore", "BERTScore (MiniLM)", 80, True)],
)  # fmt: skip
def test_captions_that_were_cut_are_said_with_their_share(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], metric: str, title: str,
    sentences: int, cut: bool,
) -> None:  # fmt: skip
    """A sentence has seven tokens; CLIP reads 77 and MiniLM 512."""
    data = load_scenes(n=8)
    (tmp_path / "systems").mkdir()
    for name, text in (("short", ""), ("long", " A dog sits near a tree." * sentences)):
        captions = [
            {"image_id": i, "caption": f"{human}{text}"}
            for i, human in zip(data.image_ids, data.human, strict=True)
        ]
        (tmp_path / "systems" / f"{name}.json").write_text(json.dumps(captions))
    config = compose_config(
        ["experiment=captioners", "dataset=scenes", "dataset.n=8", f"metrics=[{metric}]",
         f"captions={tmp_path / 'systems'}", f"paths.cache={tmp_path / 'cache'}"]
    )  # fmt: skip
    run_configured(config, tmp_path / "OUT")
    said = "8 of 16 captions cut to the model's length (50.0%)"
    assert (f"{title}: {said}" in capsys.readouterr().out) == cut
    page = (tmp_path / "OUT" / "report.html").read_text(encoding="utf-8")
    assert (said.replace("'", "&#39;") in page) == cut
