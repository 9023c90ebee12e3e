"""SPICE here against the original jar: the same numbers, and how long they take.

    python benchmarks/spice.py speed     the jar against first and warm run, on 5,000 captions
    python benchmarks/spice.py merging   20,000 captions through the jar's own scorer, same tuples
    python benchmarks/spice.py tuples    5,000 captions, tokenised: the jar's graphs and ours
    python benchmarks/spice.py profile   where our service's time goes (needs a JDK, for `jfr`)

Data: METAEVAL_DATA (COCO val2017's captions). The jar dies on Java 15 and newer without a
JavaScript engine: `speed` puts Nashorn, which Maven brings, on its class path, and leaves out
`-cache`, which dies on Java 16 and newer. That is pycocoevalcap's call, made to run. Kendall's τ-c
on Flickr8k-Expert is what `python -m metaeval experiment=judgments metrics=[spice]` prints.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.side_by_side import T, available, coco_captions, options_parser, timed
from metaeval.java.runtime import find_java
from metaeval.metrics.spice.metric import CATEGORIES, Graph, f_scores, load_synonyms
from metaeval.runs.store import MemoryStore, SqliteStore, Store
from metaeval.text.scene_graphs import spice_service
from metaeval.text.scene_graphs.parse import CaptionGraph, default_cache
from metaeval.text.scene_graphs.spice_service import SpiceParser, Tuples
from metaeval.text.tokenizers.base import get as get_tokenizer

Item = tuple[str, list[str]]  # a candidate and its references

ORACLE = Path(__file__).parents[1] / "tests/metrics/spice/SpiceOracle.java"
_NASHORN = (
    "org.openjdk.nashorn:nashorn-core:15.4",
    *(f"org.ow2.asm:asm{part}:7.3.1" for part in ("", "-analysis", "-commons", "-tree", "-util")),
)
HEAP = 4096  # MiB, of Java
_COPY = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy"


def ours(items: Sequence[Item], store: Store, arguments: argparse.Namespace) -> np.ndarray:
    """Scores [n, 7] by metaeval: parse what is not in the store, merge, match."""
    return scores_of(items, parsed(items, store, arguments))


def parsed(
    items: Sequence[Item], store: Store, arguments: argparse.Namespace
) -> dict[str, Tuples | None]:
    """The tuples of every sentence, parsed unless the store has them."""
    sentences = list(dict.fromkeys(s for test, refs in items for s in (test, *refs)))
    threads = arguments.threads or None
    with SpiceParser(default_cache(), store, heap=HEAP, threads=threads) as parse:
        return dict(zip(sentences, parse(sentences), strict=True))


def scores_of(items: Sequence[Item], tuples: Mapping[str, Tuples | None]) -> np.ndarray:
    """Scores [n, 7] of parsed sentences."""
    synonyms = load_synonyms(spice_service.spice_file(spice_service.METEOR_JAR))
    scores = []
    for test, refs in items:
        reference = Graph([t for ref in refs for t in tuples[ref] or []], synonyms)
        scores.append(f_scores(Graph(tuples[test] or [], synonyms), reference))
    return np.array(scores)


def java() -> str:
    return str(available(find_java()).executable)


def values(scores: dict[str, dict[str, float | None]]) -> list[float]:
    return [np.nan if (f := scores[c]["f"]) is None else f for c in CATEGORIES]


def copy_nashorn(here: Path) -> None:
    """Put the JavaScript engine that the jar needs into the folder; not part of what is timed."""
    maven = shutil.which("mvn") or "mvn"
    for artifact in _NASHORN:
        copy = [_COPY, f"-Dartifact={artifact}", f"-DoutputDirectory={here}"]
        subprocess.run([maven, "-q", "-B", *copy], check=True, stdout=sys.stderr)


def original(items: Sequence[Item], nashorn: Path, arguments: argparse.Namespace) -> np.ndarray:
    """Scores [n, 7] by the jar's own main class, as pycocoevalcap starts it, made to run."""
    asked = [{"image_id": i, "test": t, "refs": r} for i, (t, r) in enumerate(items)]
    output = run_jar(asked, ["-subset"], nashorn, arguments)
    return np.array([values(item["scores"]) for item in output])


def run_jar(
    asked: Sequence[dict[str, Any]], options: Sequence[str], nashorn: Path, arguments: Any
) -> list[dict[str, Any]]:
    """What the jar's own main class answers, item by item."""
    with tempfile.TemporaryDirectory() as name:
        here = Path(name)
        path = os.pathsep.join([spice_service.class_path(default_cache()), f"{nashorn}/*"])
        (here / "in.json").write_text(json.dumps(asked))
        threads = ["-threads", str(arguments.threads)] if arguments.threads else []
        command = [java(), f"-Xmx{HEAP}m", "-cp", path, "edu.anu.spice.SpiceScorer"]
        files = [str(here / "in.json"), "-out", str(here / "out.json")]
        subprocess.run(
            [*command, *files, "-silent", *options, *threads], check=True, stdout=sys.stderr
        )
        output: list[dict[str, Any]] = json.loads((here / "out.json").read_text())
    return output


def compare(mine: np.ndarray, theirs: np.ndarray) -> None:
    """Say how far two tables of scores are apart, NaN equal to NaN only."""
    same = np.isclose(mine, theirs, rtol=0, atol=1e-9, equal_nan=True)
    print(
        f"captions {len(mine)}; mean SPICE {mine[:, 0].mean():.15f}, jar {theirs[:, 0].mean():.15f}"
    )
    for column, category in enumerate(CATEGORIES):
        both = ~np.isnan(mine[:, column]) & ~np.isnan(theirs[:, column])
        worst = np.abs(mine[both, column] - theirs[both, column]).max(initial=0.0)
        print(
            f"  {category:<12} different {int((~same[:, column]).sum())} "
            f"(defined on {int(both.sum())}; largest difference {worst:.1e})"
        )


def processor_seconds() -> float:
    """User and system time so far of this process and of the children that have ended."""
    both = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in both)


def measured(work: Callable[[], T]) -> tuple[T, float, float]:
    """What the work returns, its seconds by the clock, and those of all processes together."""
    before = processor_seconds()
    result, seconds = timed(work)
    return result, seconds.clock, processor_seconds() - before


def speed(arguments: argparse.Namespace) -> None:
    items = [(c[0], c[1:5]) for c in coco_captions("val2017")[: arguments.captions]]
    with tempfile.TemporaryDirectory() as name:
        copy_nashorn(Path(name))
        store = SqliteStore(Path(name) / "content.sqlite")
        runs = {
            "first run": measured(lambda: ours(items, store, arguments)),
            "warm run": measured(lambda: ours(items, store, arguments)),
            "the jar": measured(lambda: original(items, Path(name), arguments)),
        }
        store.close()
    assert np.array_equal(runs["first run"][0], runs["warm run"][0], equal_nan=True)
    compare(runs["first run"][0], runs["the jar"][0])
    for run, (_, seconds, work) in runs.items():
        print(
            f"  {run}: {seconds:.1f} s ({work:.0f} s of processor time), "
            f"{runs['the jar'][1] / seconds:.1f} times the jar's speed"
        )


def merging(arguments: argparse.Namespace) -> None:
    """Each of an image's first four captions against its other four, scored by both."""
    images = [captions[:5] for captions in coco_captions("val2017")[: arguments.captions]]
    items = [(c[k], c[:k] + c[k + 1 :]) for c in images for k in range(4)]
    store: Store = SqliteStore(arguments.store) if arguments.store else MemoryStore()
    tuples = parsed(items, store, arguments)
    items = [(t, r) for t, r in items if all(tuples[s] is not None for s in (t, *r))]
    asked = [{"test": tuples[t], "refs": [tuples[r] for r in refs]} for t, refs in items]
    answer = subprocess.run(
        [java(), "-Xmx1g", "-cp", spice_service.class_path(default_cache()), str(ORACLE)],
        input="".join(json.dumps(item) + "\n" for item in asked),
        stdout=subprocess.PIPE,
        check=True,
        text=True,
    ).stdout
    theirs = np.array([values(json.loads(line)["scores"]) for line in answer.splitlines()])
    compare(scores_of(items, tuples), theirs)


def tokenised(captions: int) -> list[str]:
    """So many distinct captions of COCO val2017, as SPICE reads them."""
    texts = [caption for image in zip(*coco_captions("val2017"), strict=False) for caption in image]
    return list(dict.fromkeys(" ".join(words) for words in get_tokenizer("ptb")(texts)))[:captions]


def tuples(arguments: argparse.Namespace) -> None:
    """The jar's own graph of each caption, and that of our service's tuples."""
    sentences = tokenised(arguments.captions)
    store: Store = SqliteStore(arguments.store) if arguments.store else MemoryStore()
    ours, _, our_work = measured(lambda: parsed([(s, []) for s in sentences], store, arguments))
    with tempfile.TemporaryDirectory() as name:
        here = Path(name)
        copy_nashorn(here)
        asked = [{"image_id": i, "test": s, "refs": []} for i, s in enumerate(sentences)]
        theirs, _, work = measured(
            lambda: run_jar(asked, ["-detailed", "-noSynsets"], here, arguments)
        )
    different = []
    for sentence, answer in zip(sentences, theirs, strict=True):
        graph = CaptionGraph.from_tuples(ours[sentence] or [])
        said = {tuple(each["tuple"]) for each in answer["test_tuples"]}
        known = {*((o,) for o in graph.objects), *graph.attributes, *graph.relations}
        if said != known:
            different.append(sentence)
    print(f"{len(sentences)} captions: {len(different)} with other tuples {different[:5]}")
    print(f"processor time: the jar {work:.0f} s, our service {our_work:.0f} s (0 from a store)")


PARTS = {
    "listing the k best trees": "KBest",
    "the chart: its inner loop": "doInsideScores",
    "the chart: setting up": "ExhaustivePCFGParser",
    "dependency graphs": "SemanticGraph|GrammaticalStructure|SemgrexPattern|TregexPattern",
    "SPICE's rules": "edu.anu.spice",
}


def profile(arguments: argparse.Namespace) -> None:
    """Shares of the samples of Java Flight Recorder, while the service parses."""
    with tempfile.TemporaryDirectory() as name:
        record = Path(name) / "service.jfr"
        with SpiceParser(default_cache(), heap=HEAP, threads=arguments.threads or None) as parse:
            parse(["a dog sits on a chair"])  # now it runs
            pid = str(parse.pid)
            for ask in (["JFR.start", "name=parse"], ["JFR.dump", f"filename={record}"]):
                subprocess.run(["jcmd", pid, *ask], check=True, stdout=sys.stderr)
                parse(tokenised(arguments.captions))  # the second time nothing is new
        command = ["jfr", "print", "--stack-depth", "64", "--events", "ExecutionSample", record]
        text = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    events = text.split("jdk.ExecutionSample")[1:]
    samples = [event for event in events if "SceneGraphService" in event]
    counts = Counter(
        next((part for part, names in PARTS.items() if re.search(names, each)), "the rest")
        for each in samples
    )
    print(f"{arguments.captions} captions, {len(samples)} samples")
    for part, count in counts.most_common():
        print(f"  {part:<28} {count / len(samples):.0%}")


def main() -> None:
    parser = options_parser(__doc__, "threads")
    parser.add_argument("what", choices=["speed", "merging", "tuples", "profile"])
    parser.add_argument("--captions", type=int, default=5000, help="images of COCO val2017")
    parser.add_argument("--store", type=Path, help="a content store of parses, to add to")
    arguments = parser.parse_args()
    commands = {"speed": speed, "merging": merging, "tuples": tuples, "profile": profile}
    commands[arguments.what](arguments)


if __name__ == "__main__":
    main()
