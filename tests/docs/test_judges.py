"""The commands of docs/judges.md, run unchanged against an endpoint on loopback."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from tests.loopback import LoopbackEndpoint

ROOT = Path(__file__).parents[2]
ENDPOINT = "https://api.openai.com/v1"
KEY = "sk-secret-of-the-test"


def flickr8k(folder: Path) -> None:
    """Five images with five captions each, and eight captions rated by three experts."""
    folder.mkdir(parents=True)
    tokens = [f"{i}.jpg#{k}\tA {w} in picture {k} ." for i, w in NOUNS.items() for k in range(5)]
    (folder / "Flickr8k.token.txt").write_text("\n".join(tokens) + "\n")
    pairs = [(i, j) for i in NOUNS for j in NOUNS if i < j][:8]
    ratings = [f"{i}.jpg\t{j}.jpg#2\t{1 + k % 3}\t{1 + k % 4}\t4" for k, (i, j) in enumerate(pairs)]
    (folder / "ExpertAnnotations.txt").write_text("\n".join(ratings) + "\n")


NOUNS = {"a": "dog", "b": "cat", "c": "man", "d": "bus", "e": "house"}


def block(heading: str) -> str:
    """The shell commands below a heading."""
    text = (ROOT / "docs" / "judges.md").read_text(encoding="utf-8")
    part = text[text.index(f"## {heading}\n") :]
    found = re.search(r"```bash\n(.*?)```", part, re.DOTALL)
    assert found is not None
    return found[1]


@pytest.mark.slow
def test_from_a_key_to_a_table_in_ten_lines(tmp_path: Path) -> None:
    """Everything but the installation; the address, the model and the key are those of the test."""
    script = block("From a key to a table")
    assert len(script.splitlines()) <= 12
    assert script.startswith("pip install")
    flickr8k(tmp_path / "data" / "flickr8k")
    script = script.partition("\n")[2].replace("MODEL", "m").replace("KEY=…", f"KEY={KEY}")
    with LoopbackEndpoint(0) as endpoint:
        here = f'set -e\npython() {{ {sys.executable} "$@"; }}\n'
        done = subprocess.run(
            ["bash", "-c", here + script.replace(ENDPOINT, endpoint.url)],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, "METAEVAL_DATA": str(tmp_path / "data"), "PYTHONPATH": str(ROOT)},
        )
        requests = endpoint.requests
    assert done.returncode == 0, done.stderr
    printed = done.stdout + done.stderr
    assert re.search(r"dry run: \d+ calls, about [\d,]+ tokens", printed)
    assert "nothing was sent" in printed
    answers = pd.read_parquet(tmp_path / "runs" / "judge" / "answers.parquet")
    assert requests == len(answers) > 0  # the dry run and the replay sent nothing
    tables = re.findall(r"^Judge \(m\) .*$", done.stdout, re.MULTILINE)
    assert len(tables) == 2
    assert tables[0] == tables[1]
    assert not [p for p in tmp_path.rglob("*") if p.is_file() and KEY.encode() in p.read_bytes()]
