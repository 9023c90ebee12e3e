"""Where scenes happen, and which plots each place allows."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from metaeval.data.scenes import plots as p
from metaeval.data.scenes.stage import Stage

Plot = Callable[[Stage], None]


class Setting(NamedTuple):
    """A place: which lights it knows, what may stand in the background, what happens there.

    `decor` options are (name, percent); a scene shows each with that chance.
    """

    lights: tuple[str, ...]
    decor: tuple[tuple[str, int], ...]
    plots: tuple[Plot, ...]
    extras: tuple[str, ...]
    weight: int = 4


DAY = ("sunny", "sunny", "sunny", "cloudy", "cloudy", "overcast", "sunset")
CITY = (*DAY, "night")
ROOM = ("indoors",)
FOOD = ("pizza", "cake", "sandwich", "hot dog", "donut", "bowl", "broccoli", "carrot", "banana",
        "apple", "orange", "cup", "wine glass", "bottle", "fork", "knife", "spoon",
        "vase")  # fmt: skip
DESK = ("laptop", "keyboard", "mouse", "cup", "cell phone", "book", "scissors", "monitor", "vase",
        "remote")  # fmt: skip


def _each(plot: Callable[..., None], *options: tuple[str, ...]) -> tuple[Plot, ...]:
    """One plot for each tuple of string arguments."""
    return tuple(lambda s, o=o: plot(s, *o) for o in options)


def _one(plot: Callable[..., None], *kinds: str) -> tuple[Plot, ...]:
    return _each(plot, *((k,) for k in kinds))


def _table(kinds: tuple[str, ...], table: str, diners: int) -> Plot:
    return lambda s: p.tabletop(s, kinds, table, diners)


SETTINGS: dict[str, Setting] = {
    "beach": Setting(
        DAY, (("palm tree", 45), ("rocks", 25), ("seashells", 20)),
        (*_one(p.carrying, "surfboard", "surfboard"), p.kite_flyers, p.kite_flyers, p.catching,
         *_one(p.riders, "horse"), *_each(p.holding, ("umbrella", "raise"), ("frisbee",)),
         *_each(p.pair, ("dog", "sports ball"), ("dog", "umbrella"), ("chair", "umbrella"),
                ("surfboard", "chair")),
         *_one(p.herd, "bird", "dog"), p.leash, *_each(p.seated, ("bench", "person"))),
        ("sports ball", "dog", "bird", "umbrella", "chair", "surfboard", "person"),
    ),
    "ocean": Setting(
        DAY, (("island", 30), ("clouds", 30)),
        (*_one(p.boarders, "surfboard", "surfboard", "surfboard"), *_one(p.flying, "bird"),
         *_each(p.inside, ("person", "boat"), ("dog", "boat")),
         *_one(p.parked, "boat")),
        ("bird",), 3,
    ),
    "lake": Setting(
        DAY, (("mountains", 50), ("trees", 50), ("dock", 30)),
        (*_one(p.parked, "boat", "boat"), *_each(p.inside, ("person", "boat"), ("dog", "boat")),
         *_one(p.flying, "bird", "airplane"),
         ),
        ("bird",), 3,
    ),
    "street": Setting(
        CITY, (("trees", 35), ("crosswalk", 30), ("street lamp", 25), ("shop", 40)),
        (*_one(p.parked, "car", "bus", "truck", "motorcycle", "bicycle", "bus", "car"),
         *_each(p.parked, ("car", "fire hydrant"), ("car", "parking meter"), ("bus", "stop sign"),
                ("truck", "traffic light"), ("car", "stop sign"), ("bicycle", "parking meter"),
                ("motorcycle", "car"), ("bus", "traffic light"), ("car", "fire hydrant", "behind"),
                ("truck", "fire hydrant", "behind"), ("bus", "bicycle", "behind")),
         *_one(p.riders, "bicycle", "motorcycle", "motorcycle", "bicycle"),
         *_one(p.boarders, "skateboard"), p.leash, p.suited, p.packed,
         *_each(p.holding, ("umbrella", "raise"), ("cell phone",), ("handbag", "walk"),
                ("umbrella", "raise"), ("hot dog",), ("cup",)),
         *_each(p.pair, ("dog", "fire hydrant"), ("cat", "bicycle"), ("fire hydrant",
                "parking meter"), ("stop sign", "traffic light")),
         *_each(p.keeper, ("bus", "next to"), ("motorcycle", "next to"), ("car", "next to"),
                ("bicycle", "next to")),
         lambda s: p.perched(s, "cat", "car", 12, 2), lambda s: p.perched(s, "dog", "truck", 8, 1)),
        ("traffic light", "stop sign", "fire hydrant", "parking meter", "person", "bicycle"), 9,
    ),
    "park": Setting(
        DAY, (("trees", 85), ("path", 45), ("fence", 25), ("flowers", 35)),
        (*_each(p.seated, ("bench", "person"), ("bench", "dog"), ("bench", "cat"),
                ("bench", "bird"), ("bench", "teddy bear"), ("bench", "person")),
         *_each(p.holding, ("frisbee",), ("umbrella", "raise"), ("sports ball",), ("banana",),
                ("skateboard",), ("teddy bear",)),
         p.catching, p.leash, p.kite_flyers, *_one(p.riders, "bicycle", "horse"),
         *_each(p.pair, ("dog", "bicycle"), ("dog", "sports ball"), ("bench", "bicycle"),
                ("cat", "bird", "looking at"), ("dog", "bird", "looking at")),
         *_each(p.hiding, ("dog", "bench", "under"), ("cat", "bench", "under"),
                ("dog", "bench", "in front of"), ("bird", "bench", "in front of")),
         *_each(p.using, ("book", "bench"), ("laptop", "bench"), ("cell phone", "bench")),
         *_one(p.herd, "dog", "bird", "cat"), *_one(p.boarders, "skateboard"), p.packed),
        ("dog", "bench", "bird", "bicycle", "person", "sports ball"), 8,
    ),
    "field": Setting(
        DAY, (("fence", 45), ("barn", 30), ("hills", 50), ("trees", 45), ("flowers", 25)),
        (*_one(p.herd, "sheep", "cow", "horse", "sheep", "cow", "horse"),
         *_one(p.riders, "horse", "horse"), *_each(p.keeper, ("horse", "next to"), ("cow",),
                                                  ("sheep",), ("horse",)),
         *_each(p.pair, ("dog", "sheep", "looking at"), ("cow", "horse"), ("sheep", "cow"),
                ("horse", "dog", "looking at"), ("dog", "cow", "looking at")),
         lambda s: p.perched(s, "bird", "cow", 27), lambda s: p.perched(s, "bird", "sheep", 16),
         lambda s: p.perched(s, "bird", "horse", 36), p.kite_flyers, p.catching,
         *_one(p.parked, "truck")),
        ("bird", "dog", "sheep", "cow", "person"), 6,
    ),
    "savanna": Setting(
        DAY, (("trees", 60), ("rocks", 35), ("hills", 35), ("fence", 20)),
        (*_one(p.herd, "elephant", "zebra", "giraffe", "elephant", "zebra", "giraffe"),
         *_one(p.riders, "elephant"), *_each(p.keeper, ("elephant",), ("giraffe",), ("zebra",),
                                            ("elephant", "next to")),
         *_each(p.pair, ("zebra", "giraffe"), ("elephant", "zebra"), ("bird", "elephant",
                "looking at"), ("zebra", "giraffe", "looking at")),
         lambda s: p.perched(s, "bird", "elephant", 20), lambda s: p.perched(s, "bird", "zebra",
                                                                            36)),
        ("bird", "zebra", "person"), 5,
    ),
    "snow": Setting(
        ("sunny", "cloudy", "overcast"), (("pine trees", 70), ("mountains", 75), ("cabin", 20)),
        (*_one(p.boarders, "skis", "skis", "snowboard", "snowboard"),
         *_one(p.carrying, "snowboard", "skis"), p.packed, *_one(p.herd, "dog", "bear")),
        ("dog", "person", "snowboard", "skis"), 5,
    ),
    "forest": Setting(
        ("sunny", "cloudy", "overcast"), (("rocks", 45), ("stream", 50), ("flowers", 25)),
        (*_one(p.herd, "bear", "bear", "bird", "dog"), p.packed, p.leash,
         *_one(p.riders, "bicycle", "horse"), *_each(p.pair, ("bear", "bird", "looking at"))),
        ("bird",), 3,
    ),
    "baseball field": Setting(
        ("sunny", "sunny", "cloudy", "night"), (("crowd fence", 60),),
        (*_each(p.playing, ("baseball bat", "baseball"), ("baseball bat", "baseball"),
                ("baseball bat", "baseball")), *_each(p.holding, ("baseball glove",),
                                                     ("baseball bat", "hold"))),
        ("person",), 4,
    ),
    "tennis court": Setting(
        ("sunny", "sunny", "cloudy"), (("trees", 30), ("bleachers", 35)),
        (*_each(p.playing, ("tennis racket", "tennis ball"), ("tennis racket", "tennis ball"),
                ("tennis racket", "tennis ball")), *_each(p.holding, ("tennis racket", "hold"))),
        ("bench",), 4,
    ),
    "skate park": Setting(
        ("sunny", "cloudy", "overcast"), (("ramp", 75), ("graffiti", 45), ("trees", 30)),
        (*_one(p.boarders, "skateboard", "skateboard"), *_one(p.riders, "bicycle"),
         *_each(p.holding, ("skateboard",))),
        ("backpack", "bicycle", "person"), 3,
    ),
    "station": Setting(
        CITY, (("platform roof", 55), ("trees", 30), ("hills", 25)),
        (*_one(p.parked, "train", "train", "train", "train"), p.luggage, p.packed,
         *_each(p.keeper, ("train", "next to"), ("train",)), *_each(p.seated, ("bench",
                                                                            "person"))),
        ("suitcase", "bench", "person", "backpack"), 4,
    ),
    "airport": Setting(
        CITY, (("control tower", 50), ("hills", 25)),
        (*_one(p.parked, "airplane", "airplane", "airplane"), *_one(p.flying, "airplane",
                                                                  "airplane"),
         p.luggage,
         *_each(p.keeper, ("airplane",))),
        ("truck", "car", "person", "suitcase"), 4,
    ),
    "kitchen": Setting(
        ROOM, (("window", 50), ("cabinets", 75), ("counter", 0), ("tiles", 40)),
        (lambda s: p.room(s, ("refrigerator", "oven", "sink")),
         lambda s: p.room(s, ("refrigerator", "oven", "sink", "dining table")),
         lambda s: p.counter(s, ("microwave", "toaster", "bottle", "bowl", "vase", "cup",
                                 "potted plant")),
         lambda s: p.counter(s, ("banana", "apple", "orange", "knife", "broccoli", "carrot",
                                 "bowl", "toaster", "microwave")),
         *_each(p.hiding, ("cat", "refrigerator", "in front of"),
                ("dog", "refrigerator", "in front of"), ("dog", "oven", "in front of"),
                ("cat", "oven", "in front of"), ("cat", "dining table", "under")),
         *_each(p.holding, ("bowl",), ("knife",), ("cup",), ("cake",), ("banana",), ("bottle",)),
         *_each(p.keeper, ("refrigerator", "next to"), ("oven", "next to"), ("refrigerator",)),
         _table(FOOD, "dining table", 25)),
        ("dog", "cat", "chair", "person"), 7,
    ),
    "dining room": Setting(
        ROOM, (("window", 50), ("picture", 45), ("lamp", 35), ("curtains", 25)),
        (*(_table(FOOD, "dining table", 55) for _ in range(5)),
         *_each(p.hiding, ("dog", "dining table", "under"), ("cat", "dining table", "under")),
         *_each(p.holding, ("pizza",), ("wine glass",), ("cake",), ("sandwich",), ("donut",),
                ("hot dog",)), *_each(p.pair, ("chair", "dining table"))),
        ("chair", "potted plant", "cat", "dog"), 8,
    ),
    "living room": Setting(
        ROOM, (("window", 50), ("picture", 45), ("rug", 55), ("lamp", 40), ("curtains", 25)),
        (*_each(p.seated, ("couch", "person"), ("couch", "dog"), ("couch", "cat"),
                ("couch", "teddy bear"), ("chair", "cat"), ("chair", "person"),
                ("chair", "teddy bear"), ("couch", "person")),
         *_each(p.using, ("book", "couch"), ("laptop", "couch"), ("remote", "couch"),
                ("cell phone", "couch")),
         lambda s: p.room(s, ("couch", "chair", "tv", "potted plant")),
         lambda s: p.room(s, ("tv", "chair", "potted plant", "vase")),
         *_each(p.pair, ("cat", "tv", "looking at", "sit"), ("dog", "tv", "looking at", "sit"),
                ("cat", "teddy bear", "next to", "sit"), ("dog", "cat", "looking at"),
                ("couch", "potted plant"), ("cat", "vase", "looking at", "sit")),
         *_each(p.hiding, ("cat", "chair", "under"), ("dog", "couch", "in front of"),
                ("cat", "tv", "in front of")),
         *_each(p.inside, ("cat", "suitcase"), ("teddy bear", "suitcase"))),
        ("potted plant", "vase", "cat", "dog", "chair", "teddy bear"), 8,
    ),
    "bedroom": Setting(
        ROOM, (("window", 50), ("picture", 45), ("rug", 40), ("lamp", 50), ("curtains", 35)),
        (*_each(p.seated, ("bed", "cat"), ("bed", "dog"), ("bed", "teddy bear"), ("bed", "person"),
                ("bed", "laptop"), ("bed", "book"), ("bed", "suitcase"), ("bed", "person")),
         *_each(p.hiding, ("cat", "bed", "in front of"), ("dog", "bed", "in front of")),
         *_each(p.inside, ("cat", "suitcase"), ("dog", "suitcase")),
         *_each(p.holding, ("teddy bear",), ("hair drier",))),
        ("potted plant", "chair", "teddy bear", "backpack"), 5,
    ),
    "office": Setting(
        ROOM, (("window", 55), ("picture", 30), ("shelf", 50)),
        (*(_table(DESK, "desk", 30) for _ in range(4)), p.suited,
         *_each(p.pair, ("cat", "laptop", "looking at", "sit"), ("chair", "potted plant")),
         *_each(p.holding, ("cell phone",), ("laptop",), ("cup",), ("book",))),
        ("chair", "potted plant", "cat", "handbag"), 5,
    ),
    "bathroom": Setting(
        ROOM, (("window", 35), ("mirror", 55), ("tiles", 70), ("towel", 45)),
        (lambda s: p.room(s, ("toilet", "sink"), 1, 2), lambda s: p.room(s, ("toilet", "sink"), 2,
                                                                        2),
         lambda s: p.room(s, ("toilet", "sink", "potted plant"), 2, 3),
         lambda s: p.perched(s, "cat", "toilet", 48, 1), *_each(p.inside, ("cat", "sink")),
         *_each(p.holding, ("toothbrush",), ("hair drier",)),
         *_each(p.pair, ("cat", "toilet", "looking at"), ("dog", "toilet"))),
        ("potted plant", "cat", "dog"), 4,
    ),
}  # fmt: skip


def weighted() -> tuple[str, ...]:
    """Setting names, each as often as its weight."""
    return tuple(name for name, setting in SETTINGS.items() for _ in range(setting.weight))
