"""Which function draws which kind of thing."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from metaeval.data.scenes.art import animals, food, furniture, people, sports, street, vehicles
from metaeval.data.scenes.art.pen import Pen

Drawing = Callable[[Pen, Mapping[str, str]], None]

# module → the kinds that its functions are named after
_NAMED = {
    people: "person",
    vehicles: "bicycle car motorcycle airplane bus train truck boat",
    street: "traffic_light fire_hydrant stop_sign parking_meter bench backpack umbrella "
    "handbag tie suitcase",
    animals: "bird cat dog horse sheep cow elephant bear zebra giraffe",
    sports: "frisbee skis snowboard kite skateboard surfboard",
    food: "bottle wine_glass cup fork knife spoon bowl banana apple sandwich orange "
    "broccoli carrot hot_dog pizza donut cake",
    furniture: "chair couch potted_plant bed toilet tv laptop mouse remote keyboard cell_phone "
    "microwave oven toaster sink refrigerator book clock vase scissors hair_drier "
    "toothbrush",
}
DRAWINGS: dict[str, Drawing] = {
    name.replace("_", " "): getattr(module, name)
    for module, names in _NAMED.items()
    for name in names.split()
} | {
    "sports ball": sports.ball,
    "baseball bat": sports.bat,
    "baseball glove": sports.glove,
    "tennis racket": sports.racket,
    "dining table": furniture.table,
    "teddy bear": animals.teddy,
}
