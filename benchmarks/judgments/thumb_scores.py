"""Our scores of THumB's captions against the scores that its authors published, caption by caption.

    python -m metaeval experiment=judgments dataset=thumb dataset.human_reference=true \\
        hydra.run.dir=RUN
    python benchmarks/judgments/thumb_scores.py RUN THUMB/metric_scores [NLTK_DATA]

Prints Pearson's r of each of our columns with the published scores of the same metric, over the
captions that both have: all of them, and those of the images whose references are equal.
The published files (`SYSTEM__METRIC.csv`: SYS, seg_id, set_id, metric, score) hold no scores of
people's captions; for the machines', a person's caption was the fifth reference, which the first
command puts there. On some images that caption already stands among the four: there the authors'
fifth reference was another one, and only without these images are both given the same.

Behind ours stand sacrebleu's chrF, chrF++ and TER, and what the authors' ROUGE-L and METEOR turn
out to be: ROUGE-L's plain F (β = 1) on lower-case letters and digits, and nltk's METEOR on
white-space tokens (nltk's WordNet in NLTK_DATA), each the best over the references.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import nltk
import pandas as pd
import sacrebleu
from nltk.translate.meteor_score import meteor_score

# ours → theirs
SAME = {
    "SacreBLEU": "SentBLEU",
    "BLEU-4": "SentBLEU",
    "METEOR": "METEOR",
    "ROUGE-L": "ROUGE-L",
    "CIDEr": "CIDEr",
    "SPICE": "SPICE",
    "SPICE (rules)": "SPICE",
    "BERTScore": "BERTScore",
    "BERTScore (MiniLM)": "BERTScore",
    "CLIPScore": "CLIPS",
    "RefCLIPScore": "RefCLIPS",
}
KEYS = ["image_id", "system"]
Scorer = Callable[[str, Sequence[str]], float]


def main(run: Path, folder: Path, nltk_data: str | None = None) -> None:
    """Print a line for each column that the authors have too."""
    judged = pd.read_parquet(run / "judgments.parquet")
    ours = pd.read_parquet(run / "scores.parquet").merge(judged[["caption", *KEYS]], on="caption")
    files = [pd.read_csv(path) for path in sorted(folder.glob("*.csv"))]
    theirs = pd.concat(files).rename(columns={"SYS": "system", "seg_id": "image_id"})
    theirs["image_id"] = theirs["image_id"].astype(str)
    machines = judged[judged["system"] != "Human"]
    given = zip(machines["image_id"], machines["references"], strict=True)
    twice = {image for image, references in given if len(set(references)) < len(references)}
    print(f"{len(twice)} images whose references hold the same caption twice")
    columns = [(name, ours[ours["metric"] == name].set_index(KEYS)["score"]) for name in SAME]
    for name, score in [*columns, *others(machines, nltk_data)]:
        other = theirs[theirs["metric"] == SAME.get(name, name.split(" ")[0])]
        both = pd.concat(
            [score, other.set_index(KEYS)["score"]], axis=1, join="inner", keys=["ours", "theirs"]
        ).dropna()
        if not len(both):
            continue
        same = both[~both.index.get_level_values("image_id").isin(twice)]
        equal = ((same["ours"] - same["theirs"]).abs() < 1e-6).mean()
        print(
            f"{name:<20} r = {both['ours'].corr(both['theirs']):+.4f} over {len(both):,} captions, "
            f"{same['ours'].corr(same['theirs']):+.4f} over {len(same):,} with the same "
            f"references, {100 * equal:.1f} % of these equal"
        )


def others(machines: pd.DataFrame, nltk_data: str | None) -> Iterator[tuple[str, pd.Series]]:
    """What metaeval has no metric for: the authors' name of it, and its scores."""
    scorers: dict[str, Scorer] = {
        "chrF (sacrebleu)": lambda c, r: sacrebleu.sentence_chrf(c, list(r)).score,
        "chrFpp (sacrebleu)": lambda c, r: sacrebleu.sentence_chrf(c, list(r), word_order=2).score,
        "TER (sacrebleu)": lambda c, r: sacrebleu.sentence_ter(c, list(r)).score,
        "ROUGE-L (F1)": lambda c, r: max(rouge_l_f1(c, x) for x in r),
    }
    if nltk_data is not None:
        nltk.data.path.insert(0, nltk_data)
        scorers["METEOR (nltk)"] = lambda c, r: meteor_score([x.split() for x in r], c.split())
    index = pd.MultiIndex.from_frame(machines[KEYS])
    for name, score in scorers.items():
        values = [
            score(c, r) for c, r in zip(machines["candidate"], machines["references"], strict=True)
        ]
        yield name, pd.Series(values, index=index)


def rouge_l_f1(candidate: str, reference: str) -> float:
    """The harmonic mean of the longest common subsequence's shares of both captions."""
    a, b = (re.findall(r"[a-z0-9]+", text.lower()) for text in (candidate, reference))
    best = [0] * (len(b) + 1)
    for word in a:
        row = [0]
        for k, other in enumerate(b):
            row.append(best[k] + 1 if word == other else max(row[-1], best[k + 1]))
        best = row
    return 2 * best[-1] / max(len(a) + len(b), 1)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), *sys.argv[3:4])
