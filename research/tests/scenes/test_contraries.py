"""The corruptions' contraries against the generator's verbs."""

import re

from metaeval.corruptions.truth.changes import CONTRARIES, FORMS
from research.scenes.verbs import FRAMES


def test_replaced_relations_are_contraries() -> None:
    """No contrary is a way to say the predicate it contradicts."""
    for predicates, verbs, prepositions in CONTRARIES:
        phrases = (verb.split() for verb in verbs.split(", "))
        wrong = {" ".join([FORMS[verb][0], *rest]) for verb, *rest in phrases}
        wrong |= set(prepositions.split(", "))
        for predicate in predicates.split(", "):
            frames = [
                f for k, fs in FRAMES.items() if re.split("[<>]", k)[0] == predicate for f in fs
            ]
            right = {f"{f.ing} {f.rest}".strip() for f in frames}
            assert frames
            assert not wrong & right, predicate
