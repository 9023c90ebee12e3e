"""The function words of English, and the fixed phrases that count as one of them."""

from __future__ import annotations


def words(text: str) -> frozenset[str]:
    """The words of a string, as a set."""
    return frozenset(text.split())


def pairs(text: str) -> dict[str, str]:
    """The pairs of a string, as a dictionary; "_" stands for a space.

    >>> pairs("big/small land/take_off")
    {'big': 'small', 'land': 'take off'}
    """
    return dict(pair.replace("_", " ").split("/") for pair in text.split())


DETERMINERS = words(
    "a an the this these those some any no every each both all another either neither half"
)
POSSESSIVES = words("his her its their my your our")
PRONOUNS = words("he she it they him them i we us you himself herself itself themselves")
RELATIVE = words("who which that whose")
CARDINALS = words(
    "one two three four five six seven eight nine ten eleven twelve dozen hundred thousand"
)
PREPOSITIONS = words(
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
SUBORDINATORS = words("while when where because if so whilst although though since")
CONJUNCTIONS = words("and or but nor &")
MODALS = words("can could will would may might must shall should ca wo")
BE = words("is are was were be been being am 's 're")
HAVE = words("has have had having")
DO = words("does do did")
ADVERBS = words(
    "very there here not n't just also too only still almost well back away together outdoors"
    " indoors upside apart nearby now then ever never always really quite rather already soon"
    " forward backwards downhill uphill even yet maybe perhaps currently approximately else"
    " alone ahead aside sideways inward outward somewhere instead again once how"
)
# "a couple of dogs" is about dogs …
QUANTITIES = words(
    "lot assortment number couple bunch handful dozen series variety multitude array string ton"
    " range form kind type version bit pair sort mountain heap wave"
)
# … and so is "lots of dogs".
PLURAL_QUANTITIES = words("lots many several plenty tons dozens loads pairs hundreds thousands")
