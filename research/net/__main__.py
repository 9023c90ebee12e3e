"""Reference runs of two commits, compared number by number: scores, measures, statistics, tables.

    python -m research.net OLD NEW [--only NAME …]

makes the runs of each commit with that commit's code (in `build/net/COMMIT/`, kept between calls)
and prints for each run "equal" or what differs. "." is the working tree, whose runs are made anew.
Needs METAEVAL_DATA with COCO val2017, the Karpathy test split, and the benchmarks that the runs
name. Ends with 1 where something differs.
"""

import argparse
import json
import math
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build" / "net"
TOLERANCE = 1e-12  # relative: sums in another order
SHOWN = 8

_RULES = "metrics=[bleu,rouge_l,meteor,cider,controls]"
_VAL = ("dataset=coco_val2017",)
_SYSTEMS = "captions=[{data}/coco/captioners/" + ",{data}/coco/captioners/".join(
    ["updown.json", "gat.json", "ssg.json", "magic.json]"]
)
RUNS: Mapping[str, tuple[str, ...]] = {
    "replace": ("experiment=replace", *_VAL, "dataset.limit=500"),
    "shuffle": ("experiment=shuffle", *_VAL, "dataset.limit=500"),
    "flickr8k": ("experiment=judgments", "dataset=flickr8k_expert"),
    "composite": ("experiment=judgments", "dataset=composite", _RULES),
    "thumb": ("experiment=judgments", "dataset=thumb"),
    "forced_choice": ("experiment=forced_choice", "dataset=pascal50s", _RULES),
    "captioners": (
        "experiment=captioners", "dataset=coco_karpathy_test", "dataset.limit=1000",
        _SYSTEMS, _RULES,
    ),
    "sugarcrepe": ("experiment=pairs", "dataset=sugarcrepe", _RULES),
    "rococo": ("experiment=pairs", "dataset=rococo", "dataset.limit=1000", _RULES),
    "sensitivity": ("experiment=sensitivity", *_VAL, "dataset.limit=300", _RULES),
    "references": ("experiment=references", *_VAL, "dataset.limit=200", _RULES),
    "sample_size": ("experiment=sample_size", *_VAL, "dataset.limit=200", _RULES),
    "attack": ("experiment=attack", "dataset=scenes", "dataset.limit=50", _RULES),
    "localisation": (
        "experiment=localisation",
        "dataset.file={data}/hat/hat-trainval.json",
        _RULES,
    ),
    "retrieval": ("experiment=retrieval", *_VAL, "dataset.limit=200", _RULES),
    "arena": (
        "experiment=arena", "dataset=captioner_battles", "task.winner=CIDEr",
        "dataset.captions=[{data}/coco/captioners/updown.json,{data}/coco/captioners/gat.json]",
        _RULES,
    ),
    "trust": ("experiment=trust", "trust.battery=quick"),
    "score": (
        "experiment=score", "dataset=coco_karpathy_test", "dataset.limit=300",
        "captions={data}/coco/captioners/updown.json", _RULES,
    ),
    "sweep": (
        "-m", "experiment=replace", *_VAL, "dataset.limit=100", "metrics=[rouge_l,cider]",
        "seed=0,1,2", "corruption.rates=[0.2],[0.4]",
    ),
}  # fmt: skip


def make_runs(commit: str, names: list[str]) -> Path:
    """Make the missing runs of a commit; returns the folder with a folder for each run."""
    here = commit == "."
    asked = ["git", "rev-parse", commit]
    sha = "tree" if here else subprocess.check_output(asked, cwd=ROOT, text=True).strip()
    folder = BUILD / sha
    code = ROOT if here else folder / "code"
    if here:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True, exist_ok=True)
    if not code.exists():
        code.mkdir(parents=True)
        archive = subprocess.check_output(["git", "archive", sha], cwd=ROOT)
        subprocess.run(["tar", "-x", "-C", code], input=archive, check=True)
    data = Path(os.environ["METAEVAL_DATA"]).resolve()
    environment = os.environ | {
        "PYTHONPATH": str(code), "METAEVAL_DATA": str(data),
        "METAEVAL_CACHE": str(folder / "cache"),
    }  # fmt: skip
    for name in names:
        out = folder / name
        if (out / "done").exists():
            continue
        shutil.rmtree(out, ignore_errors=True)
        arguments = [a.format(data=data) for a in RUNS[name]]
        target = "hydra.sweep.dir" if "-m" in arguments else "hydra.run.dir"
        command = [sys.executable, "-m", "metaeval", *arguments, f"{target}={out}"]
        print(f"{sha[:8]} {name}", flush=True)
        ended = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
        if ended.returncode:
            print(
                f"  exit code {ended.returncode}: {(ended.stderr or ended.stdout).strip()[-300:]}"
            )
        if out.exists():
            dump = [sys.executable, "-c", _DUMP, str(out)]
            subprocess.run(dump, cwd=folder, env=environment, check=True)
            (out / "done").write_text(str(ended.returncode))
    return folder


# Each commit reads its own result: statistics.json may change its form; measures and tests stay.
_DUMP = """
import json, pathlib, sys
import metaeval
from metaeval.results.base import Model
from metaeval.results.comparison import Comparison

def comparisons(value):
    if isinstance(value, Comparison):
        yield value
    elif isinstance(value, Model):
        for name in type(value).model_fields:
            yield from comparisons(getattr(value, name))
    elif isinstance(value, (list, tuple)):
        for each in value:
            yield from comparisons(each)
    elif hasattr(value, "values"):
        for each in value.values():
            yield from comparisons(each)

for file in sorted(pathlib.Path(sys.argv[1]).rglob("statistics.json")):
    if not file.with_name("run.json").exists():
        continue  # of an experiment that repeats another: its parts
    result = metaeval.load_run(file.parent).result
    values = {}
    for entry in result.metrics:
        values[f"{entry.name}: status"] = entry.status
        if entry.statistics is not None:
            for measure, e in result.measures(entry):
                values[f"{entry.name}: {measure.key}"] = [e.value, e.low, e.high]
    file.with_name("measures.dump.json").write_text(json.dumps(values))
    tests = [[c.a, c.b, c.difference.value, t.method, t.p, t.p_adjusted]
             for c in comparisons(result) for t in c.tests]
    file.with_name("tests.dump.json").write_text(json.dumps(tests))
"""


def compare_runs(old: Path, new: Path) -> list[str]:
    """What differs between two folders of a run, a line each.

    Measures and scores that the new run adds, and tests that it makes in addition, are counted
    without being named.
    """
    lines = ["exit codes differ"] * ((old / "done").read_text() != (new / "done").read_text())
    kinds = {"measures.dump.json": _load, "tests.dump.json": _tests, "*.parquet": _parquet}
    for pattern, read in kinds.items():
        files = {f.relative_to(side) for side in (old, new) for f in side.rglob(pattern)}
        for file in sorted(files):
            if not (old / file).exists() or not (new / file).exists():
                lines.append(f"{file}: only in the {'new' if (new / file).exists() else 'old'} run")
                continue
            lines += [
                f"{file}: {text}" for text in _differences(read(old / file), read(new / file))
            ]
    return lines


def _tests(path: Path) -> dict[str, Any]:
    """Every test by its pair, method and difference, the names in alphabetical order."""
    values: dict[str, Any] = {}
    for a, b, difference, method, *p in json.loads(path.read_text(encoding="utf-8")):
        turned = difference is not None and a > b
        pair = f"{b} - {a}" if turned else f"{a} - {b}"
        size = "undefined" if difference is None else f"{(-1 if turned else 1) * difference:.10g}"
        values[f"{pair}, {method}, {size}"] = p
    return values


def _differences(old: dict[str, Any], new: dict[str, Any]) -> Iterator[str]:
    gone, added = [k for k in old if k not in new], [k for k in new if k not in old]
    if gone:
        yield f"{len(gone)} of {len(old)} gone: {', '.join(gone[:SHOWN])}"
    if added:
        yield f"{len(added)} added"
    different = [k for k in old if k in new and not _same(old[k], new[k])]
    if different:
        yield f"{len(different)} of {len(old) - len(gone)} differ:"
        yield from (f"    {k}: {old[k]} -> {new[k]}" for k in different[:SHOWN])


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, int | float) and isinstance(b, int | float):
        return (math.isnan(a) and math.isnan(b)) or math.isclose(
            a, b, rel_tol=TOLERANCE, abs_tol=TOLERANCE
        )
    if isinstance(a, list) and isinstance(b, list) and len(a) == len(b):
        return all(_same(x, y) for x, y in zip(a, b, strict=True))
    return bool(a == b)


def _parquet(path: Path) -> dict[str, Any]:
    """Numbers by column, row and, where the table has one, metric."""
    table = pd.read_parquet(path)
    groups = table.groupby("metric", sort=False) if "metric" in table else [("", table)]
    return {
        f"{metric}/{column}/{row}": value if isinstance(value, float) else str(value)
        for metric, group in groups
        for column in group.columns
        for row, value in enumerate(group[column])
    }


def _load(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("old")
    parser.add_argument("new")
    parser.add_argument("--only", nargs="+", choices=list(RUNS), default=list(RUNS), metavar="NAME")
    options = parser.parse_args()
    old, new = (make_runs(commit, options.only) for commit in (options.old, options.new))
    differ = 0
    for name in options.only:
        lines = compare_runs(old / name, new / name)
        differ += bool(lines)
        print(f"{name}: equal" if not lines else f"{name}: {len(lines)} lines")
        for line in lines:
            print(f"  {line}")
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main())
