"""`python -m metaeval.check my_module.MyMetric`: check a metric's contract.

Takes a `Metric`, a function of captions, or a class with compute_score(gts, res), with options as
`name=value`, and scores drawn scenes with it in every way in which a run may call it. Seconds,
for a metric that takes milliseconds a caption. Exit codes: 0 it keeps them, 1 it does not, 2 it
cannot be checked.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from omegaconf import OmegaConf

from metaeval.check.contract import (
    IMAGES,
    ContractInput,
    Observation,
    check,
    in_another_process,
    questions,
    scores_of,
)
from metaeval.errors import ConfigError, MetaevalError
from metaeval.metrics.adapters.coco import CocoScorerMetric
from metaeval.metrics.adapters.function import FunctionMetric
from metaeval.metrics.adapters.metric_from import metric_from
from metaeval.metrics.base import Metric


def main(arguments: Sequence[str] | None = None) -> int:
    """Entry point; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m metaeval.check", description=__doc__)
    parser.add_argument("what", help="my_module.MyMetric, my_module.my_score …")
    parser.add_argument("options", nargs="*", help="options of it: tokenizer=ptb batched=false")
    parser.add_argument("--images", type=int, default=IMAGES, help="scenes (default: %(default)s)")
    parser.add_argument("--write", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    try:
        options = dict(_option(text) for text in given.options)
        metric = metric_from(given.what, **options)
        inputs = questions(given.images)
        if given.write is not None:
            given.write.write_text(json.dumps(scores_of(metric, inputs).tolist()))
            return 0
        findings = []
        for finding in _all(given, options, metric, inputs):
            findings.append(finding)
            print(
                f"{'ok   ' if finding.ok else 'FAILS'} {finding.what:<16} {finding.seen}",
                flush=True,
            )
    except MetaevalError as error:
        print(f"metaeval: {error}", file=sys.stderr)
        return error.exit_code
    broken = [f.what for f in findings if not f.ok]
    print(f"{given.what}: " + (f"fails {', '.join(broken)}" if broken else "keeps the contract"))
    return 1 if broken else 0


def _all(
    given: argparse.Namespace, options: Mapping[str, object], metric: Metric, asked: ContractInput
) -> Iterator[Observation]:
    own_class = not isinstance(metric, FunctionMetric | CocoScorerMetric)
    remake = (lambda **more: metric_from(given.what, **{**options, **more})) if own_class else None
    ran = False
    for finding in check(metric, asked, remake):
        ran = ran or finding.what == "time"
        yield finding
    if ran:
        yield in_another_process(given.what, given.options, asked, metric)


def _option(text: str) -> tuple[str, Any]:
    name, equals, _ = text.partition("=")
    if not equals or not name.isidentifier():
        raise ConfigError(f"'{text}' is not an option; write name=value")
    given: dict[str, object] = OmegaConf.to_container(OmegaConf.from_dotlist([text]))  # type: ignore[assignment]
    return name, given[name]


if __name__ == "__main__":
    sys.exit(main())
