"""The stage on which a scene is set: groups, boxes, relations, free places.

The frame is 336 × 336 units; y grows downward. Things stand with their lower edge on a ground
line; the further back (the smaller y), the smaller they are drawn.
"""

from metaeval.data.scenes.art.people import POSES
from metaeval.data.scenes.cast import THINGS, Thing
from metaeval.data.scenes.graph import Relation, SceneObject
from research.scenes.draw import Draw

FRAME = 336
CHILD_SCALE = 70  # a child's height in hundredths of an adult's
TOPS = ("red", "blue", "green", "yellow", "orange", "purple", "pink", "black", "white", "gray")
BOTTOMS = ("blue", "black", "brown", "gray", "tan", "green")
HAIRS = ("black", "brown", "brown", "blond", "red", "black")
SKINS = ("light", "medium", "dark")
# Where the hand grips a thing, in hundredths of the thing's box.
GRIPS: dict[str, tuple[int, int]] = {
    "umbrella": (50, 96),
    "tennis racket": (10, 90),
    "baseball bat": (10, 90),
    "suitcase": (50, 4),
    "handbag": (50, 8),
    "backpack": (50, 6),
    "teddy bear": (50, 60),
    "surfboard": (50, 62),
    "snowboard": (50, 62),
    "skis": (50, 62),
    "toothbrush": (40, 82),
    "skateboard": (50, 50),
    "wine glass": (50, 66),
    "bottle": (50, 60),
    "knife": (50, 80),
    "fork": (50, 80),
    "spoon": (50, 80),
    "book": (50, 60),
    "hair drier": (34, 84),
    "kite": (50, 60),
}


class Stage:
    """Collects the objects and relations of one scene."""

    def __init__(self, draw: Draw, setting: str, light: str) -> None:
        self.draw, self.setting, self.light = draw, setting, light
        self.objects: list[SceneObject] = []
        self.members: list[list[int]] = []
        self.shared: list[dict[str, str]] = []
        self.kinds: list[str] = []
        self.group_relations: list[Relation] = []
        self.relations: list[Relation] = []
        self.taken: list[tuple[int, int]] = []

    # ---- groups

    def group(self, kind: str, **given: str) -> int:
        """Start a group of things of one kind; draws the attributes its members share."""
        draw, values = self.draw, dict(given)
        if kind in THINGS and kind != "person":
            thing = THINGS[kind]
            if "material" not in values and thing.materials and draw.chance(28):
                values["material"] = draw.pick(thing.materials)
            material = values.get("material")
            if "colour" not in values and thing.colours:
                if material == "wooden":
                    values["colour"] = "brown"
                elif material == "leather" and kind != "handbag":
                    values["colour"] = draw.pick(("brown", "black"))
                elif material not in ("metal", "glass") or kind == "bottle":
                    values["colour"] = draw.pick(thing.colours)
            if "size" not in values and thing.sizes and draw.chance(38):
                values["size"] = draw.pick(("large", "small"))
        self.members.append([])
        self.shared.append(values)
        self.kinds.append(kind)
        return len(self.members) - 1

    def thing(self, group: int) -> Thing:
        """What COCO's category of the group is like."""
        return THINGS[self.shared[group].get("category", self.kinds[group])]

    def scale(self, group: int) -> int:
        """The group's size in hundredths: 122 if large, 72 if small."""
        return {"large": 122, "small": 72}.get(self.shared[group].get("size", ""), 100)

    def put(
        self,
        group: int,
        x: int,
        base: int,
        scale: int = 100,
        *,
        flip: bool = False,
        layer: int | None = None,
        pose: str = "",
        size: tuple[int, int] | None = None,
    ) -> int:
        """Add one thing to a group, its lower edge centred on (x, base). Returns its index."""
        kind, shared = self.kinds[group], self.shared[group]
        category = shared.get("category", kind)
        w, h = size or THINGS[category].size
        s = scale * self.scale(group)
        w, h = max(6, w * s // 10000), max(6, h * s // 10000)
        looks = [("pose", pose)] if pose else []
        if "pose" in shared and not pose:
            looks.append(("pose", shared["pose"]))
        if flip:
            looks.append(("flip", "yes"))
        names = ("colour", "size", "material", "place")
        attributes = tuple((n, shared[n]) for n in names if n in shared)
        box = _inside(x - w // 2, base - h, w, h)
        return self._add(
            SceneObject(
                category,
                kind,
                attributes,
                box,
                group,
                tuple(looks),
                base if layer is None else layer,
            )
        )

    def person(
        self,
        group: int,
        x: int,
        base: int,
        pose: str = "stand",
        scale: int = 100,
        *,
        flip: bool = False,
        layer: int | None = None,
        kind: str | None = None,
        hip: bool = False,
    ) -> int:
        """Add a person; with `hip`, (x, base) is where they sit instead of where they stand."""
        draw, shared = self.draw, self.shared[group]
        kind = (
            kind or shared.get("who") or draw.pick(("man", "woman", "man", "woman", "boy", "girl"))
        )
        p = POSES[pose]
        child = kind in ("boy", "girl")
        height = 132 * scale // 100 * (CHILD_SCALE if child else 100) // 100
        w, h = height * p.wide // 100, height * p.tall // 100
        looks = {"pose": pose, "kind": kind, "skin": draw.pick(SKINS), "hair": draw.pick(HAIRS)}
        old = shared.get("age") == "old"
        if old:
            looks["hair"] = "gray"
        looks["top"] = shared.get("clothing") or draw.pick(TOPS)
        looks["bottom"] = draw.pick(BOTTOMS)
        attributes: list[tuple[str, str]] = []
        if old:
            attributes.append(("age", "old"))
        elif child:
            attributes.append(("age", "young"))
        standing = pose in ("stand", "walk", "look", "hold", "raise")
        if kind in ("woman", "girl") and standing and draw.chance(30):
            looks["dress"] = "yes"
            attributes.append(("dress", looks["top"]))
        else:
            attributes.append(("clothing", looks["top"]))
        if shared.get("hat") or draw.chance(22):
            looks["hat"] = shared.get("hat") or draw.pick(
                ("red", "blue", "green", "black", "white", "yellow")
            )
            attributes.append(("hat", looks["hat"]))
        if shared.get("tie"):
            looks["tie"] = shared["tie"]
        if flip:
            looks["flip"] = "yes"
        if hip:
            hu = 100 - p.hip[0] if flip else p.hip[0]
            left, top = x - w * hu // 100, base - h * p.hip[1] // 100
        else:
            left, top = x - w // 2, base - h
        return self._add(
            SceneObject(
                "person",
                kind,
                tuple(attributes),
                _inside(left, top, w, h),
                group,
                tuple(looks.items()),
                base if layer is None else layer,
            )
        )

    def _add(self, item: SceneObject) -> int:
        self.objects.append(item)
        self.members[item.group].append(len(self.objects) - 1)
        return len(self.objects) - 1

    # ---- places

    def spread(self, n: int, left: int = 12, right: int = 324, jitter: int = 8) -> list[int]:
        """`n` x positions, evenly spread between left and right with a little jitter."""
        step = (right - left) // n
        return [left + step * i + step // 2 + self.draw.between(-jitter, jitter) for i in range(n)]

    def at(self, index: int, u: int, v: int) -> tuple[int, int]:
        """The frame position of a point given in hundredths of an object's (unflipped) box."""
        item = self.objects[index]
        x, y, w, h = item.box
        if ("flip", "yes") in item.looks:
            u = 100 - u
        return x + w * u // 100, y + h * v // 100

    def hand(self, index: int) -> tuple[int, int]:
        """Where a person's free hand is."""
        u, v = POSES[dict(self.objects[index].looks)["pose"]].hand
        return self.at(index, u, v)

    def hold(self, person: int, group: int, scale: int = 100, pose: str = "") -> int:
        """Put a new member of `group` into the hand of a person."""
        hx, hy = self.hand(person)
        kind = self.kinds[group]
        u, v = GRIPS.get(kind, (50, 50))
        holder = self.objects[person]
        flip = ("flip", "yes") in holder.looks
        w, h = THINGS[self.shared[group].get("category", kind)].size
        if pose == "upright":
            w, h = h * 3 // 2, w
        if pose == "open":
            w, h = 44, 32
        if holder.kind in ("boy", "girl"):
            scale = scale * 80 // 100
        s = scale * self.scale(group)
        pw, ph = w * s // 10000, h * s // 10000
        du = 50 - u if not flip else u - 50
        layer = holder.layer - 1 if pose == "upright" else holder.layer + 1
        return self.put(
            group,
            hx + pw * du // 100,
            hy + ph * (100 - v) // 100,
            scale,
            flip=flip,
            layer=layer,
            pose=pose,
            size=(w, h),
        )

    def claim(self, *indices: int) -> None:
        """Mark the ground that these objects cover as taken."""
        self.taken += [
            (self.objects[i].box[0], self.objects[i].box[0] + self.objects[i].box[2])
            for i in indices
        ]

    def free(self, width: int) -> int | None:
        """The centre of a stretch of ground, `width` wide, that nothing stands on yet."""
        options = [
            x
            for x in range(width // 2 + 4, FRAME - width // 2 - 3, 6)
            if all(x + width // 2 <= a or x - width // 2 >= b for a, b in self.taken)
        ]
        return self.draw.pick(options) if options else None

    # ---- relations

    def relate(self, subject: int, predicate: str, object_: int) -> None:
        """A relation between two groups, pairwise where they are equally many."""
        self.group_relations.append(Relation(subject, predicate, object_))
        a, b = self.members[subject], self.members[object_]
        matched = len(a) == len(b)
        pairs = list(zip(a, b, strict=True)) if matched else [(i, j) for i in a for j in b]
        self.relations += [Relation(i, predicate, j) for i, j in pairs]


def _inside(x: int, y: int, w: int, h: int) -> tuple[int, int, int, int]:
    """The box moved (and, if it must be, shrunk) into the frame with a margin of two."""
    if w > FRAME - 4:
        h, w = h * (FRAME - 4) // w, FRAME - 4
    if h > FRAME - 4:
        w, h = w * (FRAME - 4) // h, FRAME - 4
    return min(max(x, 2), FRAME - 2 - w), min(max(y, 2), FRAME - 2 - h), w, h


BACK, MID, FRONT = 226, 262, 302  # ground lines
ADULTS = ("man", "woman")
KIDS = ("boy", "girl")


def crowd(s: Stage, n: int, grown: bool = False, **given: str) -> tuple[int, list[str]]:
    """A group of `n` people: all of one kind, or mixed; sometimes old, sometimes in one colour.

    With `grown`, all are adults.
    """
    d = s.draw
    roll = d.below(100)
    if n == 1:
        kinds = [d.pick(("man", "man", "man", "woman", "woman", "woman", "boy", "girl"))]
    elif roll < 40:
        kinds = ["man"] * n
    elif roll < 62:
        kinds = ["woman"] * n
    elif roll < 78:
        kinds = [d.pick(KIDS) for _ in range(n)]
    else:
        kinds = [d.pick(ADULTS) for _ in range(n)]
    if grown:
        kinds = [{"boy": "man", "girl": "woman"}.get(k, k) for k in kinds]
    values = dict(given)
    if kinds[0] in ADULTS and d.chance(12):
        values["age"] = "old"
    if n > 1 and d.chance(25):
        values["clothing"] = d.pick(("red", "blue", "green", "yellow", "white", "black", "orange"))
    return s.group("person", **values), kinds


def set_off(s: Stage, group: int, ground: int) -> None:
    """Give a group another colour if it is that of what it will be drawn upon."""
    colour, other = s.shared[group].get("colour"), s.shared[ground].get("colour")
    options = [c for c in THINGS[s.kinds[group]].colours if c != other]
    if colour == other and options and "material" not in s.shared[group]:
        s.shared[group]["colour"] = s.draw.pick(options)


def few(s: Stage, most: int) -> int:
    """How many: mostly one, sometimes two, rarely more."""
    roll = s.draw.below(100)
    n = 1 if roll < 58 else 2 if roll < 82 else 3 if roll < 93 else 4
    return min(n, most)
