"""The page of `experiment=captioners`: how metrics rank the systems, and how far they agree."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import pandas as pd
from markupsafe import Markup

from metaeval.reports.blocks import charts, tables, texts
from metaeval.reports.blocks.texts import NOTHING, Block, rendered
from metaeval.reports.measured import PageOptions, closing_blocks, extra_block
from metaeval.reports.paper.citations import save_links
from metaeval.reports.shared.formatting import number
from metaeval.reports.shared.page import fit_into_room, kept_of, photos_of
from metaeval.reports.shared.print_tables import (
    PrintCell,
    PrintTable,
    chosen_columns,
    highlighted_rows_first,
    scale_numbers,
    with_scores_of,
)
from metaeval.reports.shared.run import LoadedRun, image_paths_in
from metaeval.results.measured import Extra, MeasuredResult
from metaeval.results.notes import fill_sentences
from metaeval.results.sentences import score_title, system_text
from metaeval.runs import files
from metaeval.runs.print_style import highlighted_first, style
from metaeval.runs.records import CAPTION, HUMAN, IMAGE_ID, METRIC, REFERENCES, SCORE, SET

MATRICES = {"agreement-within-image": "Agreement", "human": "Human"}
ARROWS = {"better": "↑", "worse": "↓", "": ""}
CAPTION_PARTS = (
    "{title} on {images:,} images of {dataset}",
    ": scores with {percent:g}% intervals",
    ". Systems of a column that share a letter are not separated at {tests.alpha:.2g} ({methods}; "
    "Holm over {pairs} pairs); bold: the best, and those not separated from it",
    "; ↑ ↓: significantly better or worse than {baseline}",
    "; lower is better: {lower}",
)
EXAMPLES = (
    "{} images, those first on which the metrics disagree most about which system is better. {}"
)


def blocks(run: LoadedRun, options: PageOptions) -> list[Block]:
    """The blocks of the page, in order."""
    result = run.result
    extras = {extra.name: extra for extra in result.extras if extra.kind != "data" and extra.rows}
    opened = [
        tables.matrix_block(result, extras[name], title)
        for name, title in MATRICES.items()
        if name in extras
    ]
    return [
        texts.answer(run),
        _chart(result),
        *_systems(run),
        *opened,
        _examples(run, options),
        *(extra_block(run, extra) for name, extra in extras.items() if name not in MATRICES),
        tables.measures_table(run, title="Metrics"),
        *closing_blocks(run),
    ]


def _chart(result: MeasuredResult) -> Block:
    """The systems by what answers the question, with their intervals."""
    name = next(iter(result.systems), "")
    if not name or len(result.systems[name].ranking) < 2:
        return NOTHING
    systems = result.systems[name]
    estimates = {system: systems.scores[system] for system in systems.ranking}
    return charts.intervals("ranking", "Ranking", estimates, _head(result, name))


def _systems(run: LoadedRun) -> list[Block]:
    """The systems by the scores that stand for their metrics, and, folded, by the others."""
    result = run.result
    if not result.systems:
        return []
    other = {m.name for m in result.metrics if not m.column.headline}
    table = systems_table(run)
    heads = [name for name in result.systems if name not in other]
    html = _of_scores(run, heads or list(result.systems), table)
    blocks = [Block("systems", "Systems", html, tables=(table,))]
    if heads and len(heads) < len(result.systems):
        html = _of_scores(run, [name for name in result.systems if name in other], None)
        blocks.append(Block("other-scores", "Systems by other scores", html, folded=True))
    return blocks


def _of_scores(run: LoadedRun, names: Sequence[str], table: PrintTable | None) -> Markup:
    """A row a system, best first; a column for each of these scores, with letters of all pairs."""
    result, names = run.result, highlighted_first(names)
    rankings = [result.systems[name] for name in names]
    letters = [ranking.letters() for ranking in rankings]
    rows = []
    for system in highlighted_first(next(iter(result.systems.values())).scores):
        cells = [
            {
                "text": system_text(ranking, system),
                "title": system_text(ranking, system, interval=True),
                "value": ranking.scores[system].value,
                "best": system in ranking.leaders,
                "letters": f"{of_score[system]}{ARROWS[ranking.against(system)]}",
            }
            for ranking, of_score in zip(rankings, letters, strict=True)
        ]
        rows.append((system, cells))
    return rendered(
        "systems_table.html.j2",
        caption=_caption(run),
        heads=["System", *(_head(result, name) for name in names)],
        rows=rows,
        links=save_links([table]) if table is not None else [],
    )


def _head(result: MeasuredResult, name: str) -> str:
    return score_title(name, lower=result.systems[name].best == "lowest")


def systems_table(run: LoadedRun) -> PrintTable:
    """The same for a paper, with intervals. Means of sentences are in the CSV alone where the
    metric has a corpus score."""
    result = run.result
    first, names = next(iter(result.systems.values())), highlighted_first(result.systems)
    rows = []
    for system in first.scores:
        row = [PrintCell(system)]
        for ranking in map(result.systems.__getitem__, names):
            mark = f"{ranking.letters()[system]}{ARROWS[ranking.against(system)]}"
            text = scale_numbers(system_text(ranking, system, interval=True))
            row.append(PrintCell(text, system in ranking.leaders, f" {mark}" if mark else ""))
        rows.append(row)
    in_full = [k for k, name in enumerate(names, 1) if name.endswith("(mean of sentences)")]
    groups = highlighted_rows_first([rows])
    table = PrintTable("systems", _caption(run), ["System", *names], groups)
    table = table._replace(in_full=() if style().columns else in_full)
    return chosen_columns(with_scores_of(table, result))


def _caption(run: LoadedRun) -> str:
    result, confidence = run.result, run.result.settings["confidence"]
    tested = [r for r in result.systems.values() if r.is_decidable]
    methods = dict.fromkeys(r.comparisons.pairs[0].tests[0].method for r in tested)
    parts = fill_sentences(
        CAPTION_PARTS,
        title=run.title,
        images=result.facts["Images"],
        dataset=result.dataset,
        percent=100 * confidence if isinstance(confidence, float) else None,
        methods=", mean rank: ".join(reversed(methods)),
        tests=tested[0].comparisons if tested else None,
        pairs=len(tested[0].comparisons.pairs) if tested else None,
        baseline=tested[0].baseline if tested else None,
        lower=", ".join(name for name, r in result.systems.items() if r.best == "lowest"),
    )
    return f"{''.join(parts)}."


def _examples(run: LoadedRun, options: PageOptions) -> Block:
    """All systems' captions of an image side by side, most disagreement of metrics first."""
    result = run.result
    if not result.systems:
        return NOTHING
    references = files.read_run_table(run.directory / files.REFERENCES)
    images = references[IMAGE_ID].tolist()
    written = dict(zip(images, references[REFERENCES], strict=True))
    captions = files.read_run_table(run.directory / files.CAPTIONS)
    scores = files.read_run_table(run.directory / files.SCORES)
    votes = result.settings["votes in disagreement"]
    systems = list(next(iter(result.systems.values())).scores)
    text = captions[captions[SET] != HUMAN].set_index([IMAGE_ID, SET])[CAPTION].to_dict()
    of_metric = {
        str(metric): scores[scores[METRIC] == metric].set_index([IMAGE_ID, SET])[SCORE].to_dict()
        for metric in (votes if isinstance(votes, tuple) else ())
    }
    lower = {m.name.partition(" (")[0] for m in result.metrics if not m.column.higher_is_better}
    disagreement = result.extra("disagreement").frame().set_index(IMAGE_ID)["disagreement"]
    order = disagreement.astype(float).sort_values(ascending=False, kind="stable")
    records = []
    for image, value in order.items():
        record: dict[str, object] = {IMAGE_ID: image}
        if not pd.isna(value):
            record["disagreement"] = float(value)
        record["best by"] = _best_by(image, systems, of_metric, lower)
        for system in systems:
            if (caption := text.get((image, system))) is not None:
                numbers = [f"{m} {number(of.get((image, system)))}" for m, of in of_metric.items()]
                record[system] = f"{caption} ({', '.join(numbers)})"
        record["references"] = " | ".join(written[image])
        records.append(record)
    paths = dict(zip(images, image_paths_in(references), strict=True))
    photos, note = photos_of(list(order.index), [paths[i] for i in order.index], options.photos)

    def block(kept: int) -> Block:
        title = EXAMPLES.format(kept_of(kept, len(records)), note).strip()
        extra = Extra.of("examples", title, records[:kept], kind="examples")
        return texts.examples(extra, photos, "Captions", shown=options.examples, names=systems)

    return fit_into_room(len(records), block, lambda b: len(b.html.encode()), options.max_bytes)[1]


def _best_by(
    image: object,
    systems: Sequence[str],
    scores: Mapping[str, Mapping[Any, Any]],
    lower: Collection[str],
) -> str | None:
    """Which metrics have each system as the only best one of an image."""
    best: dict[str, list[str]] = {}
    for metric, of in scores.items():
        sign = -1 if metric.partition(" (")[0] in lower else 1
        known = {s: sign * of[image, s] for s in systems if not pd.isna(of.get((image, s)))}
        leading = [s for s, value in known.items() if value == max(known.values())]
        if len(leading) == 1:
            best.setdefault(leading[0], []).append(metric)
    return "; ".join(f"{s}: {', '.join(by)}" for s, by in best.items()) or None
