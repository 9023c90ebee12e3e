"""How a run grows with its captions: time and memory at 20,000 captions, at 200,000 and beyond.

Makes judged captions (a table for `dataset=table`, five captions per image, three ratings each) or
plain ones (a file of COCO's format for `experiment=replace`, four versions an image) from COCO's
and Flickr8k's captions: real sentences and real references, in made-up numbers, with made-up
ratings that follow how many words a caption shares with its references. Each size is a run of the
command in a process and with a cache of its own; the last row is the ratio to the smallest.

    python benchmarks/growth.py --data FOLDER
    python benchmarks/growth.py --data FOLDER --experiment replace
    python benchmarks/growth.py --data FOLDER --experiment replace --captions 200 --words 10000
    python benchmarks/growth.py metrics=[bleu,cider,rouge_l] --data FOLDER --captions 20000 1000000
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.side_by_side import cost_of

CANDIDATES, RATERS = 5, 3  # judged captions of an image, ratings of a caption
VERSIONS = 4  # captions of an image in experiment=replace
SHORT = "metrics=[bleu,rouge_l,cider,length]"

Caption = str


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("overrides", nargs="*", help=f"of the configuration; default {SHORT}")
    parser.add_argument("--data", type=Path, required=True, help="with coco/ and flickr8k/")
    parser.add_argument("--experiment", choices=("judgments", "replace"), default="judgments")
    parser.add_argument("--captions", type=int, nargs="+", default=[20_000, 200_000])
    parser.add_argument("--words", type=int, help="of every caption: several put together")
    options = parser.parse_args()
    images = real_images(options.data)
    if options.words:
        images = longer(images, options.words)
    overrides = options.overrides or [SHORT]
    runs = {}
    with tempfile.TemporaryDirectory(prefix="metaeval-growth-") as folder:
        for n in options.captions:
            runs[n] = measure(Path(folder), options.experiment, images, n, overrides)
            print(f"{n:,} captions: {runs[n]['cpu']:.1f} s", file=sys.stderr, flush=True)
    long = f", captions of {options.words:,} words" if options.words else ""
    print(f"experiment={options.experiment} {' '.join(overrides)}{long}\n\n{table(runs)}")


def real_images(data: Path) -> list[list[Caption]]:
    """The captions of each image of COCO val2017, Karpathy's test split and Flickr8k, from five."""
    images: dict[str, list[Caption]] = {}
    for split in ("val2017", "karpathy_test"):
        text = (data / f"coco/annotations/captions_{split}.json").read_text(encoding="utf-8")
        for record in json.loads(text)["annotations"]:
            captions = images.setdefault(f"coco {record['image_id']}", [])
            captions.append(" ".join(record["caption"].split()))
    for line in (data / "flickr8k/Flickr8k.token.txt").read_text(encoding="utf-8").splitlines():
        name, caption = line.split("\t")
        images.setdefault(name.partition("#")[0], []).append(caption)
    return [captions[:5] for captions in images.values() if len(captions) >= 5]


def longer(images: list[list[Caption]], words: int) -> list[list[Caption]]:
    """A hundred images whose captions have `n` words each: those of following images put
    together, each place with its own, so that no caption repeats another."""
    size = sum(len(captions[0].split()) for captions in images[:1000]) / 1000
    joined = max(1, round(words / size))
    made = []
    for k in range(100):
        several = [images[(k * joined + j) % len(images)] for j in range(joined + joined // 2)]
        made.append(
            [
                " ".join(" ".join(captions[place] for captions in several).split()[:words])
                for place in range(5)
            ]
        )
    return made


def copies(images: list[list[Caption]], n: int) -> Iterator[tuple[int, list[Caption], list[str]]]:
    """n images: id, captions (real, in another order when an image recurs), and words to change
    a caption with."""
    words = [word for captions in images[:500] for word in captions[0].split()]
    for k in range(n):
        captions, turn = images[k % len(images)], k // len(images) % 5
        yield k + 1, captions[turn:] + captions[:turn], words


def judged(images: list[list[Caption]], n: int) -> Iterator[dict[str, Any]]:
    """n judged captions: an image's own one and another image's, each with words exchanged."""
    rng = random.Random(n)
    for image, captions, words in copies(images, -(-n // CANDIDATES)):
        references = captions[1:]
        known = {word for reference in references for word in reference.lower().split()}
        for k in range(CANDIDATES):
            source = captions[0] if k % 2 else rng.choice(rng.choice(images))
            tokens = [rng.choice(words) if rng.random() < 0.1 * k else w for w in source.split()]
            share = sum(token.lower() in known for token in tokens) / max(1, len(tokens))
            ratings = [
                min(4, max(1, round(1 + 3 * share + rng.gauss(0, 0.7)))) for _ in range(RATERS)
            ]
            yield {
                "image_id": f"{image:07d}",
                "candidate": " ".join(tokens),
                "references": references,
                "human": ratings,
                "system": f"system {k}",
            }


def write_input(path: Path, experiment: str, images: list[list[Caption]], n: int) -> list[str]:
    """Write the captions of a run; the overrides that read them."""
    if experiment == "judgments":
        with path.open("w", encoding="utf-8") as file:
            file.writelines(json.dumps(record) + "\n" for record in judged(images, n))
        return ["dataset=table", f"dataset.file={path}", "dataset.image_source=other"]
    content: dict[str, list[dict[str, Any]]] = {"images": [], "annotations": []}
    for image, captions, _ in copies(images, -(-n // VERSIONS)):
        content["images"].append({"id": image, "file_name": f"{image}.jpg"})
        for caption in captions:
            number = len(content["annotations"]) + 1
            content["annotations"].append({"id": number, "image_id": image, "caption": caption})
    path.write_text(json.dumps(content), encoding="utf-8")
    return ["dataset=coco", f"dataset.captions={path}", "dataset.image_source=other"]


def measure(
    folder: Path, experiment: str, images: list[list[Caption]], n: int, overrides: list[str]
) -> dict[str, Any]:
    """Run the command over n captions: seconds of its stages, processor time, peak memory."""
    source, out = folder / f"{n}.jsonl", folder / f"{experiment}-{n}"
    command = [
        *(sys.executable, "-m", "metaeval", f"experiment={experiment}"),
        *write_input(source, experiment, images, n),
        *(f"paths.cache={folder / f'cache-{n}'}", f"hydra.run.dir={out}", *overrides),
    ]
    cost = cost_of(command)
    source.unlink()
    stages = json.loads((out / "run.json").read_text())["stages"]
    page = out / "report.html"
    return {
        "cpu": cost.processor,
        "memory": cost.peak / 1024,
        "stages": {stage["name"]: stage["seconds"] for stage in stages},
        "report": page.stat().st_size / 1e6 if page.exists() else 0,
    }


def table(runs: dict[int, dict[str, Any]]) -> str:
    """Sizes beneath each other, and the last one's ratio to the first, as Markdown."""
    first, last = (runs[n] for n in (min(runs), max(runs)))
    stages = list(first["stages"])
    lines = [
        f"| captions | {' | '.join(f'{stage} s' for stage in stages)} "
        "| processor time s | memory GiB | page MB |",
        "|---:" * (len(stages) + 4) + "|",
    ]
    for n, run in runs.items():
        cells = [f"{run['stages'][stage]:.1f}" for stage in stages]
        lines.append(
            f"| {n:,} | {' | '.join(cells)} | {run['cpu']:.1f} | {run['memory']:.2f} "
            f"| {run['report']:.1f} |"
        )
    if len(runs) > 1:
        ratios = [last["stages"][s] / max(first["stages"][s], 0.05) for s in stages]
        ratios += [last["cpu"] / first["cpu"], last["memory"] / first["memory"]]
        cells = [f"{ratio:.1f} ×" for ratio in ratios]
        lines.append(f"| {max(runs) / min(runs):.0f} × | {' | '.join(cells)} | |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
