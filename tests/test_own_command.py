"""What users bring, through the command: metrics, plug-ins, folders of configuration."""

import json
import os
import shutil
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
from tests.forked import command
from tests.shared import write_texts

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


def statuses(out: Path) -> list[tuple[str, str]]:
    records = files.read_run_json(out / files.STATISTICS)["metrics"]
    return [(r["column"]["name"], r["status"]) for r in records]


def test_a_failing_metric_leaves_its_traceback_and_a_line(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(MODULE)
    done = command(
        "experiment=replace",
        *SMALL,
        "metric=[rouge_l,callable]",
        "report=none",
        "metric.callable.function=mine.breaks",
        "hydra.run.dir=OUT",
        cwd=tmp_path,
    )
    line = "\nmetaeval: breaks failed: RuntimeError: the tenth bolt is loose (the traceback is in"
    assert (line in f"\n{done.stderr}", "Traceback" in done.stderr) == (True, False)
    log = (tmp_path / "OUT/metaeval.log").read_text()
    texts = ("in helper", "RuntimeError: the tenth bolt is loose")
    assert [text in log for text in texts] == [True, True]
    assert statuses(tmp_path / "OUT") == [("ROUGE-L", "ok"), ("breaks", "failed")]


CITED = """
from metaeval.metrics.ngram.bleu import Bleu
class Mine(Bleu):
    def __init__(self, citation='x'):
        super().__init__()
"""


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["metric=[cider,callable]", "metric.callable.function=mine.words",
             "metric.callable.name=CIDEr", "hydra.run.dir=OUT"],
            "two columns are called 'CIDEr', of the metrics 'cider' and 'callable': give one "
            "another name, or leave one out",
        ),
        (["hydra.run.dir=/proc/x"], "/proc/x: No such file or directory"),
        (  # `citation` of a metric's configuration are keys of a bibliography, never passed to it
            ["--config-dir", "conf", "metric=[cited]", "hydra.run.dir=OUT"],
            "metric.cited: cited.Mine has a parameter 'citation', the name of what to cite; rename "
            "the parameter",
        ),
    ],
    ids=["columns", "directory", "citation"],
)  # fmt: skip
def test_what_is_refused_is_one_line_before_any_work(
    arguments: list[str], message: str, tmp_path: Path
) -> None:
    node = "# @package metric.cited\n# a metric\n_target_: cited.Mine\ncitation: [y]\n"
    texts = {"mine.py": MODULE, "cited.py": CITED, "conf/metric/cited.yaml": node}
    write_texts(tmp_path, texts)
    done = command(*arguments, "experiment=replace", *SMALL, cwd=tmp_path, code=2)
    assert done.stderr == f"metaeval: {message}\n"
    assert not (tmp_path / "OUT" / files.CAPTIONS).exists()


@pytest.mark.parametrize("name", ["Fitted text", "Fitted references", "Fitted image", "Ceiling"])
def test_the_names_of_controls_that_runs_compute_are_refused(name: str) -> None:
    assert name in {TEXT, REFERENCES, IMAGE, CEILING.name}
    with pytest.raises(ConfigError, match=rf"metric\.scores: '{name}' is the name of a control"):
        refuse_equal_columns([("scores", [ScoreColumn(name)])])


def test_without_metrics_a_run_writes_what_is_to_be_scored(tmp_path: Path) -> None:
    done = command("experiment=replace", *SMALL, "metrics=[]", "hydra.run.dir=OUT", cwd=tmp_path)
    path = tmp_path / "OUT/captions_to_score.jsonl"
    records = [json.loads(line) for line in path.read_text().splitlines()]
    captions = files.read_run_table(tmp_path / "OUT" / files.CAPTIONS)
    asked = captions[["image_id", "caption"]].drop_duplicates().itertuples(index=False, name=None)
    assert sorted((r["image_id"], r["caption"]) for r in records) == sorted(asked)  # each once
    assert {len(r["references"]) for r in records} == {4}
    assert f"{len(records)} captions to score: " in done.stdout
    assert not (tmp_path / "OUT" / files.SCORES).exists()


INFO = "brought_package-1.0.dist-info"
# a package with entry points, as pip leaves it
INSTALLED = {
    "brought_package.py": MODULE,
    f"{INFO}/METADATA": "Metadata-Version: 2.1\nName: brought-package\nVersion: 1.0\n",
    f"{INFO}/entry_points.txt":
        "[metaeval.metrics]\nbrought_words = brought_package:words\n"
        "[metaeval.corruptions]\nbrought_corruption = metaeval.corruptions.graded.shuffle:Reverse\n"
        "[metaeval.datasets]\nbrought_dataset = brought_package:load\n",
}  # fmt: skip


def test_an_installed_package_makes_its_metric_a_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site, work = tmp_path / "site", tmp_path / "work"
    work.mkdir()
    write_texts(site, INSTALLED)
    paths = [str(site), *filter(None, [os.environ.get("PYTHONPATH")])]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(paths))
    listed = command("list", "metrics", cwd=work)
    (line,) = (text for text in listed.stdout.splitlines() if text.startswith("brought_words"))
    words = "brought_words brought_package:words, of the installed package brought-package"
    assert line.split() == words.split()
    command(
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
    node = (
        "# @package metric.long\n# how long it is\n"
        "_target_: metaeval.metrics.adapters.function.FunctionMetric\n"
        "function: mine.words\nname: Long\n"
    )
    write_texts(tmp_path, {"mine.py": MODULE, "conf/metric/long.yaml": node})
    listed = command("list", "metrics", "--config-dir", "conf", cwd=tmp_path)
    assert "how long it is" in listed.stdout
    command(
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
        done = command("list", what, cwd=tmp_path)
        names = {line.split()[0]: line.split()[1:] for line in done.stdout.splitlines()}
        assert some <= set(names)
        assert all(names.values()), [n for n, words in names.items() if not words]
    command("list", "metric", cwd=tmp_path, code=2)


@pytest.mark.slow
def test_images_without_captions_are_for_systems_captions(tmp_path: Path) -> None:
    """Metrics of images score them; those of references are skipped, and no system is compared."""
    scenes = load_scenes(limit=4)
    paths = [scenes.part("images").path(i) for i in scenes.image_ids]
    (tmp_path / "images").mkdir()
    for path in paths:
        shutil.copy(path, tmp_path / "images")
    systems = {"people": scenes.human, "nobody": ("a thing",) * 4}
    records = {
        f"systems/{name}.json": json.dumps(
            [{"image_id": i, "caption": t} for i, t in zip(scenes.image_ids, texts, strict=True)]
        )
        for name, texts in systems.items()
    }
    size = (
        "def size(captions, images):\n"
        "    import os\n"
        "    return [len(c) / os.path.getsize(i) for c, i in zip(captions, images)]\n"
    )
    write_texts(tmp_path, {"mine.py": size, **records})
    command(
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
    expected = sum(len("a thing") / path.stat().st_size for path in paths) / 4
    value = statistics["systems"]["size"]["scores"]["nobody"]["value"]
    assert value == pytest.approx(expected, rel=1e-12)
    assert (tmp_path / "OUT" / files.REPORT).is_file()
    refused = command(
        "experiment=shuffle",
        "dataset=own",
        "dataset.images=images",
        "hydra.run.dir=OUT2",
        cwd=tmp_path,
        code=2,
    )
    assert refused.stderr.startswith("metaeval: the images of images have no captions to corrupt;")
    scores = metaeval.score(
        dict.fromkeys(scenes.image_ids, "a thing"), images=tmp_path / "images", metrics=["rouge_l"]
    )
    assert scores.skipped == {"rouge_l": "skipped: none of the images has a reference"}
