"""What the captioners' report says of where its numbers come from, and of its words."""

from __future__ import annotations

from typing import Any, NamedTuple

from reports.captioners.run import ModelsRun
from reports.shared.formatting import amount, count, listed, number, seconds
from reports.shared.glossary import Term
from reports.shared.provenance import command


class Facts(NamedTuple):
    """The section on reproduction: a command, and tables of (what, value)."""

    command: str
    environment: list[tuple[str, str]]
    settings: list[tuple[str, str]]
    stages: list[tuple[str, str]]
    packages: list[tuple[str, str]]
    sources: list[tuple[str, str]]
    signatures: list[tuple[str, str, str]]
    metrics: list[tuple[str, str, str, str]]


def facts(run: ModelsRun) -> Facts:
    info, git = run.info, run.info.get("git")
    settings = run.statistics["settings"]
    commit = (
        f"{git['commit']}{' (with uncommitted changes)' if git['dirty'] else ''}" if git else ""
    )
    environment: list[tuple[str, Any]] = [
        ("metaeval", info.get("metaeval")),
        ("git commit", commit),
        ("Python", info.get("python")),
        ("platform", info.get("platform")),
        ("CPU cores", info.get("cpu_count")),
        ("Java", info.get("java")),
        ("CUDA", info.get("cuda")),
        ("seed", info.get("seed")),
        ("started", info.get("started")),
        ("finished", info.get("finished")),
        ("directory", info.get("working_directory")),
    ]
    references = run.statistics["references"]
    return Facts(
        command=command(info.get("command") or ()),
        environment=[(k, str(v)) for k, v in environment if v not in (None, "")],
        settings=[
            ("references of systems", _counts(references["systems"])),
            ("references against Human", _counts(references["against_human"])),
            ("bootstrap replicates", count(settings["replicates"])),
            ("permutations", count(settings["permutations"])),
            ("confidence", number(settings["confidence"], 2)),
            ("seed of resampling", str(settings["seed"])),
            ("votes in disagreement", listed(run.statistics["disagreement"]["votes"])),
        ],
        stages=[(s["name"], seconds(s["seconds"])) for s in info.get("stages") or ()],
        packages=_pairs(info.get("packages")),
        sources=_pairs((info.get("dataset") or {}).get("sources")),
        signatures=_signatures(run),
        metrics=[
            (
                m["metric"],
                seconds(m.get("seconds")),
                count(m.get("n_scored") or 0),
                count(m.get("n_cached") or 0),
            )
            for m in info.get("metrics") or ()
        ],
    )


def _signatures(run: ModelsRun) -> list[tuple[str, str, str]]:
    """Column, signature with all references, and against Human where it is another (CIDEr's)."""
    other = {r["column"]: r["signature"] for r in run.statistics["against_human"]}
    found = {
        r["column"]: r["signature"]
        for r in run.statistics["metrics"]
        if r["status"] == "ok" and r["signature"]
    }
    return [
        (column, signature, other[column] if other.get(column) not in (None, signature) else "")
        for column, signature in found.items()
    ]


def _counts(numbers: list[int]) -> str:
    if len(numbers) == 1:
        return amount(numbers[0], "reference")
    return f"{numbers[0]} to {numbers[-1]} references"


def _pairs(values: Any) -> list[tuple[str, str]]:
    return [(str(k), str(v)) for k, v in sorted((values or {}).items())]


TERMS: tuple[Term, ...] = (
    Term(
        "",
        "Corpus score",
        "BLEU, SacreBLEU or METEOR of all captions of a system together: their counts of matches "
        "and words are added up first, and the score is made of the sums. What papers report.",
    ),
    Term(
        "",
        "Mean of sentences",
        "The mean of the scores of single captions. For metrics without a corpus score it is what "
        "papers report; for BLEU, SacreBLEU and METEOR it is another number.",
    ),
    Term(
        "",
        "References",
        "A system's captions are compared with all captions that people wrote for the image; "
        "against Human, both sides with those that are left when the first is taken out.",
    ),
    Term(
        "",
        "Against Human",
        "Captions of a system (lower level) and of people (upper level), put in order of score; ρ "
        "is Spearman's correlation between the levels in that order and the perfect order. 1: all "
        "human captions above all of the machine's, 0: no difference, below 0: machine above "
        "people.",
    ),
    Term(
        "",
        "> and ≈",
        "Neighbours in a ranking: > where the permutation test, corrected, tells them apart, ≈ "
        "where it does not.",
        "The two captions of each image change places at random; p is the share of such "
        "arrangements with a difference at least as large.",
    ),
    Term(
        "",
        "Holm",
        "Correction for several tests: all pairs of neighbours in one metric's ranking. Each "
        "ranking is a family of its own.",
    ),
    Term(
        "",
        "Interval",
        "Percentile bootstrap over images: the systems are fixed, the images are a sample.",
    ),
    Term(
        "",
        "Kendall τ-b",
        "Pairs in the same order minus pairs in opposite order, over those that either metric "
        "tells apart (geometric mean).",
    ),
    Term(
        "",
        "Disagreement",
        "Of an image: take two captions and two metrics that both prefer one of them; the share of "
        "such cases in which they prefer different ones. Each metric has one vote; who ties "
        "abstains.",
    ),
    Term(
        "",
        "Conflict of two metrics",
        "The pair of captions of an image on which one metric prefers the first, the other the "
        "second, by most: the smaller of the two leads, each in standard deviations of its metric "
        "over all captions.",
    ),
    Term(
        "",
        "Mean rank",
        "A system's place, 1 being first, averaged over the scores that stand for their metrics: "
        "the corpus score where there is one, of BLEU the highest order, no components.",
    ),
)
