"""Which findings on metrics survive a pretrained language model as a control?

    METAEVAL_DATA=… python -m research.models.blind [--out DIR] [TASK …]

Runs each task twice, with the usual controls and with `language_model`, too, and prints a Markdown
table: of each task n, the best metric, the best control, and how many metrics are significantly
above it (the run's own test, Holm); the same with the language model among the controls.
"""

import argparse
import subprocess
import sys
import time
from pathlib import Path

from benchmarks.numbers.writing import three
from metaeval.results.files import read_result
from metaeval.results.measured import MeasuredResult
from metaeval.results.sentences import ranked_metrics
from metaeval.runs import files

METRICS = "bleu,meteor,rouge_l,cider,bertscore,faier,vifidel,controls"
KINDS = "[objects,attributes,numbers,relations,logic,order,harmless]"
# task → its command; of pairs and of sensitivity each kind is a row
TASKS = {
    "SugarCrepe": "experiment=pairs dataset=sugarcrepe dataset.limit=300",
    "VALSE": "experiment=pairs dataset=valse dataset.limit=500",
    "RoCOCO": "experiment=pairs dataset=rococo dataset.limit=250",
    "DiscourseFOIL": "experiment=pairs dataset=discourse_foil dataset.limit=60",
    "Shuffle": "experiment=shuffle dataset=coco_val2017 dataset.limit=500",
    "Sensitivity": f"experiment=sensitivity dataset=coco_val2017 task.images=60 "
    f"task.corruptions={KINDS}",
    "THumB": "experiment=judgments dataset=thumb dataset.limit=120",
}
HEAD = (
    *("task", "n", "best metric", "best control", "above it", "best of the language model"),
    *("above the best control then", "no longer above"),
)


def run(command: str, folder: Path, more: str) -> MeasuredResult:
    argv = [*command.split(), f"metrics=[{METRICS}{more}]", "report=none"]
    done = subprocess.run(
        [sys.executable, "-m", "metaeval", *argv, f"hydra.run.dir={folder}"],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        sys.exit(done.stdout + done.stderr)
    return read_result(folder / files.STATISTICS)


def rows(task: str, before: MeasuredResult, after: MeasuredResult) -> list[list[str]]:
    """A row for each measure that both results compare with controls."""
    titles = {measure.key: measure.full_title for measure in after.declared}
    ranked = {metric.name for metric in ranked_metrics(after)}
    table = []
    for key, one in before.controls.items():
        if key not in after.controls or key == "hard_positives":
            continue
        if after.experiment == "judgments" and not titles[key].startswith("r, "):
            continue
        other = after.controls[key]
        models = {
            m.name: value
            for m in after.metrics
            if "(SmolLM2)" in m.name and (value := m.numbers.value(key)) is not None
        }
        best = max(models, key=models.__getitem__)
        above = [[name for name in each.above if name in ranked] for each in (one, other)]
        lost = [name for name in above[0] if name not in above[1]]
        n = max(m.numbers[key].n or 0 for m in after.metrics if key in m.numbers.values)
        n = n or max(int(m.numbers.facts.get("n") or 0) for m in after.metrics)
        cells = [
            f"{n:,}",
            f"{one.best} {three(one.best_value)}",
            f"{one.control} {three(one.control_value)}",
            f"{len(above[0])} of {len(ranked)}",
            f"{best.removesuffix(' (SmolLM2)')} {three(models[best])}",
            f"{len(above[1])} of {len(ranked)}",
            ", ".join(lost) or "–",
        ]
        if not table or cells != table[-1][1:]:  # else the only kind, which is the whole
            table.append([f"{task}: {titles.get(key, key)}", *cells])
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tasks", nargs="*", metavar="TASK", help=", ".join(TASKS))
    parser.add_argument("--out", type=Path, default=Path("runs/blind"), help="of the runs")
    options = parser.parse_args()
    print("| " + " | ".join(HEAD) + " |")
    print("|---|---:|---|---|---:|---|---:|---|")
    for task in options.tasks or TASKS:
        start, folder = time.perf_counter(), options.out.resolve() / task
        before = run(TASKS[task], folder / "controls", "")
        after = run(TASKS[task], folder / "language_model", ",language_model")
        for cells in rows(task, before, after):
            print("| " + " | ".join(cells) + " |", flush=True)
        print(f"{task}: {time.perf_counter() - start:.0f} s", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
