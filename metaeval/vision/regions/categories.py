"""COCO's 80 categories of objects."""

from __future__ import annotations

# COCO's categories in ascending order of their ids
_NAMES = """
person, bicycle, car, motorcycle, airplane, bus, train, truck, boat, traffic light, fire hydrant,
stop sign, parking meter, bench, bird, cat, dog, horse, sheep, cow, elephant, bear, zebra, giraffe,
backpack, umbrella, handbag, tie, suitcase, frisbee, skis, snowboard, sports ball, kite,
baseball bat, baseball glove, skateboard, surfboard, tennis racket, bottle, wine glass, cup, fork,
knife, spoon, bowl, banana, apple, sandwich, orange, broccoli, carrot, hot dog, pizza, donut, cake,
chair, couch, potted plant, bed, dining table, toilet, tv, laptop, mouse, remote, keyboard,
cell phone, microwave, oven, toaster, sink, refrigerator, book, clock, vase, scissors, teddy bear,
hair drier, toothbrush
"""
CATEGORIES: tuple[str, ...] = tuple(" ".join(name.split()) for name in _NAMES.split(","))
_PLACE = {name: i for i, name in enumerate(CATEGORIES)}


def category_of(name: str) -> int | None:
    """A category's place in `CATEGORIES`, however its name is joined: "dining-table"; `None` for
    a name that is none of them."""
    if name in _PLACE:
        return _PLACE[name]
    return _PLACE.get(" ".join(name.lower().replace("-", " ").replace("_", " ").split()))
