"""Words → part-of-speech tags and lemmas, by lexicon, ending and the words around.

The lexicon holds the verbs, adjectives and odd nouns that the built-in parser knows; other words
are nouns, unless their endings decide. English as in captions: what happens in everyday scenes.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple


def set_of_words(text: str) -> frozenset[str]:
    """The words of a string, as a set."""
    return frozenset(text.split())


def pairs(text: str) -> dict[str, str]:
    """The pairs of a string, as a dictionary; "_" stands for a space.

    >>> pairs("big/small land/take_off")
    {'big': 'small', 'land': 'take off'}
    """
    return dict(pair.replace("_", " ").split("/") for pair in text.split())


DETERMINERS = set_of_words(
    "a an the this these those some any no every each both all another either neither half"
)
POSSESSIVES = set_of_words("his her its their my your our")
PRONOUNS = set_of_words("he she it they him them i we us you himself herself itself themselves")
RELATIVE = set_of_words("who which that whose")
CARDINALS = set_of_words(
    "one two three four five six seven eight nine ten eleven twelve dozen hundred thousand"
)
PREPOSITIONS = set_of_words(
    "of in on at with by from into onto for over under near behind beside between through across"
    " around along against inside outside above below beneath underneath among amongst amid"
    " during about toward towards upon off like within without past beyond atop alongside after"
    " before until via per down up out as than"
)
# Written as one relation; their nouns ("front", "top") are objects all the same.
PREPOSITION_PHRASES = {
    ("in", "front", "of"): "front",
    ("on", "top", "of"): "top",
    ("in", "back", "of"): "back",
    ("next", "to"): None,
    ("close", "to"): None,
    ("out", "of"): None,
    ("off", "of"): None,
    ("inside", "of"): None,
    ("outside", "of"): None,
    ("along", "with"): None,
    ("away", "from"): None,
    ("because", "of"): None,
    ("instead", "of"): None,
    ("across", "from"): None,
    ("such", "as"): None,
    ("together", "with"): None,
    ("ahead", "of"): None,
    ("due", "to"): None,
    ("far", "from"): None,
}
SUBORDINATORS = set_of_words("while when where because if so whilst although though since")
CONJUNCTIONS = set_of_words("and or but nor &")
MODALS = set_of_words("can could will would may might must shall should ca wo")
BE = set_of_words("is are was were be been being am 's 're")
HAVE = set_of_words("has have had having")
DO = set_of_words("does do did")
ADVERBS = set_of_words(
    "very there here not n't just also too only still almost well back away together outdoors"
    " indoors upside apart nearby now then ever never always really quite rather already soon"
    " forward backwards downhill uphill even yet maybe perhaps currently approximately else"
    " alone ahead aside sideways inward outward somewhere instead again once how"
)
# "a couple of dogs" is about dogs …
QUANTITIES = set_of_words(
    "lot assortment number couple bunch handful dozen series variety multitude array string ton"
    " range form kind type version bit pair sort mountain heap wave"
)
# … and so is "lots of dogs".
PLURAL_QUANTITIES = set_of_words(
    "lots many several plenty tons dozens loads pairs hundreds thousands"
)


# The base and -s forms of these are verbs nearly always …
VERBS = set_of_words(
    "add adjust advertise age aim allow appear approach arrange assemble attach attempt await"
    " bake balance bask bathe become beg begin belong blend boil bounce bring browse buckle build"
    " bury buy carry carve cater celebrate chew chop clean clear collect combine come compete"
    " complete confine connect consist construct contain converse cram crawl create crouch cuddle"
    " decide decorate deliver demonstrate depict descend destroy dig dine discuss do doze drag"
    " drape drip drool dry dunk eat enjoy enter equip escort examine exit explore expose extend"
    " fashion fasten feed fetch fill find fix flank flip focus follow forage freeze frolic furnish"
    " gallop garnish gather gaze gesture get give glance glaze glide go grab graze greet grin"
    " grind groom grow handle hang haul hide hike hitch hold hop hover huddle illuminate include"
    " indicate inflate insert inspect install interact intersect investigate join juggle keep"
    " kneel lay laze lean leap learn leash leave let lick lie listen live locate lower make"
    " maneuver mash meet melt moor move mow navigate nestle nibble obscure observe occupy offer"
    " open operate overlook own participate patrol pave pedal peek peel peer perch perform pierce"
    " place poke portray position posses pour prepare pretend proceed propel protect protrude"
    " provide pull push put raise reach read receive reflect relax remain remodel remove resemble"
    " restore rinse roam roast rub rust sample say scatter scoop scratch sculpt search secure see"
    " seem sell separate serve set sew shear shine simmer sing sip sit situate skid skim sleep"
    " smash smell sniff snuggle soar socialize speak speed splash sprinkle squat squeeze stare"
    " stay steal steam steer stir stretch stuff suck suspend swarm swerve tackle take teach tell"
    " tether think throw toss traverse trot try tuck unload unpack unwrap urinate vandalize wag"
    " wait wander want wear whip wilt windsurf wipe write yell"
)
# … but these are nouns as often: in base and -s form they are verbs only where one is needed.
NOUN_OR_VERB = set_of_words(
    "bark bat beat bend bike bite block blow blur board boat bow box break brush burn call camp"
    " cast catch change chase check circle climb clutter coat comb commute control cook cool cover"
    " crash cross crowd cruise curl curve cut cycle dance design display dive dock draw dress"
    " drink drive drop dump face fall feature fence fight fish flash float flow fly fold frost fry"
    " gear grill group guard guide head help herd hit hook hug hunt jam jog jump kick kiss kite"
    " label land laugh lead lift light line load lock look lounge march mark match measure"
    " microwave milk mix model mount nail name nap near nurse order pack paddle paint parade"
    " parasail park part pass pet phone photograph pick picture pile pin pitch plant plate play"
    " plow plug point polish pop pose post pot pound practice press print process pump punch race"
    " rack record repair rest return ride ring rise rock roll row run sail sand season seat shade"
    " shake shape share shave shoot shop shovel show sign signal sink skate skateboard ski sled"
    " slice slide smile smoke snack snap snowboard sort spin split spot spray spread stack staff"
    " stain stand step stick stock stop store strap strike strip stripe stroll style support surf"
    " surround swat sweep swim swing tag talk taste text tie tile tilt toast top touch tow trail"
    " train travel trek trick trim turn twist type use view visit wade walk warm wash watch water"
    " wave wheel win wind work wrap yawn zip zoom"
)
# form → (base, tag); a past form that is also a participle is the latter
IRREGULAR_VERBS = {
    form: (base, tag)
    for tag, forms in {
        "VBD": pairs(
            "sat/sit stood/stand rode/ride wore/wear ate/eat flew/fly threw/throw ran/run "
            "swam/swim went/go came/come took/take gave/give saw/see drank/drink drove/drive "
            "fell/fall got/get slept/sleep knelt/kneel skied/ski"
        ),
        "VBN": pairs(
            "held/hold ridden/ride worn/wear eaten/eat laid/lay flown/fly thrown/throw hung/hang "
            "caught/catch fed/feed gone/go taken/take given/give made/make put/put set/set "
            "cut/cut hit/hit bitten/bite lit/light left/leave led/lead met/meet seen/see "
            "shown/show built/build bought/buy broken/break brought/bring drawn/draw "
            "driven/drive fallen/fall found/find grown/grow kept/keep lain/lie swung/swing "
            "torn/tear tied/tie written/write stuck/stick struck/strike spread/spread shot/shoot "
            "sold/sell split/split known/know bent/bend blown/blow parked/park wrapped/wrap "
            "frozen/freeze woven/weave wound/wind swept/sweep hidden/hide risen/rise "
            "upturned/upturn"
        ),
        "VBG": pairs("lying/lie tying/tie skiing/ski dying/die"),
        "VBZ": pairs("lies/lie"),
    }.items()
    for form, base in forms.items()
}
# End in -ing, and are things.
ING_NOUNS = set_of_words(
    "awning bedding building ceiling clothing covering crossing dining drawing dressing duckling"
    " dumpling earring evening everything fencing filling flooring frosting gelding helping"
    " housing icing inning king lightning marking meeting morning nothing opening outing packing"
    " painting paneling parking ping plumbing pudding railing ring seating serving setting"
    " shelving sibling siding sling something spring sterling string stuffing surroundings swing"
    " thing topping wedding wing wiring"
)
# Before a noun these are its first half ("a parking lot"), not something that it does.
ING_COMPOUNDS = set_of_words(
    "baking bathing boxing building cooking cutting dining drinking fishing frying hiking ironing"
    " knitting landing mixing parking racing riding serving sewing shopping skiing surfing"
    " swimming training vending waiting walking washing wedding"
)
ADJECTIVES = set_of_words(
    "abandoned abstract adorable aerial african alert american ancient angry antique artistic"
    " asian asleep assorted available average awake awesome baby bad baked bald bare barefoot"
    " basic bearded beautiful beige best better big bigger black blond blonde blue blurry bottom"
    " bright broken brown bushy busy calm casual ceramic cheap checkered cheesy chinese chubby"
    " circular classic clean clear close closed cloudy cluttered coastal cold colored colorful"
    " comfortable commercial concrete cool cozy creamy crispy crooked crowded crusty curly curved"
    " cute damaged dark dead decorative deep delicious dense deserted different digital"
    " dilapidated dim dirty distant domestic double double-decker dry dusty elaborate elderly"
    " electric electronic elegant empty english enormous entire european excited expensive"
    " exterior extra faded fake famous fancy far fat female festive few filthy flat floral fluffy"
    " fluorescent foggy foreign forested formal free french fresh fried frozen full funny furry"
    " fuzzy gentle giant glazed gloomy golden good gothic grand grassy gray great green grey"
    " grilled hairy half happy hard hazy healthy heavy high hilly historic historical homemade hot"
    " huge hungry icy indian indoor industrial inflatable interesting interior italian junior"
    " large large-sized larger largest leafless leafy lean left light little live local lone"
    " lonely long loose lovely low lower lush luxurious main male many massive medieval messy"
    " middle military mini miniature misty mixed mobile modern more most mountainous mounted muddy"
    " multi multicolored multiple murky naked narrow natural nearby neat new next nice numerous"
    " odd old old-fashioned older oldest open opposite orange oriental ornate other outdoor"
    " overcast overhead partial patterned peaceful perfect personal pink plain plush polar popular"
    " portable potted powdered pretty private professional public purple quaint quiet rainy raised"
    " random raw ready real rear rectangular red reflective regular remote residential retro right"
    " ripe rocky rough round rural rustic rusty sad same sandy scenic seated senior serious"
    " several shaggy shallow sharp shiny shirtless short silver similar simple single sized skinny"
    " sleek sleeping sleepy slender sliced slim slippery sloped small smaller smallest smooth"
    " snow-covered snowy soft solitary spacious special speckled spiral spotted square stacked"
    " stainless steep stormy straight strange striped strong stuffed sturdy stylish sunny sweet"
    " tall tallest tan tasty thick thin thirsty tidy tight tiled tiny tired traditional tropical"
    " unfinished unidentified unique unmade unripe unusual upper urban used vacant various vast"
    " vegetarian vertical vintage visible warm wavy weathered weird wet white whole wide wild"
    " winding windy wooded wooden woody woolen worn worn-out wrinkled yellow young young-looking"
    " younger yummy"
)
# Look like plurals or verbs, and are singular nouns.
S_NOUNS = set_of_words(
    "address asparagus bass boss brass bus business cactus campus canvas chess circus citrus"
    " class cross darkness dress gas glass grass harness hibiscus hummus lens lettuce mattress"
    " mess moss news oasis octopus pass press princess ross tennis virus wii wilderness wireless"
)
# Plurals that have no singular, or are their own.
PLURAL_LEMMAS = set_of_words(
    "binoculars cattle clothes deer electronics fish fries graffiti jeans pants people pliers"
    " police scissors series sheep shorts species tongs trousers"
)
IRREGULAR_PLURALS = pairs(
    "men/man women/woman children/child teeth/tooth feet/foot mice/mouse geese/goose "
    "knives/knife shelves/shelf leaves/leaf loaves/loaf calves/calf wolves/wolf halves/half "
    "wives/wife lives/life scarves/scarf gentlemen/gentleman policemen/policeman firemen/fireman "
    "snowmen/snowman businessmen/businessman skis/ski taxis/taxi bikinis/bikini cookies/cookie "
    "movies/movie ties/tie pies/pie veggies/veggy smoothies/smoothie selfies/selfie buses/bus "
    "busses/bus shoes/shoe toes/toe canoes/canoe tomatoes/tomato potatoes/potato axes/axe "
    "geishas/geisha horses/horse houses/house noses/nose roses/rose vases/vase cases/case "
    "suitcases/suitcase purses/purse bases/base hoses/hose blouses/blouse fuses/fuse "
    "cheeses/cheese nurses/nurse briefcases/briefcase bookcases/bookcase houseboats/houseboat "
    "toothbrushes/toothbrush headaches/headache cellos/cello courses/course "
    "grandchildren/grandchild sandwiches/sandwich aches/ache ones/one moustaches/moustache "
    "dozens/dozen women's/woman zombies/zombie brownies/brownie puppies/puppy hoodies/hoodie "
    "pinkies/pinky senses/sense universities/university caches/cache quiches/quiche"
)


_TOKEN = re.compile(r"[a-z0-9]+(?:[-'’/][a-z0-9]+)*|'s|[.,;:!?&]")
_POSSESSIVE = re.compile(r"(.+)['’]s$")
_NOT = re.compile(r"(.+)n['’]t$")
_VOWELS = "aeiou"
# A verb can follow the tags on the left and be followed by those on the right.
_CLOSES_NOUN = frozenset({"DT", "JJ", "PRP$", "CD", "POS"})


class Token(NamedTuple):
    """A word in lower case, its Penn Treebank tag (roughly), and its lemma."""

    word: str
    tag: str
    lemma: str
    is_noun: bool = False
    is_verb: bool = False


def _doubles(base: str) -> bool:
    """run → running: a short word that ends in consonant, vowel, consonant."""
    return (
        len(base) >= 3
        and base[-1] not in _VOWELS + "wxy"
        and base[-2] in _VOWELS
        and (base[-3] not in _VOWELS or base[-3:-1] == "ui")
        and sum(c in _VOWELS for c in base) == (2 if "ui" in base else 1)
    )


def _inflections(base: str) -> dict[str, str]:
    """The regular forms of a verb → their tags."""
    y = base.endswith("y") and base[-2] not in _VOWELS
    stem = base[:-1] if base.endswith("e") and not base.endswith(("ee", "oe", "ye")) else base
    if _doubles(base):
        stem = base + base[-1]
    third = base[:-1] + "ies" if y else base + ("es" if base.endswith(_SIBILANTS) else "s")
    past = base[:-1] + "ied" if y else (base + "d" if base.endswith("e") else stem + "ed")
    return {third: "VBZ", past: "VBN", (base if y else stem) + "ing": "VBG"}


_SIBILANTS = ("s", "x", "z", "ch", "sh", "o")
_EXTRA = {"traveling": "travel", "travelling": "travel", "skateboarding": "skateboard"}
_FORMS: dict[str, tuple[str, str]] = {
    form: (base, tag)
    for base in sorted(VERBS | NOUN_OR_VERB)
    for form, tag in _inflections(base).items()
} | {form: (base, "VBG") for form, base in _EXTRA.items()}
_FORMS |= IRREGULAR_VERBS

_CLOSED = {
    **dict.fromkeys(ADVERBS, "RB"),
    **dict.fromkeys(PREPOSITIONS, "IN"),
    **dict.fromkeys(DETERMINERS, "DT"),
    **dict.fromkeys(POSSESSIVES, "PRP$"),
    **dict.fromkeys(PRONOUNS, "PRP"),
    **dict.fromkeys(CARDINALS, "CD"),
    **dict.fromkeys(SUBORDINATORS, "SUB"),
    **dict.fromkeys(CONJUNCTIONS, "CC"),
    **dict.fromkeys(MODALS, "MD"),
    **dict.fromkeys(RELATIVE, "WDT"),
    **dict.fromkeys(BE, "BE"),
    **dict.fromkeys(HAVE, "HAVE"),
    **dict.fromkeys(DO, "DO"),
    "to": "TO",
}
_PUNCTUATION = {**dict.fromkeys(".!?;", "."), **dict.fromkeys(",:", ",")}
# Words that have one tag whatever stands around them: most of a caption.
_SURE = {
    **dict.fromkeys(S_NOUNS - ING_NOUNS, "NN"),
    **dict.fromkeys(ADJECTIVES, "JJ"),
    **_CLOSED,
    **_PUNCTUATION,
}
for _word in ("'s", "there", "that", "her"):
    del _SURE[_word]


def tokenize(sentence: str) -> list[str]:
    """Words and punctuation in lower case; possessive 's and n't are words of their own."""
    words: list[str] = []
    for word in _TOKEN.findall(sentence.lower()):
        if word.isalnum():
            words.append(word)
        elif match := _POSSESSIVE.match(word):
            words += [match[1], "'s"]
        elif match := _NOT.match(word):
            words += [match[1], "n't"]
        else:
            words.append(word)
    return words


def tag(sentence: str) -> list[Token]:
    """The tokens of a sentence with tags and lemmas.

    Besides Penn's: BE, HAVE, DO for the auxiliaries, SUB for subordinating conjunctions, "," for
    commas and the like, "." for what ends a sentence.
    """
    words = tokenize(sentence)
    tags = [""]
    for before, word, after in zip(["", *words], words, [*words[1:], "."], strict=False):
        if word == "other" and before == "each":
            tags.append("RB")  # "next to each other" names nothing
        else:
            tags.append(_SURE.get(word) or _tag(word, tags[-1], after))
    tokens: list[Token] = []
    before = ""
    for word, own, after in zip(words, tags[1:], [*tags[2:], "."], strict=False):
        if own == "JJ" and before in ("DT", "PRP$") and after not in _AFTER_ADJECTIVE:
            own = "NN"  # "in the dark"
        tokens.append(_token(word, own))
        before = tokens[-1].tag
    return tokens


_AFTER_ADJECTIVE = frozenset({"NN", "NNS", "JJ", "CD", "CC", "VBG", "VBN", ",", "POS"})


# Words meet the same neighbours again and again.
@lru_cache(maxsize=1 << 16)
def _tag(word: str, before: str, after: str) -> str:
    """The tag of a word, by the tag of the word before it ("" for none) and by the word after."""
    return _tag_by_word(word, before, after) or _tag_by_lexicon(word, before, after)


@lru_cache(maxsize=1 << 16)
def _token(word: str, tag: str) -> Token:
    if word in PLURAL_LEMMAS and word.endswith("s"):
        tag = "NNS"
    verb = tag in ("VB", "VBZ", "VBG", "VBN", "VBD")
    lemma = _lemma(word, tag, verb)
    if tag == "JJ" and _FORMS.get(word, ("", ""))[1] == "VBG":
        lemma = _FORMS[word][0]  # "a smiling man": to smile
    return Token(word, tag, lemma, tag in ("NN", "NNS"), verb)


def _tag_by_word(word: str, before: str, after: str) -> str:
    """The tag of a function word or a number, by those around it; "" for other words."""
    if word == "'s":
        return "POS" if before in ("NN", "NNS") and _may_be_noun(after) else "BE"
    if word == "there" and after in BE:
        return "EX"
    if word == "that" and before not in ("NN", "NNS", ",", "RB"):
        return "DT"
    if word == "her" and not _may_be_noun(after):
        return "PRP"
    if word[0].isdigit():
        return "CD" if word.isdigit() else "JJ"
    return _CLOSED.get(word, "")  # "there", "that" and "her" where nothing above says more


def _tag_by_lexicon(word: str, before: str, after: str) -> str:
    """The tag of a noun, verb, adjective or adverb."""
    if word in ING_NOUNS:
        acts = word in _FORMS and before in ("NN", "NNS", "BE")  # "a man parking a car"
        return "VBG" if acts and after in DETERMINERS | POSSESSIVES else "NN"
    if word in _FORMS:
        return _verb_form(word, before, after, *_FORMS[word])
    if word in VERBS or word in NOUN_OR_VERB:
        return _base_form(word, before, after)
    return _by_ending(word, before)


def _may_be_noun(word: str) -> bool:
    """Whether a noun phrase may go on with this word."""
    return (word not in _CLOSED and word not in _PUNCTUATION) or word in CARDINALS


def _verb_form(word: str, before: str, after: str, base: str, form: str) -> str:
    if form == "VBZ":
        if base not in NOUN_OR_VERB:
            return "NNS" if before in _CLOSES_NOUN else "VBZ"
        opens = after in _CLOSED and after not in CONJUNCTIONS and after not in BE
        if before in ("NN", "WDT") and opens and after != "of":
            return "VBZ"
        return "NNS"
    if form == "VBG" and before in _CLOSES_NOUN and _may_be_noun(after):
        return "NN" if word in ING_COMPOUNDS else "JJ"
    if form == "VBG" and word in ING_COMPOUNDS and _may_be_noun(after) and before != "BE":
        return "NN" if before in ("", "IN") else "VBG"
    if form == "VBG" and before == "DT":
        return "NN"
    if form in ("VBN", "VBD") and before in {*_CLOSES_NOUN, "", "IN", "CC"} and _may_be_noun(after):
        return "JJ"
    return form


def _base_form(word: str, before: str, after: str) -> str:
    if before in ("TO", "MD", "DO"):
        return "VB"
    if before in _CLOSES_NOUN or before in ("", "IN"):
        return "NN"
    plural = before in ("NNS", "WDT", "PRP")
    if word not in NOUN_OR_VERB:
        return "VB" if plural or before in ("CC", "RB") else "NN"
    opens = after in _CLOSED and after not in CONJUNCTIONS and after != "of"
    return "VB" if plural and (opens or after in ".,") else "NN"


def _by_ending(word: str, before: str) -> str:
    if word.endswith("ly") and len(word) > 4 and before not in ("DT", "JJ"):
        return "RB"
    if word.endswith(("ful", "ous", "ish", "able", "ible", "ive", "less")) and len(word) > 5:
        return "JJ"
    if word.endswith("ing") and len(word) > 5:
        return "JJ" if before in _CLOSES_NOUN else "VBG"
    if word.endswith("ed") and len(word) > 4:
        return "VBN" if before in ("NN", "NNS", "BE") else "JJ"
    if word.endswith("s") and not word.endswith(("ss", "us", "is")) and len(word) > 3:
        return "NNS"
    return "NNS" if word in IRREGULAR_PLURALS or word == "people" else "NN"


def _lemma(word: str, tag: str, verb: bool) -> str:
    if verb:
        return _FORMS[word][0] if word in _FORMS else _unknown_verb(word)
    if tag == "NNS":
        return _singular(word)
    return {"BE": "be", "HAVE": "have", "DO": "do"}.get(tag, word)


def _unknown_verb(word: str) -> str:
    for ending in ("ing", "ed"):
        if word.endswith(ending):
            stem = word[: -len(ending)]
            if len(stem) > 2 and stem[-1] == stem[-2] and stem[-1] not in "lsz":
                return stem[:-1]
            return stem
    return word


def _singular(word: str) -> str:
    if word in PLURAL_LEMMAS:
        return word
    if word in IRREGULAR_PLURALS:
        return IRREGULAR_PLURALS[word]
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith(("ches", "shes", "sses", "xes", "zzes")):
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith("ss") else word
