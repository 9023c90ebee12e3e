"""The blocks of docs/own.md, executed in their order as somebody would paste them."""

import os
import re
import shlex
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import pytest

from metaeval.runs import files
from tests.forked import run_command

PAGE = Path(__file__).parents[2] / "docs/own.md"
# the same commands on a few scenes, so that they take seconds
SMALL = ["dataset.limit=12", "stats.replicates=20"]
SCENES = ["dataset=scenes"]


class Block(NamedTuple):
    """A fenced block: its language, the words of the comment above it, its text.

    `<!-- run -->`: it is executed; `<!-- file=NAME -->`: it is what the file NAME holds.
    """

    language: str
    words: dict[str, str]
    text: str


def blocks() -> list[Block]:
    fence = re.compile(r"(?:^<!-- ([^\n]*) -->\n)?^```(\w+)\n(.*?)^```$", re.M | re.S)
    return [
        Block(language, {w.partition("=")[0]: w.partition("=")[2] for w in words.split()}, text)
        for words, language, text in fence.findall(PAGE.read_text("utf-8"))
    ]


def _shell(line: str, folder: Path, runs: int) -> Path:
    """Run a command of the page; where it wrote."""
    words = shlex.split(line.replace("\\\n", " "))
    assert words[:2] == ["python", "-m"], line
    arguments = words[3:]
    out = folder / f"run{runs}"
    if arguments[:1] == ["check"]:
        arguments.append("--images=3")
    elif words[2] == "metaeval":
        own = any(a.startswith("dataset=") for a in arguments)
        arguments += SMALL if own else [*SMALL, *SCENES]
        page = runs == 1 or "report." in line  # of another command it is the same
        arguments.append("report.figures=false" if page else "report=none")
        if not any(a.startswith("hydra.run.dir=") for a in arguments):
            arguments.append(f"hydra.run.dir={out}")
    done = run_command(words[2], *arguments, cwd=folder)
    assert done.returncode == 0, f"{line}\n{done.stdout}\n{done.stderr}"
    return out


@pytest.mark.slow
def test_every_block_of_the_page_runs(tmp_path: Path) -> None:
    seen: dict[str, str] = {}
    ran = 0
    for block in blocks():
        if (name := block.words.get("file")) is not None:
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(block.text, encoding="utf-8")
        if "run" not in block.words:
            continue
        if (needs := block.words.get("needs")) is not None and find_spec(needs) is None:
            continue
        ran += 1
        if block.language == "python":
            done = subprocess.run(
                [sys.executable, "-c", block.text],
                cwd=tmp_path,
                env={**os.environ, "METAEVAL_CACHE": str(tmp_path / "cache")},
                capture_output=True,
                text=True,
            )
            assert done.returncode == 0, f"{block.text}\n{done.stderr}"
            continue
        out = _shell(block.text.strip(), tmp_path, ran)
        assert ran > 1 or (out / files.REPORT).is_file()
        if (out / files.STATISTICS).is_file():
            records = files.read_run_json(out / files.STATISTICS)["metrics"]
            seen |= {record["column"]["name"]: record["status"] for record in records}
    assert ran >= 12
    own = {"my_score", "Cider", "My score", "Overlap"}
    if find_spec("torchmetrics") is not None:
        own.add("CHRFScore")
    assert own <= set(seen)
    assert set(seen.values()) == {"ok"}
