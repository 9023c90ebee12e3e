"""Tables of systems: of each captioner people's values and metrics' values, a row a captioner.

The COCO captioning challenge of 2015 is read from the leaderboards' official files, lists of
submissions with `date`, `team` (`id`, `name`) and `results` (JSON text): `cap_challenge2015.json`
has what people said of 17 entries, `cap_c5.json` and `cap_c40.json` what metrics say of every
submission, with 5 and 40 references. They share the team's name only.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, NamedTuple, Unpack

import numpy as np
import numpy.typing as npt

from metaeval.data.download import find_files, given_path
from metaeval.data.fields import Fields, Row, common_columns, rename_fields, unused_columns
from metaeval.data.own.score_files import like_a_number, number_or_nan
from metaeval.data.own.tables import Reading, read_table
from metaeval.data.records import require_fields, require_known
from metaeval.errors import ConfigError, InputError
from metaeval.options import Names, checked
from metaeval.readers.files import parse_json
from metaeval.readers.tables import check_name, read_number

SYSTEM = "system"
CHALLENGE = "cap_challenge2015.json"
SOURCE = "https://cocodataset.org/#captions-leaderboard"
HUMAN = "Human"  # people's captions, an entry of the challenge
JUDGED = "2015-06-15"  # people judged what was submitted before
Question = Literal["M1", "M2", "M3", "M4", "M5"]
# people's questions → their names; the leaderboards' names of metrics → ours
QUESTIONS = {"q1": "M1", "q2": "M2", "q3": "M3", "q4": "M4", "q5": "M5"}
METRICS = {
    "Bleu_1": "BLEU-1",
    "Bleu_2": "BLEU-2",
    "Bleu_3": "BLEU-3",
    "Bleu_4": "BLEU-4",
    "METEOR": "METEOR",
    "ROUGE_L": "ROUGE-L",
    "CIDEr": "CIDEr",
    "SPICE": "SPICE",
}

Values = Mapping[str, npt.NDArray[np.float64]]


@dataclass(frozen=True)
class SystemsTable:
    """What people and metrics say of n systems.

    Attributes
    ----------
    name, title
        "coco2015" and what a reader calls it.
    systems
        The names of the systems.
    human, metrics
        Column → float64 [n], NaN where there is no value. The first column of people answers the
        question.
    sets
        Name → bool [n]: the systems to report on; the first set is the main one.
    controls, lower_is_better
        The metrics that are controls, and those whose lower values are better.
    """

    name: str
    title: str
    systems: tuple[str, ...]
    human: Values
    metrics: Values
    sets: Mapping[str, npt.NDArray[np.bool_]]
    controls: tuple[str, ...] = ()
    lower_is_better: tuple[str, ...] = ()
    sources: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


@checked
def load_systems(
    file: str | Path | None = None,
    name: str = "systems",
    human: Names = None,
    metrics: Names = None,
    without: Names = None,
    controls: Names = None,
    lower_is_better: Names = None,
    fields: Fields | None = None,
    **reading: Unpack[Reading],
) -> SystemsTable:
    """Your own table of systems; `conf/dataset/systems.yaml` describes the options.

    An empty cell is a value that is not known. The first set leaves out the systems of `without`, a
    second one has all. Raises InputError for a file that is not there or not as it should be.
    """
    if file is None:
        raise ConfigError("dataset=systems needs a file: dataset.file=FILE.csv")
    path = given_path(file, "file")
    table = read_table(path, reading, "dataset")
    notes = list(table.notes)
    rows = list(rename_fields(table.rows, fields, (SYSTEM,), path, notes, list_unused=False))
    rows.sort(key=lambda row: str(row[1].get(SYSTEM)))  # resampling does not depend on their order
    systems = [check_name(r[SYSTEM], file=path, record=w, field=SYSTEM) for w, r in rows]
    if repeated := [each for each, n in Counter(systems).items() if n > 1]:
        raise InputError(f"'{repeated[0]}' occurs twice", file=path, field=SYSTEM)
    human, metrics = _columns(rows, human, metrics, path)
    for option, chosen, known in (
        ("without", without, systems),
        ("controls", controls, metrics),
        ("lower_is_better", lower_is_better, metrics),
    ):
        require_known(option, chosen, known)
    first = table.rows[0].fields
    named = (fields or {}).get(SYSTEM) or next(iter(common_columns(SYSTEM, first)), SYSTEM)
    notes += unused_columns(path, first, {named, *human, *metrics})
    values = {
        column: np.array([number_or_nan(r.get(column), path, w, column) for w, r in rows])
        for column in (*human, *metrics)
    }
    for column in values:
        check_name(column, file=path, record=None, field=column)
    every = np.ones(len(systems), dtype=np.bool_)
    some = ~np.isin(systems, list(without or ()))
    return SystemsTable(
        name,
        name,
        tuple(systems),
        {column: values[column] for column in human},
        {column: values[column] for column in metrics},
        {f"without {', '.join(without)}": some, "all": every} if without else {"all": every},
        tuple(controls or ()),
        tuple(lower_is_better or ()),
        {path.name: table.sha256},
        tuple(notes),
    )


def _columns(
    rows: Sequence[Row], human: Names, metrics: Names, path: Path
) -> tuple[list[str], list[str]]:
    """The columns of people's and of metrics' values, as given or by default."""
    columns = list(dict.fromkeys(key for _, record in rows for key in record))
    numeric = [c for c in columns if any(like_a_number(record.get(c)) for _, record in rows)]
    people = list(human or [c for c in numeric if c.lower().startswith("human")])
    others = list(metrics or [c for c in numeric if c not in (*people, SYSTEM)])
    for option, chosen in (("human", people), ("metrics", others)):
        require_known(option, chosen, columns)
        if not chosen:
            raise ConfigError(f"dataset.{option}: name columns of {path}: {', '.join(columns)}")
    return people, others


class _Submission(NamedTuple):
    """A submission of a leaderboard."""

    team: str
    id: str
    date: str
    values: Mapping[str, float]


@checked
def load_coco2015(
    root: str | Path | None = None,
    references: Literal["c5", "c40"] = "c40",
    human: tuple[Question, ...] | list[Question] | None = None,
    data: str | Path | None = None,
) -> SystemsTable:
    """The COCO captioning challenge of 2015: 14 teams, 15 submissions, and people's captions.

    `conf/dataset/coco2015.yaml` describes the options.

    M1: share of captions at least as good as a person's; M2: share that pass the Turing test; M3:
    correctness, M4: detail (1 to 5); M5: share similar to a person's.
    Some teams' names stand for later submissions than those that people judged. They are left out
    of the first set; so are people's captions, which are far from every system.

    Raises InputError for files that are not there or not as they should be.
    """
    board = f"cap_{references}.json"
    files = find_files([CHALLENGE, board], folder="coco2015", source=SOURCE, root=root, data=data)
    sources: dict[str, str] = {}
    judged = list(_submissions(files[CHALLENGE], QUESTIONS, sources))
    scored = list(_submissions(files[board], METRICS, sources))
    names = list(QUESTIONS.values())
    pairs = [(entry, s) for entry in judged for s in scored if s.team == entry.team]
    if not pairs:
        raise InputError(f"no team of {CHALLENGE} is in {board}", file=files[board])
    times = Counter(s.team for _, s in pairs)
    later = np.array([s.date >= JUDGED for _, s in pairs])
    people = np.array([s.team == HUMAN for _, s in pairs])
    replaced = sorted({s.team for (_, s), is_later in zip(pairs, later, strict=True) if is_later})
    missing = [entry.team for entry in judged if entry.team not in times]
    return SystemsTable(
        "coco2015",
        f"COCO 2015 challenge, {references}",
        tuple(f"{s.team} ({s.id})" if times[s.team] > 1 else s.team for _, s in pairs),
        {name: np.array([entry.values[name] for entry, _ in pairs]) for name in human or names},
        {name: np.array([s.values[name] for _, s in pairs]) for name in METRICS.values()},
        {
            "not replaced": ~later & ~people,
            "with replaced": ~people,
            "with Human": ~later,
        },
        sources=sources,
        notes=(
            f"{', '.join(replaced)}: metrics scored a later submission ({JUDGED} or after) than "
            "people judged; a name is all that joins them. The set 'not replaced' leaves them out.",
            "Human (people's captions) is far from every system and decides a correlation alone: "
            "compare the sets.",
            f"Without values of metrics: {', '.join(missing)}.",
        ),
    )


def _submissions(
    path: Path, named: Mapping[str, str], sources: dict[str, str]
) -> Iterator[_Submission]:
    """The submissions of a leaderboard, their values under our names."""
    table = read_table(path)
    sources[path.name] = table.sha256
    for where, record in table.rows:
        require_fields(record, ("date", "team", "results"), path, where)
        team, results = record["team"], parse_json(str(record["results"]), path, where)
        if not isinstance(team, dict) or not isinstance(results, dict):
            field = "results" if isinstance(team, dict) else "team"
            raise InputError("is not an object", file=path, record=where, field=field)
        require_fields(team, ("id", "name"), path, where)
        require_fields(results, tuple(named), path, where)
        values = {ours: read_number(results[k], path, where, k) for k, ours in named.items()}
        yield _Submission(str(team["name"]), str(team["id"]), str(record["date"]), values)
