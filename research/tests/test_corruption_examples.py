"""The page of examples is what its command writes, and leaves no corruption out."""

import re
from itertools import groupby
from pathlib import Path

import pytest

from metaeval.data.scenes import load_scenes
from metaeval.experiments.sensitivity.task import suite
from research.corruption_audit.examples import SCENES, section, write_examples

EACH = 2  # on the page of the repository
PAGE = Path(__file__).parents[2] / "docs" / "corruption_examples.md"


def test_every_corruption_has_its_examples() -> None:
    made = {c.name: c.expected for c in suite(load_scenes(n=1))}
    sections = PAGE.read_text(encoding="utf-8").split("\n### ")[1:]
    named = {}
    for text in sections:
        name = re.search(r"\(`(\w+)`\)", text)
        facts = re.search(r"\n(harms|harmless); .*; made in ([\d,]+) of 1,000 captions\.\n", text)
        assert name is not None, text[:80]
        assert facts is not None, text[:80]
        effect, n_made = facts[1], int(facts[2].replace(",", ""))
        named[name[1]] = {"harms": "lower", "harmless": "same"}[effect]
        assert text.count("\n- ") == min(EACH, n_made), name[1]
    assert named == made


def test_a_section_is_what_the_command_writes() -> None:
    data, page = load_scenes(n=SCENES), PAGE.read_text(encoding="utf-8")
    chosen = suite(data, ["white_space", "typos", "truth_replace_count"])
    for _, levels in groupby(chosen, key=lambda c: c.name):
        assert "\n".join(section(list(levels), data, EACH)) in page


@pytest.mark.slow
def test_the_page_is_what_the_command_writes(tmp_path: Path) -> None:
    write_examples(tmp_path / "page.md", EACH)
    assert (tmp_path / "page.md").read_bytes() == PAGE.read_bytes()
