"""A judge in runs of the command: files, the key, two captions, and the checker."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import pandas as pd
import pytest
from pytest_httpserver import HTTPServer

from benchmarks.loopback import LoopbackEndpoint
from metaeval.check.__main__ import check, questions
from metaeval.metrics.judge.metric import Judge
from metaeval.reports.pairs.page import write_report
from metaeval.runs.answers import ANSWERS
from tests.forked import run_command
from tests.metrics.judge.judge_cases import KEY, Served, completion

SMALL = ("report=none", "stats.replicates=20")


def _run(folder: Path, *overrides: str, code: int = 0) -> str:
    more = [f"hydra.run.dir={folder / 'run'}", f"paths.cache={folder / 'cache'}"]
    options = (*overrides, *SMALL, "metric=[judge,length]", *more)
    done = run_command("metaeval", *options, cwd=folder)
    assert done.returncode == code, done.stderr
    return done.stdout + done.stderr


def test_a_run_keeps_its_answers_and_nowhere_the_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_KEY", KEY)
    common = ("experiment=replace", "dataset=scenes", "dataset.limit=4", "metric.judge.model=m")
    with LoopbackEndpoint(0) as endpoint:
        options = (f"metric.judge.base_url={endpoint.url}", "metric.judge.api_key_env=MY_KEY")
        printed = _run(tmp_path, *common, *options, "metric.judge.image=512")
        asked = endpoint.requests
    answers = pd.read_parquet(tmp_path / "run" / ANSWERS)
    assert len(answers) == asked > 4
    assert "Judge (m)" in printed
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert len(files) > 5
    assert not [path for path in files if KEY.encode() in path.read_bytes()]
    # the image is in the request as its digest
    assert json.loads(answers["request"][0])["image"]["size"] == 512
    # without the endpoint, from the record
    (tmp_path / "again").mkdir()
    replay = (
        f"metric.judge.replay={tmp_path / 'run' / ANSWERS}",
        "metric.judge.mode=replay_or_fail",
    )
    _run(tmp_path / "again", *common, *options, *replay, "metric.judge.image=512")
    scores = [(f / "run" / "scores.parquet").read_bytes() for f in (tmp_path, tmp_path / "again")]
    assert scores[0] == scores[1]


def test_a_pairwise_judge_runs_where_two_captions_are_compared(tmp_path: Path) -> None:
    pairs = tmp_path / "pairs.jsonl"
    records = [
        {
            "image_id": f"i{k}",
            "kind": "noun",
            "true": f"a dog number {k}",
            "false": f"a cat number {k}",
            "references": [f"some dog {k}"],
        }
        for k in range(6)
    ]
    pairs.write_text("".join(json.dumps(record) + "\n" for record in records))
    with LoopbackEndpoint(0) as endpoint:
        options = (
            f"metric.judge.base_url={endpoint.url}",
            "metric.judge.model=m",
            "metric.judge.prompt=pairwise",
            "metric.judge.parser=number",
            "metric.judge.price={input: 1000, output: 2000}",
        )
        more = ("metric.judge.bounds=[0,100]",)
        _run(
            tmp_path, "experiment=pairs", "dataset=pairs", f"dataset.file={pairs}", *options, *more
        )
        assert endpoint.requests == 12  # both orders of six pairs
        page = write_report(tmp_path / "run").read_text(encoding="utf-8")
        for line in (
            "Ties between two captions",
            "Same preference in both orders",
            "Price per 1,0",
        ):
            assert f'<th scope="row">{line}' in page
        printed = _run(
            tmp_path,
            "experiment=replace",
            "dataset=scenes",
            "dataset.limit=2",
            *options,
            *more,
            code=1,
        )
    assert "it compares two captions" in printed
    assert "experiment=pairs" in printed


def test_the_checker_reports_a_judge_that_is_not_deterministic(httpserver: HTTPServer) -> None:
    numbers = itertools.count()
    served = Served(httpserver, lambda body, n: completion(str(next(numbers) % 100)))
    metric = Judge(base_url=served.url, model="m", concurrency=1)
    findings = {f.what: f for f in check(metric, questions(3))}
    assert findings["scores"].ok
    assert findings["neighbours"].ok  # of one scorer: the answers are recorded
    assert not findings["repetition"].ok


def test_the_checker_passes_a_deterministic_judge() -> None:
    with LoopbackEndpoint(0) as endpoint:
        metric = Judge(base_url=endpoint.url, model="m")
        broken = [f for f in check(metric, questions(3)) if not f.ok]
    assert not broken
