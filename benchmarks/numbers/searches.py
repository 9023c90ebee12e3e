"""Ten searches of `explain`: printed values whose protocol is known, and what is found.

    python -m benchmarks.numbers.searches

Seconds include the scoring of captions that are not in the cache.
"""

import sys
import time
from collections.abc import Iterator

import pandas as pd

import metaeval
from benchmarks.numbers.writing import head, row
from metaeval.errors import ends_with_status

# dataset, the printed values of a table, and what is known of their protocol
SEARCHES = (
    ("flickr8k_cf", "BLEU-4 16.9", ""),
    ("flickr8k_cf", "BLEU-4 16.9, ROUGE-L 19.9", ""),
    ("flickr8k_cf", "BLEU-4 8.7, ROUGE-L 10.3", ""),
    ("composite", "BLEU-4 .306", "kendall_tau_c"),
    ("composite", "BLEU-1 .353, ROUGE-L .383, CIDEr .472", "spearman"),
    ("thumb", "CIDEr .33, ROUGE-L .31, SacreBLEU .25", "pearson"),
    ("flickr8k_expert", "CIDEr 43.6", ""),
    ("flickr8k_expert", "BLEU-4 30.6, CIDEr 43.6, ROUGE-L 32.1", ""),
    ("flickr8k_expert", "BLEU-4 36.6, CIDEr 43.6, ROUGE-L 32.1", ""),
    ("flickr8k_expert", "BLEU-1 .323, BLEU-4 .138, ROUGE-L .323, CIDEr .439", ""),
)


def searched(dataset: str, values: str, statistic: str) -> str:
    """The row of a search."""
    printed = [text.split() for text in values.split(", ")]
    table = pd.DataFrame(printed, columns=["metric", "value"])
    started = time.perf_counter()
    known = {"statistic": statistic} if statistic else {}
    rows = metaeval.explain(dataset=dataset, values=table, **known)
    seconds = time.perf_counter() - started
    chance = max(rows["chance"].iloc[0], 1 / 4000)
    what = f"{dataset}: {values}{f', {statistic}' if statistic else ''}"
    found = "; ".join(verdicts(rows))
    return row(what, found, f"{rows['cells'].iloc[0]:,}", f"{chance:.2g}", f"{seconds:.0f}")


def verdicts(rows: pd.DataFrame) -> Iterator[str]:
    """For each verdict and protocol, the metrics."""
    first = rows.groupby("metric", sort=False).head(1)
    for (verdict, protocol), of in first.groupby(["verdict", "protocol"], sort=False):
        metrics = ", ".join(of["metric"]) if len(of) < len(first) else ""
        yield f"{metrics} {verdict}{'' if verdict == 'none' else f': {protocol}'}".strip()


@ends_with_status()
def main() -> int:
    """Print the searches as a table, each as soon as it is done."""
    heads = ("values", "result", "protocols", "chance", "seconds")
    print("\n".join(head(*heads)), flush=True)
    for search in SEARCHES:
        print(searched(*search), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
