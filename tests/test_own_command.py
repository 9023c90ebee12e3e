"""What users bring, through the command: metrics, plug-ins, folders of configuration."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

import metaeval
from metaeval.data.scenes import load_scenes
from metaeval.errors import ConfigError
from metaeval.experiments.fitted import IMAGE, REFERENCES, TEXT
from metaeval.experiments.graded.task import CEILING_COLUMN as CEILING
from metaeval.metrics.base import ScoreColumn
from metaeval.runs import files
from metaeval.scoring import refuse_equal_columns
from tests.forked import run_command

SMALL = ("dataset=scenes", "dataset.limit=12", "stats.replicates=20")
MODULE = """
def words(captions):
    return [len(c.split()) for c in captions]

def breaks(captions):
    return helper(captions)

def helper(captions):
    raise RuntimeError("the tenth bolt is loose")

def spoil(caption, rng):
    return " ".join(caption.split()[::-1])

def load():
    from metaeval.data.scenes import load_scenes
    return load_scenes(limit=7)
"""


def command(*arguments: str, cwd: Path, code: int = 0) -> subprocess.CompletedProcess[str]:
    done = run_command(*arguments, cwd=cwd)
    assert done.returncode == code, done.stderr
    return done


def statuses(out: Path) -> list[tuple[str, str]]:
    records = files.read_run_json(out / files.STATISTICS)["metrics"]
    return [(r["column"]["name"], r["status"]) for r in records]


def test_a_failing_metric_leaves_its_traceback_and_a_line(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(MODULE)
    done = command(
        "metaeval",
        "experiment=replace",
        *SMALL,
        "metric=[rouge_l,callable]",
        "report=none",
        "metric.callable.function=mine.breaks",
        "hydra.run.dir=OUT",
        cwd=tmp_path,
    )
    line = "metaeval: breaks failed: RuntimeError: the tenth bolt is loose (the traceback is in"
    assert [text for text in done.stderr.splitlines() if text.startswith(line)]
    assert "Traceback" not in done.stderr
    log = (tmp_path / "OUT/metaeval.log").read_text()
    for text in ("in helper", "RuntimeError: the tenth bolt is loose"):
        assert text in log
    assert statuses(tmp_path / "OUT") == [("ROUGE-L", "ok"), ("breaks", "failed")]


def test_two_columns_of_one_name_are_refused_before_any_work(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(MODULE)
    done = command(
        "metaeval",
        "experiment=replace",
        *SMALL,
        "metric=[cider,callable]",
        "metric.callable.function=mine.words",
        "metric.callable.name=CIDEr",
        "hydra.run.dir=OUT",
        cwd=tmp_path,
        code=2,
    )
    assert done.stderr == (
        "metaeval: two columns are called 'CIDEr', of the metrics 'cider' and 'callable': give one "
        "another name, or leave one out\n"
    )
    assert not (tmp_path / "OUT" / files.CAPTIONS).exists()
    refuse_equal_columns([("a", [ScoreColumn("x")]), ("b", [ScoreColumn("y")])])


@pytest.mark.parametrize("name", ["Fitted text", "Fitted references", "Fitted image", "Ceiling"])
def test_the_names_of_controls_that_runs_compute_are_refused(name: str) -> None:
    assert name in {TEXT, REFERENCES, IMAGE, CEILING.name}
    with pytest.raises(ConfigError, match=rf"metric\.scores: '{name}' is the name of a control"):
        refuse_equal_columns([("scores", [ScoreColumn(name)])])


def test_without_metrics_a_run_writes_what_is_to_be_scored(tmp_path: Path) -> None:
    done = command(
        "metaeval", "experiment=replace", *SMALL, "metrics=[]", "hydra.run.dir=OUT", cwd=tmp_path
    )
    path = tmp_path / "OUT/captions_to_score.jsonl"
    records = [json.loads(line) for line in path.read_text().splitlines()]
    captions = files.read_run_table(tmp_path / "OUT" / files.CAPTIONS)
    asked = set(zip(captions["image_id"], captions["caption"], strict=True))
    assert {(r["image_id"], r["caption"]) for r in records} == asked
    assert len(records) == len(asked)  # each item once
    assert {len(r["references"]) for r in records} == {4}
    assert f"{len(records)} captions to score: " in done.stdout
    assert not (tmp_path / "OUT" / files.SCORES).exists()


def _install(folder: Path) -> None:
    """A package with entry points, as pip leaves it."""
    (folder / "brought_package.py").write_text(MODULE)
    info = folder / "brought_package-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: brought-package\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        "[metaeval.metrics]\nbrought_words = brought_package:words\n"
        "[metaeval.corruptions]\nbrought_corruption = metaeval.corruptions.graded.shuffle:Reverse\n"
        "[metaeval.datasets]\nbrought_dataset = brought_package:load\n"
    )


def test_an_installed_package_makes_its_metric_a_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site, work = tmp_path / "site", tmp_path / "work"
    site.mkdir()
    work.mkdir()
    _install(site)
    paths = [str(site), *filter(None, [os.environ.get("PYTHONPATH")])]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(paths))
    listed = command("metaeval", "list", "metrics", cwd=work)
    (line,) = (text for text in listed.stdout.splitlines() if text.startswith("brought_words"))
    said = line.split("  ", 1)[1].strip()
    assert said == "brought_package:words, of the installed package brought-package"
    command(
        "metaeval",
        "experiment=graded",
        "dataset=brought_dataset",
        "corruption=brought_corruption",
        "metrics=[rouge_l,brought_words]",
        "report=none",
        "stats.replicates=20",
        "hydra.run.dir=OUT",
        cwd=work,
    )
    records = files.read_run_json(work / "OUT" / files.STATISTICS)["metrics"]
    assert [r["statistics"]["facts"]["n"] for r in records] == [14, 14]
    assert statuses(work / "OUT") == [("ROUGE-L", "ok"), ("words", "ok")]


def test_a_folder_with_users_configuration(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(MODULE)
    (tmp_path / "conf/metric").mkdir(parents=True)
    (tmp_path / "conf/metric/long.yaml").write_text(
        "# @package metric.long\n# how long it is\n"
        "_target_: metaeval.metrics.adapters.function.FunctionMetric\n"
        "function: mine.words\nname: Long\n"
    )
    listed = command("metaeval", "list", "metrics", "--config-dir", "conf", cwd=tmp_path)
    assert "how long it is" in listed.stdout
    command(
        "metaeval",
        "--config-dir",
        "conf",
        "experiment=replace",
        *SMALL,
        "metrics=[rouge_l,long]",
        "report=none",
        "hydra.run.dir=OUT",
        cwd=tmp_path,
    )
    assert statuses(tmp_path / "OUT") == [("ROUGE-L", "ok"), ("Long", "ok")]


def test_lists_are_quick_and_complete(tmp_path: Path) -> None:
    for what, some in (
        ("metrics", {"bleu", "cider", "callable"}),
        ("corruptions", {"replace", "mixture", "truth_replace_object"}),
        ("datasets", {"coco_val2017", "scenes", "own"}),
        ("experiments", {"replace", "judgments", "captioners"}),
    ):
        done = command("metaeval", "list", what, cwd=tmp_path)
        names = {line.split()[0]: line.split()[1:] for line in done.stdout.splitlines()}
        assert some <= set(names)
        assert all(names.values()), [n for n, words in names.items() if not words]
    command("metaeval", "list", "metric", cwd=tmp_path, code=2)


@pytest.mark.slow
def test_images_without_captions_are_for_systems_captions(tmp_path: Path) -> None:
    """Metrics of images score them; those of references are skipped, and no system is compared."""
    scenes = load_scenes(limit=4)
    (tmp_path / "images").mkdir()
    for i in scenes.image_ids:
        shutil.copy(scenes.part("images").path(i), tmp_path / "images")
    (tmp_path / "systems").mkdir()
    for name, texts in (("people", scenes.human), ("nobody", ("a thing",) * 4)):
        records = [
            {"image_id": i, "caption": text}
            for i, text in zip(scenes.image_ids, texts, strict=True)
        ]
        (tmp_path / "systems" / f"{name}.json").write_text(json.dumps(records))
    (tmp_path / "mine.py").write_text(
        "def size(captions, images):\n"
        "    import os\n"
        "    return [len(c) / os.path.getsize(i) for c, i in zip(captions, images)]\n"
    )
    command(
        "metaeval",
        "experiment=captioners",
        "dataset=own",
        "dataset.images=images",
        "captions=systems",
        "metric=[rouge_l,callable,length]",
        "stats.replicates=20",
        "metric.callable.function=mine.size",
        "hydra.run.dir=OUT",
        cwd=tmp_path,
    )
    statistics = files.read_run_json(tmp_path / "OUT" / files.STATISTICS)
    metrics = {m["column"]["name"]: (m["status"], m["reason"]) for m in statistics["metrics"]}
    assert metrics["ROUGE-L"] == ("skipped", "none of the images has a reference")
    sizes = [scenes.part("images").path(i).stat().st_size for i in scenes.image_ids]
    expected = sum(len("a thing") / size for size in sizes) / 4
    size = statistics["systems"]["size"]["scores"]["nobody"]["value"]
    assert size == pytest.approx(expected, rel=1e-12)
    assert (tmp_path / "OUT" / files.REPORT).is_file()
    spoil = command(
        "metaeval",
        "experiment=shuffle",
        "dataset=own",
        "dataset.images=images",
        "hydra.run.dir=OUT2",
        cwd=tmp_path,
        code=2,
    )
    assert spoil.stderr.startswith("metaeval: the images of images have no captions to corrupt;")
    scores = metaeval.score(
        dict.fromkeys(scenes.image_ids, "a thing"), images=tmp_path / "images", metrics=["rouge_l"]
    )
    assert scores.skipped == {"rouge_l": "skipped: none of the images has a reference"}


def test_a_run_directory_that_cannot_be_made_is_one_line(tmp_path: Path) -> None:
    given = ("experiment=replace", *SMALL, "hydra.run.dir=/proc/x")
    done = command("metaeval", *given, cwd=tmp_path, code=2)
    assert done.stderr == "metaeval: /proc/x: No such file or directory\n"


def test_a_parameter_called_citation_is_refused(tmp_path: Path) -> None:
    """`citation` of a metric's configuration are keys of a bibliography, never passed to it."""
    (tmp_path / "mine.py").write_text(
        "from metaeval.metrics.ngram.bleu import Bleu\n"
        "class Mine(Bleu):\n"
        "    def __init__(self, citation='x'):\n"
        "        super().__init__()\n"
    )
    (tmp_path / "conf" / "metric").mkdir(parents=True)
    node = "# @package metric.mine\n# a metric\n_target_: mine.Mine\ncitation: [y]\n"
    (tmp_path / "conf" / "metric" / "mine.yaml").write_text(node)
    done = command(
        "metaeval",
        "--config-dir",
        "conf",
        "experiment=replace",
        *SMALL,
        "metric=[mine]",
        "hydra.run.dir=OUT",
        cwd=tmp_path,
        code=2,
    )
    assert done.stderr == (
        "metaeval: metric.mine: mine.Mine has a parameter 'citation', the name of what to cite; "
        "rename the parameter\n"
    )
