"""The report of `experiment=captioners`: one self-contained HTML file from a run's files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from metaeval.options import NonNegativeInt, PositiveInt
from metaeval.reports.captioners import tables
from metaeval.reports.captioners.alerts import alerts
from metaeval.reports.captioners.glossary import TERMS
from metaeval.reports.captioners.length import length_table
from metaeval.reports.captioners.paper import forest_figure, print_tables
from metaeval.reports.captioners.run import CaptionersRun, read_captioners_run
from metaeval.reports.captioners.summary import headline, summary
from metaeval.reports.paper.citations import cite
from metaeval.reports.paper.figures import inline, write_figure
from metaeval.reports.paper.links import save_links
from metaeval.reports.paper.saved import SavedTable, saved_table
from metaeval.reports.shared import page, payload
from metaeval.reports.shared.elements import Header
from metaeval.reports.shared.formatting import amount, count, listed, number
from metaeval.reports.shared.photos import thumbnails
from metaeval.reports.shared.print_tables import write_tables
from metaeval.reports.shared.provenance import Provenance, language_date_and_version, reproduction
from metaeval.results.captioners import LengthAnalysis
from metaeval.results.files import dump
from metaeval.runs import files

FOREST = "forest"


def write_report(
    run_dir: Path | str,
    *,
    examples: PositiveInt = 6,
    photos: NonNegativeInt = 0,
    max_bytes: PositiveInt = 5_000_000,
) -> Path:
    """Write `report.html`, `tables/` and `figures/` into the directory of a finished run, from its
    files alone.

    It shows `examples` at a time, and as many `photos` (thumbnails, where the run knows an
    image file; 0 by default, for photos have owners, and weigh). Where captions and scores of all
    images don't fit into `max_bytes`, those with the greatest disagreement are embedded, and the
    page says so; photos are theirs too. The same run files give the same bytes.

    Raises InputError for a file that is missing or broken, and for a run of another experiment.
    """
    run = read_captioners_run(Path(run_dir))
    length = _lengths(run.result.length).table
    write_tables(run.directory, [*print_tables(run).values(), length])
    if (forest := forest_figure(run)) is not None:
        write_figure(forest, run.directory / files.FIGURES, FOREST, f"{run.title}: ρ against Human")
    order = run.most_disagreement_first()
    shots = thumbnails(run.image_ids, run.image_paths, order[:photos])
    render = partial(_render, run, _context(run), page.inert(_meta(run, examples, shots)))
    room = max_bytes - len(render(EmbeddedCaptions("", ""), 0).encode())
    keep, data = payload.fit(len(order), lambda k: _pack(run, sorted(order[:k])), room)
    return page.write_page(run.directory / files.REPORT, render(data, keep))


class EmbeddedCaptions(NamedTuple):
    """The packed data of the images that the page shows."""

    captions: str
    scores: str

    @property
    def size(self) -> int:
        return len(self.captions) + len(self.scores)


def _pack(run: CaptionersRun, images: Sequence[int]) -> EmbeddedCaptions:
    """Per image [id, disagreement, [captions of the systems], [references]]; and all scores."""
    rows = []
    for i in images:
        value = float(run.disagreement[i])
        disagreement = None if np.isnan(value) else round(value, 4)
        captions = [texts[i] for texts in run.captions]
        rows.append([run.image_ids[i], disagreement, captions, run.references[i]])
    scores = payload.pack_scores(run.scores[:, :, images])
    return EmbeddedCaptions(payload.pack_json(rows), scores)


def _render(
    run: CaptionersRun, context: Mapping[str, Any], meta: str, data: EmbeddedCaptions, kept: int
) -> str:
    """The page around the data of `kept` images."""
    return page.render(
        "captioners.html.j2", len(run.systems), room="captioners", meta=meta,
        captions=data.captions, scores=data.scores, kept=kept, **context,
    )  # fmt: skip


def _meta(run: CaptionersRun, examples: int, shots: Mapping[str, str]) -> dict[str, Any]:
    """What the script knows at once; `sd` is the spread of all captions' scores."""
    higher = {m.numbers.sentence_column: m.column.higher_is_better for m in run.scores_of_systems}
    votes = set(run.result.disagreement.votes)
    spread = [float(np.nanstd(v)) if not np.isnan(v).all() else 0.0 for v in run.scores]
    return {
        "sets": [{"name": name, "colour": run.colour(name)} for name in run.systems],
        "metrics": [
            {"name": name, "higher": higher.get(name, True), "vote": name in votes, "sd": sd}
            for name, sd in zip(run.columns, spread, strict=True)
        ],
        "examples": examples,
        "config": run.config,
        "name": run.result.experiment,
        "photos": dict(shots),
    }


def _context(run: CaptionersRun) -> dict[str, Any]:
    """What the page holds except captions and scores of captions."""
    result = run.result
    references = {
        "systems": _range(result.references.systems),
        "against_human": _range(result.references.against_human),
    }
    return {
        "run": run,
        "header": Header(
            "Evaluation of captioners, and of the metrics that judge them",
            run.title,
            run.question,
            [
                ("Dataset", result.dataset),
                ("Size", headline(run)),
                ("References", references["systems"]),
                *language_date_and_version(run.info),
            ],
            legend_label="Systems by mean rank, best first",
            legend_class="legend systems",
            legend=[(run.colour(name), name) for name in run.systems],
            fallback=run.dataset.fallback,
        ),
        "findings": summary(run),
        "alerts": alerts(run),
        "no_alerts": "every metric ran, every system has a caption of every image, and every "
        "caption has every score.",
        "references": references,
        "columns": tables.columns(run),
        "systems": tables.systems(run),
        "rankings": tables.rankings(run),
        "tests": tables.tests(run),
        "length": _lengths(result.length),
        "human": tables.against_human(run),
        "agreement": tables.agreement(run),
        "links": {name: save_links([table]) for name, table in print_tables(run).items()},
        "forest": None
        if (forest := forest_figure(run)) is None
        else inline(forest, "Rank-order ρ against Human of every system by every score"),
        "citation": cite(run),
        "provenance": _provenance(run, references),
        "downloads": {
            "config": "Resolved config",
            "table": "All scores as CSV",
            "scores": "Captions and scores as CSV",
            "statistics": "statistics.json",
        },
        "wide_times": True,
        "terms": TERMS,
        "statistics": payload.pack_json(dump(result)),
    }


def _lengths(length: LengthAnalysis) -> SavedTable:
    """Mean scores by length bins, as a table that can be saved."""
    heads, rows = length_table(length)
    caption = "Mean scores by the length of captions, as a share of the references' length."
    return saved_table("", "length", caption, heads, rows)


def _range(n: Sequence[int]) -> str:
    """Five references; 2 to 5 references."""
    return amount(n[0], "reference") if len(n) == 1 else f"{n[0]} to {n[-1]} references"


def _provenance(run: CaptionersRun, references: Mapping[str, str]) -> Provenance:
    """With a signature against Human as well where it is another (CIDEr's)."""
    result, settings = run.result, run.result.settings
    against_human = {m.name: m.signature for m in result.against_human}
    systems = {
        m.numbers.sentence_column: m.signature for m in result.metrics if m.ok and m.signature
    }
    signatures = []
    for column, signature in systems.items():
        signatures.append((column, signature))
        other = against_human.get(column)
        if other is not None and other != signature:
            signatures.append((f"{column} against Human", other))
    return reproduction(run, {})._replace(
        settings=[
            ("references of systems", references["systems"]),
            ("references against Human", references["against_human"]),
            ("bootstrap replicates", count(settings.replicates)),
            ("permutations", count(settings.permutations)),
            ("confidence", number(settings.confidence, 2)),
            ("seed of resampling", str(settings.seed)),
            ("votes in disagreement", listed(result.disagreement.votes)),
        ],
        signatures=signatures,
    )
