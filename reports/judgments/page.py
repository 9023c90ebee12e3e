"""The report of a run against human judgements: one self-contained HTML file.

`python -m reports.judgments.page RUN_DIR` rebuilds the report of a finished run.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from metaeval.errors import MetaevalError
from metaeval.runs import files as results
from reports.judgments.findings import findings
from reports.judgments.matrix import matrix
from reports.judgments.table import choice_table, ratings_table, system_table
from reports.shared import formatting, page, provenance


def write_report(run_dir: Path | str) -> Path:
    """Write `report.html` into a run's directory, from its files alone.

    The same run files give the same bytes. Raises InputError for a file that is missing or broken.
    """
    directory = Path(run_dir)
    statistics = results.read_json(directory / results.STATISTICS)
    info = results.read_json(directory / results.RUN)
    config = directory / results.CONFIG
    html = render(statistics, info, config.read_text(encoding="utf-8") if config.is_file() else "")
    path = directory / results.REPORT
    results.atomic(path, lambda p: p.write_text(html, encoding="utf-8", newline="\n"))
    return path


def render(statistics: Mapping[str, Any], info: Mapping[str, Any], config: str) -> str:
    """The page as text."""
    choice = statistics["kind"] == "forced_choice"
    table = choice_table(statistics) if choice else ratings_table(statistics)
    alpha = statistics["settings"]["alpha"]
    matrices = []
    for (name, rows), differences in zip(
        table.bodies, statistics["differences"].values(), strict=True
    ):
        order = [row.metric for row in rows if row.kind == "result"]
        matrices.append((name, matrix(differences, order, alpha)))
    run = SimpleNamespace(
        statistics=statistics, info=info, sets=(), metrics=statistics["metrics"], config=config
    )
    systems = statistics.get("systems") or []
    return page.render(
        "judgments.html.j2",
        1,
        room="judgments",
        scripts="[01]-*.js",
        title=f"Metrics against people on {statistics['title']}",
        info=info,
        statistics=statistics,
        choice=choice,
        table=table,
        matrices=matrices,
        findings=findings(statistics, table, [lines for _, lines in matrices]),
        systems=[(d, system_table(statistics, d)) for d in statistics["dimensions"]]
        if len(systems) > 1
        else [],
        facts=provenance.facts(cast(Any, run)),
        protocol=_protocol(statistics),
        config=config,
        tests=formatting.listed(_tests(statistics)),
        alpha=alpha,
    )


def _tests(statistics: Mapping[str, Any]) -> list[str]:
    told = {
        "permutation": "P the paired permutation test",
        "bootstrap": "B the paired bootstrap over images",
        "williams": "W Williams' test (of Pearson's r with the captions' mean ratings)",
    }
    pair: Mapping[str, Any] = next(
        (p for d in statistics["differences"].values() for p in d["pairs"]), {}
    )
    return [text for test, text in told.items() if test in pair]


def _protocol(statistics: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The protocol and the counts, in words."""
    facts = statistics["facts"]
    if statistics["kind"] == "forced_choice":
        return [
            ("Pairs", f"{facts['pairs']:,} of {facts['images']:,} images"),
            ("Undecided by people", f"{facts['undecided']:,} (count one half)"),
            ("Draws of references", str(statistics["draws"])),
        ]
    protocol = statistics["protocol"]
    own = {
        "drop": "left out",
        "unreference": "kept, and taken out of their image's references",
        "keep": "kept, and compared with themselves",
    }[protocol["own_captions"]]
    documents = {
        "rating": "every rating",
        "pair": "every judged caption with its references",
        "image": "every image",
    }[protocol["documents"]]
    rows = {"each": "every rating", "mean": "every caption, with its mean rating"}
    return [
        ("Protocol", protocol["name"]),
        ("Judged captions", f"{facts['judged']:,} of {facts['images']:,} images"),
        (f"Own captions ({facts['own_captions']:,})", own),
        (
            "A row of the correlations is",
            f"{rows[protocol['ratings']]} "
            f"({', '.join(f'{d}: {n:,}' for d, n in facts['rows'].items())})",
        ),
        ("A document of CIDEr's idf is", f"{documents} ({facts['documents']:,})"),
        ("Captions without references", f"{facts['without_references']:,}"),
    ]


def main(arguments: list[str] | None = None) -> int:
    """The command: rebuild a report, print its path."""
    parser = argparse.ArgumentParser(prog="python -m reports.judgments.page", description=__doc__)
    parser.add_argument("run_dir", type=Path, help="directory of a finished run")
    try:
        print(write_report(parser.parse_args(arguments).run_dir))
    except MetaevalError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
