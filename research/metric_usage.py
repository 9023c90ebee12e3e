"""What papers on captioning report: counts of the survey that comes with the reformulations.

    python -m research.metric_usage [FILE]

Of `metric_usage.csv` (Berger et al. 2025; by default in METAEVAL_DATA): in how many papers each of
six metrics is named, and how many papers with a human evaluation report a significance test or the
agreement of annotators.
"""

import sys
from collections import Counter
from pathlib import Path

from benchmarks.numbers.writing import head, row
from metaeval.data.download import benchmark_file
from metaeval.data.own.tables import read_table
from metaeval.errors import ends_with_status

METRICS = ("BLEU", "CIDEr", "METEOR", "ROUGE", "SPICE", "CLIPScore")
PEOPLE = "with a human evaluation"
REPORTED = {
    "a significance test": "Significance test",
    "agreement of annotators": "Annotator agreement",
}


def counts(path: Path) -> dict[str, int]:
    """What a paper has → how many papers."""
    papers = [paper.fields for paper in read_table(path).rows]
    named = Counter(n for paper in papers for n in {m.strip() for m in paper["Metrics"].split(",")})
    people = [paper for paper in papers if paper["Human evaluation framework"].strip()]
    return {
        "all": len(papers),
        **{name: named[name] for name in METRICS},
        PEOPLE: len(people),
        **{
            f"{PEOPLE} and {what}": sum(paper[field].strip() == "yes" for paper in people)
            for what, field in REPORTED.items()
        },
    }


@ends_with_status()
def main(arguments: list[str] | None = None) -> int:
    """Print the counts as a table."""
    given = sys.argv[1:] if arguments is None else arguments
    file = given[0] if given else None
    source = "https://github.com/uriberger/re_cap"
    path = benchmark_file(file, "metric_usage.csv", folder="reformulations", source=source)
    rows = [row(what, str(n)) for what, n in counts(path).items()]
    print("\n".join([*head("papers on captioning", "n"), *rows]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
