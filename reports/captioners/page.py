"""The report of `experiment=models`: one self-contained HTML file from a run's files.

`python -m reports.captioners.page RUN_DIR` rebuilds the report of a finished run.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from metaeval.errors import MetaevalError
from metaeval.runs import files as results
from reports.captioners import facts, tables, words
from reports.captioners.run import ModelsRun, load
from reports.shared import page, payload
from reports.shared.photos import thumbnails_of

SCRIPTS = "[012]-*.js 3-*.js 4-*.js"
STYLES = "[0123]-*.css 4-*.css 9-*.css"


def write_report(
    run_dir: Path | str, *, examples: int = 6, photos: int = 0, max_bytes: int = 5_000_000
) -> Path:
    """Write `report.html` into the directory of a finished run.

    Parameters
    ----------
    run_dir
        The directory; its files are all that is read.
    examples
        Images shown at a time.
    photos
        How many images' photos to embed as thumbnails (those with the greatest disagreement),
        where the run knows an image file. 0 by default: photos have owners, and weigh.
    max_bytes
        The report's size limit. Captions and scores of all images are embedded where they fit;
        where not, those with the greatest disagreement, and the page says so.

    Returns
    -------
    Path
        The report. The same run files give the same bytes.

    Raises
    ------
    InputError
        A file of the run is missing or broken, or the run is of another experiment.
    """
    run = load(Path(run_dir))
    path = run.directory / results.REPORT
    html = render(run, examples=examples, photos=photos, max_bytes=max_bytes)
    results.atomic(path, lambda p: p.write_text(html, encoding="utf-8", newline="\n"))
    return path


def render(run: ModelsRun, *, examples: int, photos: int, max_bytes: int) -> str:
    """The page as text, no longer than `max_bytes` where leaving out captions can make it so."""
    order = most_disagreement_first(run)
    shots = thumbnails_of(run.image_ids, run.image_paths, order[:photos])
    fixed_part = _fixed(run)
    keep = len(order)

    def made(captions: str, scores: str) -> str:
        meta = page.inert(_meta(run, examples, shots))
        return page.render(
            "captioners.html.j2", len(run.systems), room="captioners", scripts=SCRIPTS,
            styles=STYLES, meta=meta, captions=captions, scores=scores, kept=keep, **fixed_part,
        )  # fmt: skip

    fixed = len(made("", "").encode())
    while True:
        chosen = sorted(order[:keep])
        data = _captions(run, chosen), payload.scores(run.scores[:, :, chosen])
        size = fixed + sum(map(len, data))
        if size <= max_bytes or keep <= 1:
            return made(*data)
        keep = max(1, int(keep * 0.97 * max(max_bytes - fixed, 1) / max(size - fixed, 1)))


def most_disagreement_first(run: ModelsRun) -> list[int]:
    """Positions of images by disagreement, the greatest first, undefined ones last."""
    values = np.where(np.isnan(run.disagreement), -1.0, run.disagreement)
    return [int(i) for i in np.argsort(-values, kind="stable")]


def _captions(run: ModelsRun, images: Sequence[int]) -> str:
    """Per image [id, disagreement, [captions of the systems], [references]], packed."""
    rows = []
    for i in images:
        value = float(run.disagreement[i])
        told = None if np.isnan(value) else round(value, 4)
        captions = [own[i] for own in run.captions]
        rows.append([run.image_ids[i], told, captions, list(run.references[i])])
    return payload.packed_json(rows)


def _meta(run: ModelsRun, examples: int, shots: Mapping[str, str]) -> dict[str, Any]:
    """What the script knows at once; `sd` is the spread of all captions' scores."""
    higher = {r["column"]: r["higher_is_better"] for r in run.metrics}
    votes = set(run.statistics["disagreement"]["votes"])
    spread = [float(np.nanstd(v)) if not np.isnan(v).all() else 0.0 for v in run.scores]
    return {
        "sets": [{"name": name, "colour": run.colour(name)} for name in run.systems],
        "metrics": [
            {"name": name, "higher": higher.get(name, True), "vote": name in votes, "sd": sd}
            for name, sd in zip(run.columns, spread, strict=True)
        ],
        "examples": examples,
        "config": run.config,
        "name": run.statistics["experiment"],
        "photos": dict(shots),
    }


def _fixed(run: ModelsRun) -> dict[str, Any]:
    """What the page holds beside captions and scores of captions."""
    experiment = run.info.get("experiment") or {}
    return {
        "run": run,
        "info": run.info,
        "title": experiment.get("title") or run.statistics["experiment"],
        "question": experiment.get("question") or "",
        "headline": words.headline(run),
        "findings": words.summary(run),
        "alerts": words.alerts(run),
        "columns": tables.columns(run),
        "systems": tables.systems(run),
        "rankings": tables.rankings(run),
        "tests": tables.tests(run),
        "human": tables.against_human(run),
        "agreement": tables.agreement(run),
        "facts": facts.facts(run),
        "terms": facts.TERMS,
        "statistics": payload.packed_json(run.statistics),
    }


def main(arguments: list[str] | None = None) -> int:
    """The command: rebuild a report, print its path."""
    parser = argparse.ArgumentParser(prog="python -m reports.captioners.page", description=__doc__)
    parser.add_argument("run_dir", type=Path, help="directory of a finished run")
    parser.add_argument("--photos", type=int, default=0, help="photos to embed (default: none)")
    given = parser.parse_args(arguments)
    try:
        print(write_report(given.run_dir, photos=given.photos))
    except MetaevalError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
