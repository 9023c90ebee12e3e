"""Our scores of THumB's captions beside the scores that its authors published, caption by caption.

    python -m metaeval experiment=judgments dataset=thumb dataset.human_reference=true \\
        hydra.run.dir=RUN
    python benchmarks/judgments/thumb_scores.py RUN THUMB/metric_scores

Prints Pearson's r of each of our columns with the published scores of the same metric, over the
captions that both have. The published files (`SYSTEM__METRIC.csv`: SYS, seg_id, set_id, metric,
score) hold no scores of people's captions; for the machines', a person's caption was the fifth
reference, which the first command puts there.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pandas as pd

# ours → theirs
SAME = {
    "SacreBLEU": "SentBLEU", "BLEU-4": "SentBLEU", "METEOR": "METEOR", "ROUGE-L": "ROUGE-L",
    "CIDEr": "CIDEr", "SPICE": "SPICE", "BERTScore": "BERTScore", "chrF": "chrF", "TER": "TER",
    "CLIPScore": "CLIPS", "RefCLIPScore": "RefCLIPS",
}  # fmt: skip


def main(run: Path, folder: Path) -> None:
    """Print a line for each of our columns that the authors have too."""
    captions = pd.read_parquet(run / "judgments.parquet")[["caption", "image_id", "system"]]
    ours = pd.read_parquet(run / "scores.parquet").merge(captions, on="caption")
    files = [pd.read_csv(path) for path in sorted(folder.glob("*.csv"))]
    theirs = pd.concat(files).rename(columns={"SYS": "system", "seg_id": "image_id"})
    theirs["image_id"] = theirs["image_id"].astype(str)
    keys = ["image_id", "system"]
    for column, name in SAME.items():
        one = ours[ours["metric"] == column].set_index(keys)["score"]
        other = theirs[theirs["metric"] == name].set_index(keys)["score"]
        both = pd.concat([one, other], axis=1, join="inner", keys=["ours", "theirs"]).dropna()
        if len(both):
            r = both["ours"].corr(both["theirs"])
            print(f"{column:<12} with {name:<10} r = {r:.4f} over {len(both):,} captions")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
