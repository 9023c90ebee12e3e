"""The tables of the captioners' report: what each cell shows, sorts by, and tells on hovering."""

from __future__ import annotations

from typing import Any, NamedTuple

from reports.captioners.run import CaptionersRun
from reports.shared.formatting import DASH, count, interval, known, number, with_interval
from reports.shared.print_tables import PrintTable, bold_best
from reports.shared.row_kind import Record


class ShadedCell(NamedTuple):
    """A cell: its text, what it sorts by, what hovering tells, its class, and a share in [0, 1]."""

    text: str
    value: float | None = None
    title: str = ""
    kind: str = ""
    share: float = 0.0


class SystemsColumn(NamedTuple):
    """A column of the table of systems; `kind` is "corpus" or "mean" where a metric has both."""

    name: str
    short: str
    tip: str
    kind: str


class RankingPlace(NamedTuple):
    """A system in a ranking; `sign` parts it from the one before ("", ">", "≈")."""

    system: str
    colour: str
    score: str
    sign: str
    title: str


def columns(run: CaptionersRun) -> list[SystemsColumn]:
    """One per score of systems."""
    both = {r["family"] for r in run.score_records if r["aggregate"] == "corpus"}
    columns = []
    for r in run.score_records:
        kind = "" if r["family"] not in both else "corpus" if r["aggregate"] == "corpus" else "mean"
        tip = f"{r['metric']}: {_WHAT[kind]} {_DIRECTION[r['higher_is_better']]}"
        columns.append(SystemsColumn(r["metric"], r["column"], tip, kind))
    return columns


_WHAT = {
    "": "the mean over the system's captions.",
    "corpus": "one score from the counts of all captions added up, as papers report it.",
    "mean": "the mean of the scores of single captions; not the corpus score.",
}
_DIRECTION = {True: "Higher is better.", False: "Lower is better."}


def systems(run: CaptionersRun) -> list[tuple[str, list[ShadedCell]]]:
    """One row per system, the best mean rank first: mean rank, then a cell per score."""
    ranks = {s["name"]: s["mean_rank"] for s in run.statistics["systems"]}
    rows = []
    for name in run.systems:
        rank = ranks[name]
        cells = [ShadedCell(number(rank, 1), rank, f"over {len(run.headlines)} scores")]
        for r in run.score_records:
            system = r["systems"][name]
            place = 1 + r["ranking"].index(name) if name in r["ranking"] else None
            title = f"{_percent(run)} interval {interval(system['score_ci'], 4)}; "
            title += f"{count(system['n'])} captions" + (f"; rank {place}" if place else "")
            kind = "best" if place == 1 else ""
            cells.append(ShadedCell(number(system["score"], 4), system["score"], title, kind))
        rows.append((name, cells))
    return rows


def systems_for_print(run: CaptionersRun) -> PrintTable:
    """The same for a paper: systems best first, scores with their intervals, the best bold."""
    records = [r["systems"] for r in run.score_records]
    heads = ["System", *(r["metric"] for r in run.score_records)]
    rows = [
        [name, *(with_interval(s[name]["score"], s[name]["score_ci"]) for s in records)]
        for name in run.systems
    ]
    values = [[None, *(s[name]["score"] for s in records)] for name in run.systems]
    higher = [True, *(r["higher_is_better"] for r in run.score_records)]
    caption = f"{run.title} on {run.statistics['dataset']}: scores with {_percent(run)} intervals."
    return PrintTable("systems", caption, heads, [bold_best(rows, values, higher)])


def rankings(run: CaptionersRun) -> list[tuple[Record, list[RankingPlace]]]:
    """Per score its ranking, with what lies between neighbours: a difference, or none shown."""
    return [(r, _places(run, r)) for r in run.score_records]


def _places(run: CaptionersRun, record: Record) -> list[RankingPlace]:
    places = []
    for k, name in enumerate(record["ranking"]):
        sign, title = "", ""
        if k:
            test = record["neighbours"][k - 1]
            sign = ">" if apart(test, run.alpha) else "≈"
            title = (
                f"{test['better']} − {test['worse']}: {number(test['difference'], 4)} "
                f"({interval(test['difference_ci'], 4)}), {count(test['n_images'])} images; "
                f"permutation p {p_value(test['p_permutation'])}, "
                f"Holm {p_value(test['p_permutation_holm'])}; "
                f"bootstrap p {p_value(test['p_bootstrap'])}, "
                f"Holm {p_value(test['p_bootstrap_holm'])}"
            )
        score = number(record["systems"][name]["score"], 4)
        places.append(RankingPlace(name, run.colour(name), score, sign, title))
    return places


def apart(test: Record, alpha: float) -> bool:
    """Whether the permutation test, corrected, tells two neighbours apart."""
    p = test["p_permutation_holm"]
    return p is not None and p <= alpha


def tests(run: CaptionersRun) -> list[tuple[str, list[list[str]]]]:
    """Per score, a line for each pair of neighbours, as in statistics.json."""
    return [
        (
            r["metric"],
            [
                [
                    t["better"], t["worse"], count(t["n_images"]), number(t["difference"], 4),
                    interval(t["difference_ci"], 4), p_value(t["p_permutation"]),
                    p_value(t["p_permutation_holm"]), p_value(t["p_bootstrap"]),
                    p_value(t["p_bootstrap_holm"]),
                ]
                for t in r["neighbours"]
            ],
        )
        for r in run.score_records
    ]  # fmt: skip


def against_human(run: CaptionersRun) -> list[tuple[str, list[ShadedCell]]]:
    """Per sentence score, each system's rank-order ρ against Human."""
    return [
        (r["metric"], [_duel(run, r["systems"][name], name) for name in run.systems])
        for r in run.human_records
    ]


def _duel(run: CaptionersRun, system: Record, name: str) -> ShadedCell:
    rho, ci = system["rank_order_rho"], system["rank_order_rho_ci"]
    if not known(rho):
        return ShadedCell(number(rho))
    open_ = not ci or None in ci or ci[0] <= 0 <= ci[1]
    kind = "open" if open_ else "human" if rho > 0 else "machine"
    title = (
        f"{name}: ρ {number(rho, 4)}, {_percent(run)} interval {interval(ci, 4)}; mean "
        f"{number(system['mean'], 4)}, Human {number(system['human_mean'], 4)}; Human's caption "
        f"scores higher on {number(100 * system['pairwise_accuracy'], 1)}% of "
        f"{count(system['n'])} images, lower on {number(100 * system['inversion_rate'], 1)}%"
    )
    return ShadedCell(number(rho, 2), rho, title, kind, min(1.0, abs(rho)))


def agreement(run: CaptionersRun) -> list[dict[str, Any]]:
    """The three matrices of τ-b: systems, captions of one image, all captions."""
    matrices = []
    for key, (label, lead) in _LEVELS.items():
        matrix = run.statistics["agreement"].get(key)
        if not matrix:
            continue
        names, taus, cis = matrix["metrics"], matrix["tau_b"], matrix.get("tau_b_ci")
        rows = []
        for i, name in enumerate(names):
            cells = []
            for j, other in enumerate(names):
                tau = taus[i][j]
                ci = f"; {_percent(run)} interval {interval(cis[i][j], 2)}" if cis else ""
                title = f"{name} and {other}: τ-b {number(tau, 3)}{ci}"
                kind = "self" if i == j else "machine" if known(tau) and tau < 0 else "human"
                share = abs(tau) if known(tau) else 0.0
                cells.append(ShadedCell(_short(tau), tau, title, kind, share))
            rows.append((name, cells))
        matrices.append({"key": key, "label": label, "lead": lead, "names": names, "rows": rows})
    return matrices


_LEVELS = {
    "systems": (
        "Systems",
        "Do two metrics rank the systems alike? 1: the same ranking, −1: the opposite. With few "
        "systems, single swaps weigh much; intervals come from resampling the images.",
    ),
    "within_image": (
        "Captions of one image",
        "Given two systems' captions of the same image, do two metrics prefer the same one? "
        "Captions of different images are never compared.",
    ),
    "captions": (
        "All captions",
        "Do two metrics put all captions, of whichever image, in the same order? This also counts "
        "whether they find the same images hard.",
    ),
}


def _short(value: float | None) -> str:
    """Two digits, as they stand in a matrix: .83, −.12, 1."""
    if not known(value):
        return DASH
    return "1" if value == 1 else number(value, 2).replace("0.", ".", 1)


def p_value(p: float | None) -> str:
    """0.034, and "<0.001" below that."""
    return "<0.001" if p is not None and p < 0.001 else number(p, 3)


def _percent(run: CaptionersRun) -> str:
    return f"{100 * (1 - run.alpha):g}%"
