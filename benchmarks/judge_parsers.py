"""Kendall's τ of recorded judges by parser: `python -m benchmarks.judge_parsers FILE…`.

FILE holds `image`, `candidate` and `answer` for the captions of Flickr8k-Expert, which is read from
METAEVAL_DATA. "0" is how some publications treat an answer that cannot be parsed; metaeval leaves
it out.
"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

import numpy as np
from scipy.stats import kendalltau

from metaeval.data.judgments.flickr8k import load_expert
from metaeval.metrics.judge.metric import Judge
from metaeval.runs.store import MemoryStore
from metaeval.scoring import score_captions


def main() -> None:
    """Print a table, a row for each file and parser."""
    judged = load_expert()
    rows, ratings = judged.rows("rating")
    captions = [each.candidate for each in judged.judged]
    head = "judge parser τ-b τ-c 0:τ-b 0:τ-c unparsed distinct mode"
    print(f"| {' | '.join(head.split())} |")
    print("|---|---|---|---|---|---|---|---|---|")
    for file in sys.argv[1:]:
        for parser in ("number", "leading_number"):
            metric = Judge(replay=file, parser=parser)  # type: ignore[arg-type]
            result = score_captions(
                metric, judged.dataset, captions, judged.image_index, MemoryStore()
            )
            if result.scores is None:
                print(f"| {Path(file).stem} | {parser} | {result.reason} |")
                continue
            scores = result.scores[rows, 0]
            known = ~np.isnan(scores)
            zeros = np.nan_to_num(scores)
            tau = [
                100 * kendalltau(x, y, variant=variant).statistic
                for x, y in ((scores[known], ratings[known]), (zeros, ratings))
                for variant in "bc"
            ]
            value, n = Counter(scores[known].tolist()).most_common(1)[0]
            cells = " | ".join(f"{t:.1f}" for t in tau)
            print(
                f"| {Path(file).stem} | {parser} | {cells} | {int((~known).sum()):,} | "
                f"{len(set(scores[known]))} | {value:g} in {100 * n / known.sum():.0f} % |"
            )


if __name__ == "__main__":
    main()
