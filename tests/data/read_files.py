"""A file, what a loader reads of it or how it is refused, and what is printed of it."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from metaeval.data.judgments.battles import load_battles
from metaeval.data.judgments.systems import load_systems
from metaeval.data.judgments.table import load_table
from metaeval.data.own.captions import load_own
from metaeval.data.own.score_files import read_scores
from metaeval.data.pairs.pairs import load_pairs_table
from metaeval.data.system_captions import read_system_captions
from metaeval.errors import ConfigError, InputError
from tests.data.table_files import write


def own(path: Path, **options: Any) -> dict[Any, list[str]]:
    """Image → its captions."""
    data = load_own(path, **options)
    texts = zip(data.image_ids, data.human, data.references, strict=True)
    return {image: [first, *others] for image, first, others in texts}


def rated(path: Path, **options: Any) -> list[tuple[Any, ...]]:
    """Image, candidate, references and ratings of each judged caption."""
    options = {"image_source": "other", **options}
    return [
        (j.image, j.candidate, *j.references, *(r for of in j.human.values() for r in of))
        for j in load_table(path, **options).judged
    ]


def coco(path: Path, **options: Any) -> list[str | None]:
    """Which photographs the images are."""
    return list(load_table(path, **options).dataset.image_source or ())


def pairs(path: Path, **options: Any) -> list[tuple[str, str]]:
    """The true and the false caption of each pair."""
    read = load_pairs_table(path, image_source="other", **options).pairs
    return [(p.true, p.false) for p in read]


def battles(path: Path, **options: Any) -> list[tuple[Any, ...]]:
    """Image, captions, winner, category, systems, rater and references of each battle."""
    read = load_battles(path, image_source="other", **options)
    winners = [None if w != w else w for w in ([] if read.winner is None else read.winner.tolist())]
    systems = read.systems or ((),) * len(read)
    columns = (read.first, read.second, winners, read.category, systems, read.raters)
    return list(zip(read.image, *columns, read.references, strict=True))


def systems(path: Path, **options: Any) -> dict[str, list[float]]:
    """People's values of each system."""
    read = load_systems(path, human=["h"], metrics=["m"], **options)
    return {system: [read.human["h"][k]] for k, system in enumerate(read.systems)}


def captions(path: Path, **options: Any) -> dict[Any, str]:
    """A system's captions of the images 7 and 8."""
    return dict(read_system_captions(path, "s", options.pop("known", (7, 8)), **options).captions)


def scores(path: Path, **options: Any) -> dict[Any, tuple[float, ...]]:
    """The scores of each image and caption."""
    files = [path, *path.parent.glob("other.*")]
    return {key[:2]: value for key, value in read_scores(files, **options).scores.items()}


class File(NamedTuple):
    """A file's name and content (or what writes it), its loader and options, and what is read.

    `read` is a text where the file is refused: a pattern of the message. `said` is printed.
    """

    name: str
    content: Any
    loader: Callable[..., Any]
    options: Mapping[str, Any]
    read: Any
    said: str | tuple[str, ...] = ()


def check(file: File, folder: Path, log: pytest.LogCaptureFixture) -> str | None:
    """The file is read as it should be, or refused in one line, which is returned."""
    path = write(folder / file.name, file.content)
    if isinstance(file.read, str):
        with pytest.raises((InputError, ConfigError), match=file.read) as refused:
            file.loader(path, **file.options)
        message = str(refused.value)
        assert "\n" not in message
        assert len(message) < 1000
        return message
    assert file.loader(path, **file.options) == file.read
    said = (file.said,) if isinstance(file.said, str) else file.said
    assert [part for part in said if part not in log.text] == []
    return None
