"""The categories of the scenes' objects, and colours that are alike."""

from typing import NamedTuple


class Thing(NamedTuple):
    """A category: COCO's id and supercategory, size at full scale in pixels, possible values.

    `colours` are those that captions may name; `fixed` is what is drawn where none is named.
    """

    id: int
    family: str
    size: tuple[int, int]
    colours: tuple[str, ...] = ()
    materials: tuple[str, ...] = ()
    sizes: bool = False


PAINT = ("red", "blue", "green", "yellow", "orange", "purple", "pink", "black", "white")
FABRIC = ("red", "blue", "green", "yellow", "purple", "pink", "brown", "black", "gray", "white")

THINGS: dict[str, Thing] = {
    "person": Thing(1, "person", (50, 132)),
    "bicycle": Thing(2, "vehicle", (112, 72), ("red", "blue", "green", "yellow", "black", "pink")),
    "car": Thing(3, "vehicle", (160, 72), PAINT, sizes=True),
    "motorcycle": Thing(4, "vehicle", (122, 78), ("red", "blue", "black", "green", "orange")),
    "airplane": Thing(5, "vehicle", (220, 88), ("red", "blue", "green", "orange"), sizes=True),
    "bus": Thing(6, "vehicle", (226, 116), PAINT, sizes=True),
    "train": Thing(
        7, "vehicle", (300, 108), ("red", "blue", "green", "yellow", "orange"), sizes=True
    ),
    "truck": Thing(
        8, "vehicle", (192, 112), ("red", "blue", "green", "yellow", "orange", "white"), sizes=True
    ),
    "boat": Thing(
        9, "vehicle", (112, 104), ("red", "blue", "green", "white", "yellow"), sizes=True
    ),
    "traffic light": Thing(10, "outdoor", (38, 132), ("red", "yellow", "green")),
    "fire hydrant": Thing(11, "outdoor", (36, 60), ("red", "yellow", "blue", "green", "orange")),
    "stop sign": Thing(13, "outdoor", (58, 144)),
    "parking meter": Thing(14, "outdoor", (28, 108), ("gray", "blue", "green", "red")),
    "bench": Thing(
        15, "outdoor", (144, 74), ("brown", "green", "red", "blue", "white"), ("wooden", "metal")
    ),
    "bird": Thing(
        16,
        "animal",
        (42, 36),
        ("blue", "red", "yellow", "black", "white", "green", "gray", "brown"),
        sizes=True,
    ),
    "cat": Thing(17, "animal", (66, 60), ("orange", "black", "gray", "white", "brown"), sizes=True),
    "dog": Thing(18, "animal", (88, 68), ("brown", "black", "white", "tan", "gray"), sizes=True),
    "horse": Thing(19, "animal", (150, 128), ("brown", "black", "white", "gray", "tan")),
    "sheep": Thing(20, "animal", (92, 72), ("white", "black"), sizes=True),
    "cow": Thing(21, "animal", (132, 98), ("brown", "black and white", "black", "tan"), sizes=True),
    "elephant": Thing(22, "animal", (172, 134), (), sizes=True),
    "bear": Thing(23, "animal", (132, 94), ("brown", "black", "white"), sizes=True),
    "zebra": Thing(24, "animal", (136, 118)),
    "giraffe": Thing(25, "animal", (112, 190), (), sizes=True),
    "backpack": Thing(27, "accessory", (38, 48), FABRIC[:8]),
    "umbrella": Thing(28, "accessory", (104, 84), PAINT),
    "handbag": Thing(
        31, "accessory", (40, 38), ("red", "brown", "black", "pink", "yellow"), ("leather",)
    ),
    "tie": Thing(32, "accessory", (14, 40), ("red", "blue", "green", "yellow", "purple", "black")),
    "suitcase": Thing(
        33, "accessory", (48, 66), ("red", "blue", "green", "brown", "black", "purple"), sizes=True
    ),
    "frisbee": Thing(
        34, "sports", (38, 17), ("red", "blue", "yellow", "orange", "purple", "white")
    ),
    "skis": Thing(35, "sports", (104, 18), ("red", "blue", "yellow", "black")),
    "snowboard": Thing(
        36, "sports", (92, 17), ("red", "blue", "yellow", "green", "purple", "black")
    ),
    "sports ball": Thing(37, "sports", (24, 24)),
    "kite": Thing(
        38,
        "sports",
        (58, 82),
        ("red", "blue", "green", "yellow", "orange", "purple", "pink"),
        sizes=True,
    ),
    "baseball bat": Thing(39, "sports", (58, 52), (), ("wooden",)),
    "baseball glove": Thing(40, "sports", (30, 30), (), ("leather",)),
    "skateboard": Thing(
        41, "sports", (72, 20), ("red", "blue", "green", "yellow", "black", "purple")
    ),
    "surfboard": Thing(
        42,
        "sports",
        (136, 26),
        ("yellow", "red", "blue", "green", "orange", "white", "pink"),
        sizes=True,
    ),
    "tennis racket": Thing(43, "sports", (52, 52), ("red", "blue", "yellow", "black", "green")),
    "bottle": Thing(44, "kitchen", (22, 62), ("green", "blue", "brown", "red"), ("glass",)),
    "wine glass": Thing(46, "kitchen", (28, 58)),
    "cup": Thing(
        47,
        "kitchen",
        (38, 36),
        ("white", "red", "blue", "yellow", "green", "black", "pink"),
        ("ceramic",),
    ),
    "fork": Thing(48, "kitchen", (14, 54), (), ("metal",)),
    "knife": Thing(49, "kitchen", (13, 56)),
    "spoon": Thing(50, "kitchen", (14, 54), (), ("metal",)),
    "bowl": Thing(
        51,
        "kitchen",
        (68, 36),
        ("blue", "red", "green", "yellow", "white", "purple"),
        ("ceramic",),
        sizes=True,
    ),
    "banana": Thing(52, "food", (58, 34), ("yellow",)),
    "apple": Thing(53, "food", (30, 32), ("red", "green")),
    "sandwich": Thing(54, "food", (76, 48), (), sizes=True),
    "orange": Thing(55, "food", (29, 29)),
    "broccoli": Thing(56, "food", (46, 44), ("green",)),
    "carrot": Thing(57, "food", (64, 23), ("orange",)),
    "hot dog": Thing(58, "food", (72, 32)),
    "pizza": Thing(59, "food", (104, 48), (), sizes=True),
    "donut": Thing(60, "food", (48, 34), ("pink", "brown", "white")),
    "cake": Thing(61, "food", (84, 60), ("white", "brown", "pink"), sizes=True),
    "chair": Thing(
        62,
        "furniture",
        (58, 98),
        ("brown", "red", "blue", "green", "black", "white", "yellow"),
        ("wooden", "metal", "plastic"),
    ),
    "couch": Thing(
        63,
        "furniture",
        (210, 104),
        ("red", "blue", "green", "brown", "gray", "tan", "purple", "white"),
        ("leather",),
        sizes=True,
    ),
    "potted plant": Thing(64, "furniture", (54, 82), ("green",), sizes=True),
    "bed": Thing(
        65,
        "furniture",
        (250, 116),
        ("blue", "red", "green", "yellow", "purple", "pink", "brown", "gray"),
        sizes=True,
    ),
    "dining table": Thing(
        67,
        "furniture",
        (250, 112),
        ("brown", "white", "tan", "black"),
        ("wooden", "glass", "metal"),
    ),
    "toilet": Thing(70, "furniture", (88, 106), ("white",)),
    "tv": Thing(72, "electronic", (124, 86), ("black",), sizes=True),
    "laptop": Thing(73, "electronic", (92, 64), ("gray", "black", "white")),
    "mouse": Thing(74, "electronic", (30, 20), ("black", "white", "gray", "red")),
    "remote": Thing(75, "electronic", (54, 17), ("black", "white", "gray")),
    "keyboard": Thing(76, "electronic", (98, 26), ("black", "white", "gray")),
    "cell phone": Thing(77, "electronic", (22, 40), ("black", "white", "red", "pink")),
    "microwave": Thing(78, "appliance", (92, 54), ("white", "black", "red"), ("metal",)),
    "oven": Thing(79, "appliance", (96, 112), ("white", "black", "red", "green"), ("metal",)),
    "toaster": Thing(80, "appliance", (54, 44), ("gray", "red", "blue", "white"), ("metal",)),
    "sink": Thing(81, "appliance", (80, 98), ("white",)),
    "refrigerator": Thing(
        82, "appliance", (92, 186), ("white", "red", "black", "blue"), ("metal",), sizes=True
    ),
    "book": Thing(84, "indoor", (54, 22), ("red", "blue", "green", "brown", "yellow", "purple")),
    "clock": Thing(85, "indoor", (52, 52), ("black", "red", "brown", "white", "green"), sizes=True),
    "vase": Thing(
        86, "indoor", (42, 78), ("blue", "white", "red", "green", "purple", "yellow"), ("ceramic",)
    ),
    "scissors": Thing(87, "indoor", (58, 38), ("red", "blue", "orange", "black", "green")),
    "teddy bear": Thing(
        88, "indoor", (64, 76), ("brown", "white", "pink", "tan", "blue"), sizes=True
    ),
    "hair drier": Thing(89, "indoor", (54, 46), ("pink", "black", "red", "blue")),
    "toothbrush": Thing(90, "indoor", (12, 52), ("blue", "red", "green", "pink")),
}

# Colours that two honest people may call by each other's name
LOOKALIKES: dict[str, frozenset[str]] = {
    "brown": frozenset({"tan", "orange", "red"}),
    "tan": frozenset({"brown", "yellow", "white", "gray", "orange"}),
    "gray": frozenset({"white", "black", "tan", "blue"}),
    "white": frozenset({"gray", "tan", "black and white", "yellow"}),
    "black": frozenset({"gray", "black and white", "brown"}),
    "black and white": frozenset({"black", "white", "gray"}),
    "red": frozenset({"orange", "pink", "brown", "purple"}),
    "orange": frozenset({"red", "yellow", "brown", "tan"}),
    "pink": frozenset({"red", "purple", "white"}),
    "purple": frozenset({"blue", "pink", "red"}),
    "blue": frozenset({"purple", "gray", "green"}),
    "green": frozenset({"blue", "yellow"}),
    "yellow": frozenset({"orange", "tan", "white", "green"}),
}
