"""A judge that is a real model: `transformers serve` on loopback, asked by the command."""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import pandas as pd
import pytest
from transformers import AutoTokenizer

from metaeval.results.files import read_judges
from metaeval.runs import files
from metaeval.runs.answers import ANSWERS
from tests.metrics.judge.tiny_model import save_tiny_model

_PROGRAM = shutil.which("transformers", path=str(Path(sys.executable).parent))
_NEEDED = ("accelerate", "fastapi", "openai", "uvicorn")
_MISSING = [name for name in _NEEDED if find_spec(name) is None]
_START = 180  # seconds; about 30 on an idle machine
_MOST_TOKENS = 2

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(_PROGRAM is None, reason="the command 'transformers' is not installed"),
    pytest.mark.skipif(bool(_MISSING), reason=f"not installed: {', '.join(_MISSING)}"),
]


class Server(NamedTuple):
    """A running endpoint, and the folder of its model."""

    url: str
    model: Path


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("served")
    save_tiny_model(folder / "model")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [str(_PROGRAM), "serve", str(folder / "model"), "--host", "127.0.0.1"]
    more = ["--port", str(port), "--device", "cpu"]
    environment = {**os.environ, "HF_HUB_OFFLINE": "1"}
    log = folder / "log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [*command, *more], env=environment, stdout=output, stderr=subprocess.STDOUT
        )
    try:
        _wait(process, port, log)
        yield Server(f"http://127.0.0.1:{port}/v1", folder / "model")
    finally:
        process.terminate()
        process.wait(30)


def _wait(process: subprocess.Popen[bytes], port: int, log: Path) -> None:
    """Return when the port accepts connections."""
    end = time.monotonic() + _START
    while time.monotonic() < end:
        assert process.poll() is None, log.read_text(errors="replace")[-2000:]
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            time.sleep(0.5)
        else:
            return
    pytest.fail(f"the server did not start: {log.read_text(errors='replace')[-2000:]}")


def test_a_served_model_is_a_judge(server: Server, tmp_path: Path) -> None:
    """Captions, tokens and unparsed answers, counted here by the tokenizer and by hand."""
    options = [
        "experiment=replace",
        "dataset=scenes",
        "dataset.limit=6",
        "metric=[judge,length]",
        f"metric.judge.base_url={server.url}",
        f"metric.judge.model={server.model}",
        f"metric.judge.max_tokens={_MOST_TOKENS}",
        "metric.judge.title=Tiny",
        "metric.judge.concurrency=2",
        "metric.judge.price={input: 1000, output: 2000}",
        "report=none",
        "stats.replicates=20",
        f"hydra.run.dir={tmp_path / 'run'}",
        f"paths.cache={tmp_path / 'cache'}",
    ]
    done = subprocess.run(
        [sys.executable, "-m", "metaeval", *options], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    answers = pd.read_parquet(tmp_path / "run" / ANSWERS)
    captions = pd.read_parquet(tmp_path / "run" / files.CAPTIONS)
    asked = captions.drop_duplicates(["image_id", "caption"])
    expected_items = set(zip(asked.image_id.astype(str), asked.caption, strict=True))
    assert set(zip(answers.image_id, answers.caption, strict=True)) == expected_items
    assert len(answers) == len(expected_items) >= 6

    tokenizer = AutoTokenizer.from_pretrained(server.model)
    for request, n in zip(answers.request, answers.prompt_tokens, strict=True):
        messages = json.loads(request)["messages"]
        text = tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
        assert len(tokenizer(text, add_special_tokens=False)["input_ids"]) == n
    assert answers.completion_tokens.between(1, _MOST_TOKENS).all()
    assert (answers.seconds > 0).all()

    # at most two digits: each number is in bounds
    numbers = [re.match(r"\s*(\d+)", text) for text in answers.answer]
    expected = pd.Series([float(m[1]) if m else float("nan") for m in numbers])
    assert expected.isna().any()
    assert expected.notna().any()
    pd.testing.assert_series_equal(answers.score, expected, check_names=False)

    (judge,) = read_judges(tmp_path / "run" / files.JUDGES).judges
    assert (judge.judge, judge.captions, judge.answers) == ("Tiny", len(answers), len(answers))
    assert judge.unparsed == expected.isna().sum()
    thousand = 1000 / len(answers)
    assert judge.input_tokens == pytest.approx(answers.prompt_tokens.sum() * thousand)
    dollars = (1000 * answers.prompt_tokens + 2000 * answers.completion_tokens) / 1e6
    assert judge.usd == pytest.approx(dollars.sum() * thousand)

    scores = pd.read_parquet(tmp_path / "run" / files.SCORES)
    table = captions.merge(scores[scores.metric == "Tiny"], on=["image_id", "set", "level"])
    known = dict(zip(zip(answers.image_id, answers.caption, strict=True), expected, strict=True))
    given = [known[str(i), c] for i, c in zip(table.image_id, table.caption, strict=True)]
    pd.testing.assert_series_equal(table.score, pd.Series(given), check_names=False)
