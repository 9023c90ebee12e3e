"""`metaeval reproduce [PAPER[/ITEM] …]`: compute what papers printed, and compare.

The short form of `metaeval experiment=reproduce`, with the run in `--out`. Scores come
from the cache, so that a second call is quick.
"""

import argparse

from metaeval.config import compose_config
from metaeval.experiments.run import run_configured
from metaeval.overrides import override_texts
from metaeval.papers.expected import FOLDER, papers
from metaeval.reproduce.task import choose_items


def main(given: argparse.Namespace) -> None:
    """Run the items, or list them."""
    given.papers = given.papers or FOLDER
    if given.list:
        for paper, item in choose_items(papers(given.papers), given.items, quick=given.quick):
            state = f"  (not run: {item.missing})" if item.missing else ""
            print(f"{paper.paper}/{item.item}  {item.title}{state}")
        return
    names = ("items", "quick", "papers", "captioners")
    options = {f"reproduce.{name}": getattr(given, name) for name in names}
    config = compose_config(["experiment=reproduce", *override_texts(options)])
    given.out.mkdir(parents=True, exist_ok=True)
    run_configured(config, given.out)
