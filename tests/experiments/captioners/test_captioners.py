"""`experiment=captioners` as a user runs it: files, numbers, messages, the same bytes."""

from __future__ import annotations

import csv
import json
import re
import subprocess
from pathlib import Path

import numpy as np
import pytest

from metaeval.config import compose_config
from metaeval.data.coco.load import load_coco
from metaeval.errors import MetaevalError
from metaeval.experiments.captioners.printout import printout
from metaeval.experiments.captioners.scores import with_all_references
from metaeval.experiments.captioners.task import Captioners
from metaeval.experiments.run import run as carry_out
from metaeval.metrics.base import Scorer
from metaeval.metrics.ngram.bleu import Bleu, BleuScorer
from metaeval.metrics.ngram.cider import Cider
from metaeval.results.captioners import CaptionersResult, CaptionersStatistics
from metaeval.results.files import read_result
from metaeval.runs import files as results
from metaeval.stats.correlation.rank_order import rank_order
from metaeval.stats.significance.comparison import holm
from metaeval.stats.significance.paired_bootstrap import system_score
from tests.forked import run_command

FAST = ("stats.replicates=60", "task.permutations=300", "stats.tie_seeds=2")
TEXT_ONLY = "metrics=[bleu,sacrebleu,rouge_l,cider,clipscore]"
N, LACKING = 200, 10  # images of the run; those that one system is made to lack
SYSTEMS = ["ersan", "gat", "magic", "nucleus_lm", "ssg", "updown", "zerocap"]


def metaeval(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run the command with a cache of its own below `cwd`."""
    environment = {"METAEVAL_CACHE": str(cwd / "cache")}
    return run_command("metaeval", "experiment=captioners", *arguments, cwd=cwd, env=environment)


# ---- the real captioners on a sample of the Karpathy test images ----


@pytest.fixture(scope="module")
def karpathy(coco_root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the run directories `one` and `two`, of one command run twice."""
    folder = tmp_path_factory.mktemp("models")
    (folder / "systems").mkdir()
    for file in sorted((coco_root / "coco/captioners").glob("*.json")):
        found = json.loads(file.read_text())
        if file.stem == "magic":  # 18 images are missing, none of them among the first
            first = sorted(r["image_id"] for r in found)[:N]
            found = [r for r in found if r["image_id"] not in first[:: N // LACKING]]
        (folder / "systems" / file.name).write_text(json.dumps(found))
    for out in ("one", "two"):
        done = metaeval(
            "dataset=coco_karpathy_test", "captions=systems",
            f"dataset.limit={N}", TEXT_ONLY, *FAST, f"hydra.run.dir={out}", cwd=folder,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        (folder / f"{out}.txt").write_text(done.stdout)
    return folder


@pytest.mark.coco
def test_images_left_out_are_no_mistake_of_a_systems_file(karpathy: Path) -> None:
    done = metaeval(
        "dataset=coco_karpathy_test", "dataset.exclude=val2017", "captions=systems",
        "dataset.limit=20", "metrics=[cider]", "report=none", *FAST, "hydra.run.dir=less",
        cwd=karpathy,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    notes = results.read_json(karpathy / "less" / results.RUN)["dataset"]["notes"]
    assert any(re.fullmatch(r"ersan: \d+ captions of images left out, not read.", n) for n in notes)


def result_of(run: Path) -> CaptionersResult:
    result = read_result(run / results.STATISTICS)
    assert isinstance(result, CaptionersResult)
    return result


def numbers(run: Path, metric: str) -> CaptionersStatistics:
    return result_of(run).metric(metric).numbers


@pytest.mark.coco
def test_same_command_same_bytes_and_nothing_scored_twice(karpathy: Path) -> None:
    names = (
        *(results.CAPTIONS, results.REFERENCES, results.SCORES, results.STATISTICS),
        *("against_human/scores.parquet", "disagreement.csv"),
    )
    for name in names:
        assert (karpathy / "one" / name).read_bytes() == (karpathy / "two" / name).read_bytes()
    for out, column in (("one", "n_scored"), ("two", "n_cached")):
        timing = results.read_json(karpathy / out / results.RUN)["metrics"]
        done = {m["metric"]: m[column] for m in timing if "clipscore" not in m["metric"]}
        assert len(done) == 8
        assert all(n > 6 * N for n in done.values()), done  # 7 systems, without what two say


@pytest.mark.coco
def test_missing_images_are_named_and_left_out(karpathy: Path) -> None:
    systems = {s.name: s for s in result_of(karpathy / "one").systems}
    assert list(systems) == SYSTEMS
    assert systems["magic"].n == N - LACKING
    assert systems["magic"].n_missing == LACKING
    assert systems["updown"].n_missing == 0
    printed = (karpathy / "one.txt").read_text()
    assert f"magic has no caption of {LACKING} of them" in printed
    assert "updown has no caption" not in printed
    cider = numbers(karpathy / "one", "CIDEr")
    assert cider.systems["magic"].n == N - LACKING
    for pair in cider.neighbours.pairs:
        assert pair.n == (N - LACKING if "magic" in (pair.a, pair.b) else N)
    scores = results.read_table(karpathy / "one" / results.SCORES)
    assert (scores["set"] == "magic").sum() == (N - LACKING) * 7


@pytest.mark.coco
def test_corpus_scores_and_means_are_kept_separate(karpathy: Path, coco_root: Path) -> None:
    dataset = load_coco(
        "coco", captions=coco_root / "coco/annotations/captions_karpathy_test.json", limit=N
    )
    found = json.loads((coco_root / "coco/captioners/updown.json").read_text())
    captions = {r["image_id"]: r["caption"] for r in found}
    everyone = with_all_references(dataset)
    assert {len(references) for references in everyone.references} == {5}
    bleu = Bleu()
    scorer = bleu.bind(everyone)
    assert isinstance(scorer, BleuScorer)
    scorer.prepare()
    rows = scorer.statistics([captions[i] for i in dataset.image_ids], np.arange(N))
    corpus = system_score(rows, lambda sums: bleu.of_statistics(sums, corpus=True))
    mean = bleu.of_statistics(rows).mean(axis=0)
    for k in range(4):
        one = numbers(karpathy / "one", f"BLEU-{k + 1} (corpus)")
        two = numbers(karpathy / "one", f"BLEU-{k + 1} (mean of sentences)")
        assert one.systems["updown"].value == corpus[k]
        assert two.systems["updown"].value == pytest.approx(mean[k], abs=1e-12)
    assert abs(corpus[3] - mean[3]) > 0.05


@pytest.mark.coco
def test_neighbours_are_corrected_within_a_ranking(karpathy: Path) -> None:
    for r in (m.numbers for m in result_of(karpathy / "one").metrics if m.ok):
        pairs = r.neighbours.pairs
        assert tuple(p.a for p in pairs) == r.ranking[:-1]
        assert tuple(p.b for p in pairs) == r.ranking[1:]
        values = [r.systems[name].value or 0.0 for name in r.ranking]
        assert values == sorted(values, reverse=True)
        for k, method in enumerate(("permutation", "bootstrap")):
            tests = [p.tests[k] for p in pairs]
            assert {t.method for t in tests} == {method}
            raw = [t.p if t.p is not None else np.nan for t in tests]
            assert [t.p_adjusted for t in tests] == holm(raw).tolist()


@pytest.mark.coco
def test_a_star_is_about_the_next_system_of_the_ranking(karpathy: Path) -> None:
    """Columns are in the order of mean ranks; where a metric ranks otherwise, a star says nothing
    of the next column, and the line below says so."""
    result = result_of(karpathy / "one")
    lines = printout(result, Path("x")).splitlines()
    names = result.by_mean_rank()
    for metric, line in zip(result.scores, lines[1:], strict=False):
        cells = re.findall(r"(?<= )(\S+?)(\*?)(?= |$)", line.removeprefix(metric.name))
        stars = {name for name, (_, star) in zip(names, cells, strict=True) if star}
        pairs = metric.numbers.neighbours.pairs
        assert stars == {
            p.a for p in pairs if p.tests[0].p_adjusted is not None and p.tests[0].p_adjusted < 0.05
        }
    assert "next by this metric (which need not be the next column)" in "\n".join(lines)


@pytest.mark.coco
def test_the_text_only_language_model_is_last(karpathy: Path) -> None:
    """What it says is not of the image, so no metric may prefer it."""
    for r in (m.numbers for m in result_of(karpathy / "one").metrics if m.ok):
        assert r.ranking[-1] == "nucleus_lm"
        # 200 captions have few matches of three or four words
        if r.sentence_column not in ("BLEU-3", "BLEU-4"):
            assert r.is_ahead(len(r.ranking) - 2)


@pytest.mark.coco
def test_against_human_is_the_papers_statistic(karpathy: Path, coco_root: Path) -> None:
    """Two levels, the four other references on both sides, on the images that both have."""
    dataset = load_coco(
        "coco", captions=coco_root / "coco/annotations/captions_karpathy_test.json", limit=N
    )
    found = json.loads((karpathy / "systems/magic.json").read_text())
    captions = {r["image_id"]: r["caption"] for r in found}
    images = np.array([i for i, name in enumerate(dataset.image_ids) if name in captions])
    cider = Cider().bind(dataset)
    assert isinstance(cider, Scorer)
    cider.prepare()
    machine = cider.score([captions[dataset.image_ids[i]] for i in images], images)
    human = cider.score([dataset.human[i] for i in images], images)
    expected = rank_order(np.concatenate([machine, human], axis=1), [0, 1])
    duels = {m.name: m.numbers for m in result_of(karpathy / "one").against_human if m.ok}
    magic = duels["CIDEr"].systems["magic"]
    rho = magic.rank_order_rho
    assert rho.value == pytest.approx(expected.rho, abs=1e-12)
    assert rho.interval is not None
    assert rho.interval[0] < expected.rho < rho.interval[1]
    assert magic.human_mean == pytest.approx(human.mean(), abs=1e-12)
    assert magic.n == len(images) == N - LACKING
    # people beat a text-only model easily
    assert (duels["CIDEr"].systems["nucleus_lm"].rank_order_rho.value or 0.0) > 0.5


@pytest.mark.coco
def test_agreement_and_disagreement(karpathy: Path) -> None:
    result = result_of(karpathy / "one")
    assert result.agreement is not None
    within = result.agreement.within_image
    names = ("BLEU-1", "BLEU-2", "BLEU-3", "BLEU-4", "SacreBLEU", "ROUGE-L", "CIDEr")
    assert within.metrics == names
    tau = np.array([[e.value for e in row] for row in within.tau_b])
    np.testing.assert_array_equal(tau, tau.T)
    assert (np.diag(tau) == 1).all()
    low, high = np.moveaxis(np.array([[e.interval for e in row] for row in within.tau_b]), 2, 0)
    assert (low <= tau).all()
    assert (tau <= high).all()
    assert result.disagreement.votes == ("BLEU-4", "SacreBLEU", "ROUGE-L", "CIDEr")
    rows = list(csv.DictReader((karpathy / "one/disagreement.csv").open()))
    values = [float(r["disagreement"]) for r in rows if r["disagreement"]]
    assert len(rows) == N
    assert result.disagreement.mean == pytest.approx(np.mean(values), abs=1e-12)


@pytest.mark.coco
def test_a_skipped_metric_is_recorded_and_printed(karpathy: Path) -> None:
    skipped = result_of(karpathy / "one").metric("CLIPScore")
    assert skipped.status == "skipped"
    assert skipped.reason
    assert skipped.statistics is None
    text = (karpathy / "one.txt").read_text()
    assert "not run: clipscore (skipped)" in text
    assert "BLEU-4 (corpus)" in text
    assert "BLEU-4 (mean of sentences)" in text


# ---- what can be wrong, on a dataset of six images ----

CAPTIONS = ("A dog runs.", "The dog is running on grass.", "A brown dog.", "Dog in a park.", "Run!")


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    """A folder with six images' captions in COCO's format, and results files of two systems."""
    ids = range(1, 7)
    annotations = [
        {"id": 10 * i + k, "image_id": i, "caption": f"{text} {i}"}
        for i in ids
        for k, text in enumerate(CAPTIONS)
    ]
    coco = {"images": [{"id": i} for i in ids], "annotations": annotations}
    (tmp_path / "captions_tiny.json").write_text(json.dumps(coco))
    parrot = [{"image_id": i, "caption": f"{CAPTIONS[1]} {i}"} for i in ids]
    (tmp_path / "parrot.json").write_text(json.dumps(parrot))
    (tmp_path / "bad.json").write_text(json.dumps([parrot[0], parrot[0]]))
    (tmp_path / "far.json").write_text(json.dumps(parrot[5:]))
    mute = [{"image_id": i, "caption": "a thing"} for i in (1, 2, 3)]
    mute.append({"image_id": 4, "caption": ""})
    (tmp_path / "mute.json").write_text(json.dumps(mute))
    return tmp_path


def run(folder: Path, captions: str, *overrides: str) -> Path:
    """One run in this process; its directory."""
    config = compose_config(
        [
            "experiment=captioners", "dataset=coco",
            f"dataset.captions={folder}/captions_tiny.json",
            "metrics=[bleu,rouge_l]", "report=none", f"paths.cache={folder}/cache", *FAST,
            captions, *overrides,
        ]
    )  # fmt: skip
    carry_out(Captioners(config.task.permutations), config, folder / "out")
    return folder / "out"


def test_names_are_given_and_images_outside_the_run_left_aside(
    tiny: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = f"captions={{Best: {tiny}/parrot.json, mute: {tiny}/mute.json}}"
    out = run(tiny, given, "dataset.limit=4")
    systems = {s.name: s for s in result_of(out).systems}
    assert systems["Best"].n_other_images == 2
    assert systems["mute"].n_missing == 0
    assert systems["mute"].n_empty == 1
    assert systems["Best"].mean_rank == 1
    best = numbers(out, "BLEU-1 (corpus)")
    assert best.ranking == ("Best", "mute")
    # word for word a reference; the constants of BLEU leave some 1e-10 to 1
    assert best.systems["Best"].value == pytest.approx(1, abs=1e-9)
    dataset = results.read_json(out / results.RUN)["dataset"]
    assert "mute: 1 caption is empty." in dataset["notes"]
    assert dataset["systems"]["Best"] == {"read": 6, "used": 4, "left_out": 2, "refused": 0}
    assert "systems: 10 records read, 8 used, 2 left out" in capsys.readouterr().out


def test_one_system_has_no_neighbours(tiny: Path) -> None:
    out = run(tiny, f"captions={tiny}/parrot.json")
    assert numbers(out, "ROUGE-L").neighbours.pairs == ()
    assert result_of(out).disagreement.mean is None


def test_too_few_permutations_are_reported(tiny: Path, caplog: pytest.LogCaptureFixture) -> None:
    given = f"captions=[{tiny}/parrot.json,{tiny}/mute.json]"
    run(tiny, given)
    assert "permutations" not in caplog.text
    run(tiny, given, "task.permutations=50", "stats.confidence=0.99")
    assert "with 50 permutations no difference can be shown at 0.01" in caplog.text


@pytest.mark.parametrize(
    ("captions", "more", "message"),
    [
        ("captions=null", "seed=0", "give the systems' captions: captions=FOLDER"),
        ("captions=gone.json", "seed=0", "gone.json: file not found"),
        (
            "captions={{Human: {0}/parrot.json}}",
            "seed=0",
            "'Human' is the name of people's",
        ),
        (
            "captions={0}/bad.json",
            "seed=0",
            "bad.json, record 1, field 'image_id': 1 occurs twice",
        ),
        ("captions={0}/far.json", "dataset.limit=4", "far.json: has no caption of any image of"),
        ("captions={0}/parrot.json", "task.permutations=0", "permutations: 0 is not in [1, "),
        ("captions={0}/parrot.json", "metrics=[blue]", "unknown metric 'blue'"),
    ],
)
def test_bad_input_is_refused_before_anything_is_scored(
    tiny: Path, captions: str, more: str, message: str
) -> None:
    with pytest.raises(MetaevalError, match=re.escape(message)) as caught:
        run(tiny, captions.format(tiny), more)
    assert caught.value.exit_code == 2
    assert "\n" not in str(caught.value)
    assert not (tiny / "out" / results.SCORES).exists()


def test_the_command_says_one_line_and_exits_with_2(tiny: Path) -> None:
    done = metaeval(
        "dataset=coco", "dataset.captions=captions_tiny.json", "captions=bad.json", cwd=tiny
    )
    assert done.returncode == 2
    assert done.stderr.splitlines() == [
        "metaeval: bad.json, record 1, field 'image_id': 1 occurs twice: record 0 has it too"
    ]
