"""The default dataset: COCO val2017 where it is found, otherwise the embedded scenes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypedDict, Unpack

from metaeval.data.coco.files import find_coco_captions
from metaeval.data.coco.load import load_coco
from metaeval.data.dataset import Absent, CaptionDataset
from metaeval.options import Limit, PositiveInt, checked

STAND_IN = 1000  # scenes: with every metric a first run then ends within minutes


class CocoFiles(TypedDict, total=False):
    """What only COCO has: see `load_coco`."""

    root: str | Path | None
    data: str | Path | None
    captions: str | Path | None
    instances: str | Path | None
    images: str | Path | None
    download: bool
    exclude: str | Path | Sequence[str | Path] | None
    image_source: str | None


@checked
def load_auto(
    limit: Limit = None,
    n_references: PositiveInt = 4,
    cache: str | Path | None = None,
    **options: Unpack[CocoFiles],
) -> CaptionDataset:
    """COCO val2017, or the embedded `scenes`, which then say so in `CaptionDataset.fallback`.

    Parameters are those of `load_coco`; of the scenes, `limit` is 1,000 where none is given. Where
    the user gives a place (`root` or `captions`) or the download, COCO is used,
    without a replacement.

    Raises InputError for what `load_coco` refuses.
    """
    wanted = any(options.get(key) for key in ("root", "captions", "download"))
    if wanted or not isinstance(
        find_coco_captions("val2017", data=options.get("data"), cache=cache), Absent
    ):
        return load_coco(
            "coco_val2017",
            "val2017",
            limit=limit,
            n_references=n_references,
            cache=cache,
            **options,
        )
    from metaeval.data.scenes import load_scenes  # only where it is needed

    scenes = load_scenes(
        limit=STAND_IN if limit is None else limit, n_references=n_references, cache=cache
    )
    total = len(scenes.pool)
    part = f"{len(scenes):,} of the {total:,} " if len(scenes) < total else "the "
    whole = f"; all of them: dataset.limit={total}" if limit is None else ""
    fallback = (
        f"COCO val2017 was not found, so {part}embedded scenes are used instead{whole}; "
        "for COCO set METAEVAL_DATA or dataset.root, or add dataset.download=true"
    )
    return replace(scenes, fallback=fallback)
