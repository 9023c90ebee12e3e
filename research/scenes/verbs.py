"""Predicates in words, and what things do when they are in no relation."""

from typing import NamedTuple

from metaeval.data.scenes.graph import SceneGraph
from research.scenes.actors import Actor, Words


class Frame(NamedTuple):
    """One way to say a predicate.

    `ing` is the participle ("" where a bare preposition does), `one` and `many` the finite forms
    ("" where there is none), `rest` the preposition or particle.
    """

    ing: str
    one: str
    many: str
    rest: str


def _frames(text: str) -> tuple[Frame, ...]:
    """'riding,rides,ride; =on; seated,,,on *3' to frames; '=…' is a bare preposition."""
    out: list[Frame] = []
    for item in text.split(";"):
        item, _, weight = item.strip().partition("*")
        item = item.strip()
        if item.startswith("="):
            frame = Frame("", "", "", item[1:])
        else:
            ing, one, many, rest = (*(w.strip() for w in item.split(",")), "", "", "")[:4]
            frame = Frame(ing, one, many, rest)
        out += [frame] * int(weight or 1)
    return tuple(out)


# Keys: the predicate, or "predicate>kind of object", or "predicate>kind<kind of subject's family".
FRAMES: dict[str, tuple[Frame, ...]] = {
    key: _frames(text)
    for key, text in {
        "riding": "riding,rides,ride *8; riding,rides,ride,on *4; =on *3",
        "riding>horse": "riding,rides,ride *9; riding,rides,ride,on *2; =on *3; sitting,sits,sit,"
        "on; riding,rides,ride,on top of; sitting,sits,sit,on top of; =on the back of; "
        "mounted,,,on; =atop",
        "riding>elephant": "riding,rides,ride *8; riding,rides,ride,on *3; sitting,sits,sit,on; "
        "=on; riding,rides,ride,on top of; sitting,sits,sit,on top of; =on the back of; =atop",
        "riding>bicycle": "riding,rides,ride *9; pedaling,pedals,pedal; =on *3; "
        "riding,rides,ride,on *2; cycling,cycles,cycle,on; biking,bikes,bike,on",
        "riding>motorcycle": "riding,rides,ride *9; driving,drives,drive; =on *3; "
        "riding,rides,ride,on *2; cruising,cruises,cruise,on; speeding,speeds,speed,on; "
        "traveling,travels,travel,on",
        "riding>surfboard": "riding,rides,ride *4; riding,rides,ride,on *3; surfing,surfs,surf,on "
        "*3; standing,stands,stand,on *2; balancing,balances,balance,on *2; =on *3",
        "riding>skateboard": "riding,rides,ride *6; riding,rides,ride,on *3; =on *3; "
        "balancing,balances,balance,on; standing,stands,stand,on; skating,skates,skate,on; "
        "cruising,cruises,cruise,on; doing tricks,does tricks,do tricks,on; rolling,rolls,roll,on",
        "riding>snowboard": "riding,rides,ride *6; riding,rides,ride,on *3; =on *3; "
        "sliding,slides,slide,on; snowboarding,snowboards,snowboard,on; "
        "standing,stands,stand,on; balancing,balances,balance,on",
        "on skis": "riding,rides,ride *3; riding,rides,ride,on *3; =on *5; skiing,skis,ski,on *2; "
        "standing,stands,stand,on *2; gliding,glides,glide,on; wearing,wears,wear",
        "holding": "holding,holds,hold *8; =with *3; holding,holds,hold,up *2; holding,holds,hold,"
        "onto; carrying,carries,carry; grasping,grasps,grasp; clutching,clutches,clutch; "
        "displaying,displays,display; showing off,shows off,show off; gripping,grips,grip",
        "holding>umbrella": "holding,holds,hold *7; =with *3; =under *4; standing,stands,stand,"
        "under *3; carrying,carries,carry *2; standing,stands,stand,beneath; "
        "standing,stands,stand,with",
        "holding>cell phone": "holding,holds,hold *5; using,uses,use *3; looking,looks,look,at *2; "
        "=on; =with *2; checking,checks,check; holding,holds,hold,up",
        "holding>book": "holding,holds,hold *4; reading,reads,read *5; =with *2; "
        "looking,looks,look,at",
        "holding>laptop": "holding,holds,hold *4; using,uses,use *4; =with *2; "
        "working,works,work,on *2; typing,types,type,on",
        "holding>frisbee": "holding,holds,hold *6; =with *3; carrying,carries,carry",
        "holding>cup": "holding,holds,hold *6; =with *2; carrying,carries,carry; "
        "clutching,clutches,clutch",
        "holding>wine glass": "holding,holds,hold *6; =with *2; carrying,carries,carry; "
        "raising,raises,raise",
        "holding>remote": "holding,holds,hold *6; =with *2; using,uses,use",
        "holding>toothbrush": "holding,holds,hold *6; =with *2; using,uses,use",
        "holding>hair drier": "holding,holds,hold *6; =with *2; using,uses,use",
        "holding>tennis racket": "holding,holds,hold *8; =with *4; gripping,grips,grip; "
        "carrying,carries,carry",
        "holding>baseball bat": "holding,holds,hold *8; =with *4; gripping,grips,grip; "
        "carrying,carries,carry",
        "holding>handbag": "holding,holds,hold *5; =with *3; carrying,carries,carry *4; "
        "walking,walks,walk,with",
        "carrying": "carrying,carries,carry *7; holding,holds,hold *6; =with *3; "
        "standing,stands,stand,with *2; holding,holds,hold,onto; toting,totes,tote; "
        "posing,poses,pose,with",
        "wearing": "wearing,wears,wear *9; =with *3; sporting,sports,sport",
        "wearing>backpack": "wearing,wears,wear *6; =with *4; carrying,carries,carry *4; "
        "walking,walks,walk,with; hauling,hauls,haul",
        "wearing>tie": "wearing,wears,wear *9; =in *2; =with *2; dressed,,,in *2; "
        "sporting,sports,sport",
        "pulling": "pulling,pulls,pull *6; =with *4; walking,walks,walk,with *3; "
        "dragging,drags,drag *2; rolling,rolls,roll; wheeling,wheels,wheel; "
        "traveling,travels,travel,with; towing,tows,tow",
        "walking": "walking,walks,walk *7; =with *4; walking,walks,walk,with *2; "
        "standing,stands,stand,with; leading,leads,lead",
        "swinging": "swinging,swings,swing *8; =with *2; holding,holds,hold *3; "
        "wielding,wields,wield",
        "flying": "flying,flies,fly *9; =with *2; playing,plays,play,with *2; "
        "holding,holds,hold,onto",
        "sitting on": "sitting,sits,sit,on *8; sitting,sits,sit,on top of *3; =on *4; "
        "seated,,,on *2; resting,rests,rest,on *2; perched,,,on; relaxing,relaxes,relax,on",
        "sitting on<bird": "sitting,sits,sit,on *6; perched,,,on *4; standing,stands,stand,on *3; "
        "perching,perches,perch,on; =on *2; sitting,sits,sit,on top of *2; "
        "resting,rests,rest,on",
        "sitting on<toy": "sitting,sits,sit,on *8; =on *5; sitting,sits,sit,on top of *2; "
        "placed,,,on *2; propped up,,,on; resting,rests,rest,on; left,,,on",
        "sitting on<person": "sitting,sits,sit,on *9; =on *3; seated,,,on *3; "
        "relaxing,relaxes,relax,on *2; resting,rests,rest,on; lounging,lounges,lounge,on",
        "lying on": "lying,lies,lie,on *5; laying,lays,lay,on *6; =on *4; resting,rests,rest,on "
        "*2; relaxing,relaxes,relax,on *2; lying,lies,lie,on top of *2; "
        "stretched out,,,on; sprawled out,,,on; lounging,lounges,lounge,on; laying down,lays down,"
        "lay down,on",
        "standing on": "standing,stands,stand,on *6; perched,,,on *3; =on *4; "
        "sitting,sits,sit,on top of *2; standing,stands,stand,on top of *2; =on top of *2",
        "on": "=on *8; sitting,sits,sit,on *5; sitting,sits,sit,on top of *3; =on top of *3; "
        "resting,rests,rest,on; placed,,,on *2; laying,lays,lay,on; set,,,on; displayed,,,on; "
        "arranged,,,on",
        "in": "=in *6; sitting,sits,sit,in *5; =inside *3; sitting,sits,sit,inside of; "
        "resting,rests,rest,in",
        "in>boat": "=in *6; sitting,sits,sit,in *5; riding,rides,ride,in *3; "
        "floating,floats,float,in; seated,,,in; traveling,travels,travel,in",
        "under": "=under *6; sitting,sits,sit,under *3; =underneath *3; =beneath *2; "
        "resting,rests,rest,under; hiding,hides,hide,under; sitting,sits,sit,underneath; "
        "lounging,lounges,lounge,beneath",
        "in front of": "=in front of *6; sitting,sits,sit,in front of *5; resting,rests,rest,in "
        "front of; waiting,waits,wait,in front of",
        "behind": "=behind *4; parked,,,behind *6; sitting,sits,sit,behind; parked,,,in back of",
        "next to": "=next to *6; =beside *3; =by *2; =near *3; =alongside; sitting,sits,sit,next "
        "to *3; sitting,sits,sit,beside; =close to; =to the side of; located,,,next to; "
        "situated,,,beside",
        "next to<person": "standing,stands,stand,next to *7; =next to *3; standing,stands,stand,"
        "beside *3; standing,stands,stand,by *2; standing,stands,stand,near *2; "
        "posing,poses,pose,next to; posing,poses,pose,with; waiting,waits,wait,beside; "
        "standing,stands,stand,alongside",
        "next to<animal": "standing,stands,stand,next to *6; =next to *3; standing,stands,stand,"
        "beside *3; =near; standing,stands,stand,near *2; =beside; standing,stands,stand,by; "
        "standing,stands,stand,close to; standing,stands,stand,alongside",
        "next to<vehicle": "parked,,,next to *7; =next to *3; parked,,,beside *3; parked,,,by *2; "
        "parked,,,near *2; sitting,sits,sit,next to *2; stopped,,,next to; =by; =alongside; "
        "parked,,,alongside",
        "looking at": "looking,looks,look,at *8; watching,watches,watch *3; "
        "staring,stares,stare,at *3; facing,faces,face *2; gazing,gazes,gaze,at; "
        "observing,observes,observe; admiring,admires,admire; eyeing,eyes,eye",
        "sitting at": "sitting,sits,sit,at *7; =at *3; seated,,,at *3; sitting,sits,sit,behind",
        "sitting around": "sitting,sits,sit,around *6; seated,,,around *2; gathered,,,around *2; "
        "sitting,sits,sit,at *5; =around *2; gathering,gathers,gather,around; seated,,,at *2",
    }.items()
}


DOINGS: dict[str, tuple[Frame, ...]] = {
    key: _frames(text)
    for key, text in {
        "grazer": "standing,stands,stand *6; standing around,"
        "stands around,stand around *2; wandering,wanders,wander; walking,walks,walk *2; "
        "roaming,roams,roam; waiting,waits,wait; posing,poses,pose",
        "animal": "standing,stands,stand *6; walking,walks,walk *2; standing around,stands around,"
        "stand around; wandering,wanders,wander; waiting,waits,wait; exploring,explores,explore",
        "seated": "sitting,sits,sit *8; sitting down,sits down,sit down *2; waiting,waits,wait; "
        "seated,,, *2; sitting up,sits up,sit up",
        "lying": "lying down,lies down,lie down *4; laying down,lays down,lay down *4; "
        "resting,rests,rest *3; relaxing,relaxes,relax *2; lounging,lounges,lounge; "
        "laying,lays,lay",
        "parked": "parked,,, *8; sitting,sits,sit *3; stopped,,, *2; standing,stands,stand; "
        "waiting,waits,wait",
        "train": "stopped,,, *3; sitting,sits,sit *3; waiting,waits,wait *2; parked,,, *2; "
        "pulling up,pulls up,pull up; arriving,arrives,arrive; standing,stands,stand",
        "boat": "floating,floats,float *5; sailing,sails,sail *4; drifting,drifts,drift *2; "
        "sitting,sits,sit *2; anchored,,,; resting,rests,rest",
        "sky": "flying,flies,fly *9; soaring,soars,soar *2; gliding,glides,glide; "
        "cruising,cruises,cruise",
        "person": "standing,stands,stand *8; posing,poses,pose; waiting,waits,wait *2; "
        "hanging out,hangs out,hang out; standing around,stands around,stand around",
        "walker": "walking,walks,walk *8; strolling,strolls,stroll *2; "
        "wandering,wanders,wander; heading out,heads out,head out",
        "thing": "sitting,sits,sit *5; standing,stands,stand; placed,,,; resting,rests,rest; "
        "set up,,,; located,,,",
        "wall": "hanging,hangs,hang *3; mounted,,, *2; displayed,,,; placed,,,",
        "counter": "sitting,sits,sit *5; placed,,,; resting,rests,rest; arranged,,,; set out,,,",
        "water": "floating,floats,float *4; swimming,swims,swim *3; resting,rests,rest; "
        "sitting,sits,sit; paddling,paddles,paddle",
    }.items()
}

ADVERBS: dict[str, tuple[str, ...]] = {
    "sitting": ("quietly", "calmly", "patiently", "peacefully", "comfortably", "upright"),
    "standing": ("quietly", "calmly", "proudly", "still", "patiently", "tall", "casually"),
    "riding": ("happily", "skillfully", "carefully", "confidently", "gracefully", "slowly"),
    "lying": ("comfortably", "lazily", "peacefully", "quietly", "contentedly"),
    "laying": ("comfortably", "lazily", "peacefully", "quietly", "contentedly"),
    "walking": ("slowly", "briskly", "casually", "calmly", "happily"),
    "flying": ("gracefully", "smoothly", "freely", "steadily"),
    "parked": ("neatly", "safely", "carefully"),
    "looking": ("curiously", "intently", "closely", "carefully"),
    "staring": ("curiously", "intently", "closely", "longingly"),
    "holding": ("proudly", "happily", "carefully"),
    "floating": ("gently", "quietly", "calmly", "lazily"),
    "resting": ("comfortably", "quietly", "peacefully"),
    "relaxing": ("comfortably", "quietly", "happily"),
}


def verb_words(frame: Frame, form: str, index: int, a: Actor) -> Words:
    """Verb and preposition, marked as the relation; a finite verb also as agreeing."""
    out = Words()
    rest = frame.rest.split()
    if form in ("one", "many"):
        agreeing, other = (frame.one, frame.many) if form == "one" else (frame.many, frame.one)
        verb = agreeing.split()
        out.add(verb[:1], "agree", a.group, other.split()[0])
        out.add(verb[1:] + rest)
    elif form == "ing":
        out.add(frame.ing.split() + rest)
    else:
        out.add(rest)
    out.wrap("relation", index, form)
    return out


def shifted(words: Words, at: int) -> Words:
    """Marks grown by one word that was inserted at `at`."""
    words.marks = [
        m._replace(end=m.end + 1) if m.end > at or m.role == "relation" else m for m in words.marks
    ]
    return words


def doing_of(a: Actor, graph: SceneGraph) -> str:
    """Which verbs fit a group that is in no relation."""
    if a.place == "sky":
        return "sky"
    if a.place in ("wall", "counter"):
        return a.place
    if a.category == "person":
        if a.pose == "walk":
            return "walker"
        if a.pose in ("sit", "sithold"):
            return "seated"
        if a.pose == "lie":
            return "lying"
        return "person"
    if a.category in ("dog", "cat") and a.pose in ("sit", "lie"):
        return {"sit": "seated", "lie": "lying"}[a.pose]
    if a.category == "train":
        return "train"
    if a.category == "boat":
        return "boat"
    if a.family == "vehicle":
        return "parked"
    if a.category == "bird" and graph.setting in ("ocean", "lake"):
        return "water"
    if a.category in ("cow", "sheep", "horse", "zebra", "giraffe", "elephant"):
        return "grazer"
    if a.family == "animal":
        return "animal"
    return "thing"
