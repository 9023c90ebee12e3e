"""The command `metaeval`, which is `python -m metaeval`: its verbs, their arguments, its help.

Without a verb it runs an experiment (`metaeval.cli.run`): `metaeval replace dataset=scenes` is
`metaeval experiment=replace dataset=scenes`.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from metaeval import __version__
from metaeval.errors import ends_with_status, spell_out_what_cannot_be_printed

HELP = """metaeval: which image-captioning metric can you trust, and for what?

  metaeval replace                          run an experiment with every metric that can run
  metaeval shuffle metrics=[bleu,cider]     chosen metrics
  metaeval replace dataset.limit=200        the first 200 images
  metaeval replace hydra.run.dir=OUT        into the folder OUT
  metaeval -m replace seed=0,1,2            a sweep, gathered in sweep.html
  metaeval doctor                           what can run here, and how to get the rest
  metaeval check captions.csv               how a file is read, and which experiments can use it

Commands (metaeval COMMAND --help)
{verbs}
  EXPERIMENT   run it, with options as KEY=VALUE; metaeval list experiments shows them

Options of a run (metaeval list options shows all; --cfg job those of a run)
  metrics=all | a group | [bleu,cider,…]    dataset=NAME   dataset.limit=N   seed=0
  strict=false   cache.enabled=true   corruption.rates=[0.25,0.5]   stats.replicates=2000

Exit codes: 0 done; 1 no metric has scores, or one has none under strict=true; 2 bad input or
configuration. `metaeval` is `python -m metaeval`."""


Argument = tuple[tuple[str, ...], dict[str, Any]]  # its names and options, as `argparse` has them


class Verb(NamedTuple):
    """A command: its function ("package.module:function"), what it does, its arguments."""

    function: str
    about: str
    arguments: Sequence[Argument] = ()


def _argument(*names: str, **options: Any) -> Argument:
    return names, options


_CONFIG_DIR = _argument("--config-dir", type=Path, help="a folder with configuration of your own")
_SPLIT = _argument(
    "--split", default="karpathy_test", help="of COCO: whose references are the corpus"
)
VERBS = {
    "list": Verb(
        "metaeval.option_tables:print_list",
        "metrics, corruptions, datasets, experiments, or all options",
        (
            _argument(
                "what", choices=["corruptions", "datasets", "experiments", "metrics", "options"]
            ),
            _CONFIG_DIR,
        ),
    ),
    "doctor": Verb(
        "metaeval.doctor:main",
        "what can run here, and how to get the rest",
        (
            _argument("overrides", nargs="*", help="as for a run: dataset=scenes …"),
            _argument("--install", action="append", default=[], metavar="NAME"),
            _argument("--from", dest="source", type=Path, metavar="PATH", help="a local copy"),
            _argument("--mirror", metavar="URL", help="of spice: a mirror of Maven Central"),
            _argument("--clips", action="store_true", help="CLIPs that CLIPScore takes by name"),
            _CONFIG_DIR,
        ),
    ),
    "check": Verb(
        "metaeval.check:main",
        "how a file is read; or whether a metric keeps the contract",
        (
            _argument("what", help="a FILE of captions, judgements or scores; or my_module.Metric"),
            _argument("options", nargs="*", help="dataset.fields.human=stars; of a metric: k=2"),
            _argument("--images", type=int, default=16, help="scenes for a metric (%(default)s)"),
            _argument("--write", type=Path, help=argparse.SUPPRESS),
        ),
    ),
    "report": Verb(
        "metaeval.reports.rewrite:main",
        "write the page of a run or of a sweep once more",
        (
            _argument("run_dir", type=Path, help="folder of a run, or with runs at any depth"),
            _argument(
                "--no-figures",
                dest="figures",
                action="store_false",
                default=argparse.SUPPRESS,
                help="do not write the SVG files",
            ),
            _argument(
                "--explanations",
                type=int,
                default=argparse.SUPPRESS,
                help="images to explain a column (default: 12)",
            ),
            _argument(
                "--photos",
                type=int,
                default=argparse.SUPPRESS,
                help="photos to embed (default: none)",
            ),
        ),
    ),
    "reproduce": Verb(
        "metaeval.reproduce.command:main",
        "compute what papers printed, and compare",
        (
            _argument("items", nargs="*", metavar="PAPER[/ITEM]", help="all by default"),
            _argument("--quick", action="store_true", help="only items that take seconds"),
            _argument("--list", action="store_true", help="print the items and stop"),
            _argument("--out", type=Path, default=Path("runs/reproduce"), help="of the run"),
            _argument("--papers", type=Path, help="a folder of YAML files"),
            _argument("--captioners", metavar="FILE", help="captions of systems, as COCO has them"),
        ),
    ),
    "explain": Verb(
        "metaeval.reproduce.explain:main",
        "which protocol gives a printed value",
        (_argument("options", nargs="+", help="metric=cider dataset=flickr8k_expert value=43.6"),),
    ),
    "corrupt": Verb(
        "metaeval.cli.main:print_corrupted_captions",
        "corrupt the captions of a file, and print them as CSV",
        (
            _argument("corruption", help="metaeval list corruptions"),
            _argument("file", help="captions, as for dataset=own"),
            _argument("options", nargs="*", help="of the corruption: KEY=VALUE"),
            _argument("--rate", type=float, help="share of words, for corruptions with a rate"),
            _argument("--seed", type=int, default=0, help="(%(default)s)"),
        ),
    ),
    "diversity": Verb(
        "metaeval.metrics.ngram.diversity:main",
        "how varied captions are: words, n-grams, self-CIDEr",
        (_argument("results", nargs="+", type=Path, metavar="RESULTS.json"), _SPLIT),
    ),
}


def main() -> None:
    """Entry point: a verb, or the run of an experiment."""
    spell_out_what_cannot_be_printed()
    import_from_here()
    if sys.argv[1:2] and sys.argv[1] in VERBS:
        if hasattr(signal, "SIGPIPE"):  # metaeval list options | head
            signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        sys.exit(run_verb(sys.argv[1:]))
    words = sys.argv[1:]
    if "--version" in words:
        sys.exit(print(f"metaeval {__version__}"))
    if not {"-h", "--help", "help"}.isdisjoint(words):
        lines = (f"  {name:<11}  {verb.about}" for name, verb in VERBS.items())
        sys.exit(print(HELP.format(verbs="\n".join(lines))))
    from metaeval.cli.run import run_experiment  # slow to import: not for --help

    sys.exit(run_experiment(words, VERBS))


def import_from_here() -> None:
    """Find modules in the current folder, as `python -m metaeval` does and a script does not."""
    if os.getcwd() not in sys.path and not sys.flags.safe_path:
        sys.path.insert(0, os.getcwd())


@ends_with_status()
def run_verb(words: Sequence[str]) -> int | None:
    """Run a verb with its arguments; the exit code."""
    verb = VERBS[words[0]]
    parser = argparse.ArgumentParser(
        prog=f"metaeval {words[0]}", description=verb.about, allow_abbrev=False
    )
    for names, options in verb.arguments:
        parser.add_argument(*names, **options)
    given = parser.parse_intermixed_args(words[1:])
    if folder := getattr(given, "config_dir", None):
        from metaeval.choices import add_config_folder  # slow to import: not for --help

        add_config_folder(folder)
    module, _, name = verb.function.partition(":")
    code: int | None = getattr(import_module(module), name)(given)
    return code


def print_corrupted_captions(given: argparse.Namespace) -> None:
    """Print captions of a file and what a corruption makes of them, as CSV."""
    from metaeval.api import corrupt as corrupted  # slow to import
    from metaeval.data.own.captions import load_own
    from metaeval.overrides import option_value

    data = load_own(given.file)
    captions = dict(zip(data.image_ids, data.human, strict=True))
    options = dict(map(option_value, given.options))
    table = corrupted(captions, given.corruption, given.rate, given.seed, data.pool, **options)
    table.drop(columns="edits").to_csv(sys.stdout, index=False)
