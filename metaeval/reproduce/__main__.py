"""`python -m metaeval.reproduce [PAPER[/ITEM] …]`: compute what papers printed, and compare.

The short form of `python -m metaeval experiment=reproduce`, with the run in `--out`. Scores come
from the cache, so that a second call is quick.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path

from metaeval.config import compose_config
from metaeval.errors import ends_with_status
from metaeval.experiments.run import run_configured
from metaeval.overrides import override_texts
from metaeval.papers.expected import FOLDER, papers
from metaeval.reproduce.task import choose


@ends_with_status()
def main(arguments: Sequence[str] | None = None) -> None:
    """The command; 0, or 2 where an item is unknown or a file of a paper is broken."""
    parser = argparse.ArgumentParser(prog="python -m metaeval.reproduce", description=__doc__)
    parser.add_argument("items", nargs="*", metavar="PAPER[/ITEM]", help="all by default")
    parser.add_argument("--quick", action="store_true", help="only items that take seconds")
    parser.add_argument("--list", action="store_true", help="print the items and stop")
    parser.add_argument(
        "--out", type=Path, default=Path("runs/reproduce"), help="folder of the run"
    )
    parser.add_argument("--papers", type=Path, default=FOLDER, help="a folder of YAML files")
    parser.add_argument(
        "--captioners", metavar="FILE", help="captions of systems in COCO's results format"
    )
    given = parser.parse_args(arguments)
    if given.list:
        for paper, item in choose(papers(given.papers), given.items, quick=given.quick):
            state = f"  (not run: {item.missing})" if item.missing else ""
            print(f"{paper.paper}/{item.item}  {item.title}{state}")
        return
    names = ("items", "quick", "papers", "captioners")
    options = {f"reproduce.{name}": getattr(given, name) for name in names}
    config = compose_config(["experiment=reproduce", *override_texts(options)])
    given.out.mkdir(parents=True, exist_ok=True)
    run_configured(config, given.out)


if __name__ == "__main__":
    raise SystemExit(main())
