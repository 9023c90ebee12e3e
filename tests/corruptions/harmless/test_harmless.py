"""Hand-worked cases: what is said otherwise, and what is left alone."""

import pytest

from metaeval.corruptions.base import Caption
from metaeval.corruptions.harmless.grammar import (
    Contraction,
    MirrorRelation,
    Passive,
    Possessive,
    RelativeClause,
    SwapConjuncts,
)
from metaeval.corruptions.harmless.wording import (
    BritishSpelling,
    DefiniteArticle,
    Filler,
    FinalStop,
    Hyphen,
    LowerCase,
    NumberFormat,
    PhotoPrefix,
    Synonym,
    ThereIsFrame,
    TypographicQuotes,
)


@pytest.mark.parametrize(
    ("corruption", "before", "after"),
    [
        (Synonym(), "A couch.", "A sofa."),
        (BritishSpelling(), "A gray cat.", "A grey cat."),
        (NumberFormat(), "Two dogs run.", "2 dogs run."),
        (NumberFormat(), "4 dogs run.", "Four dogs run."),
        (ThereIsFrame(), "A man is riding a horse.", "There is a man riding a horse."),
        (ThereIsFrame(), "Two dogs running.", "There are two dogs running."),
        (ThereIsFrame(), "A man rides a horse.", "A man rides a horse."),
        (PhotoPrefix(), "An old man with a dog", "A photo of an old man with a dog"),
        (Filler(), "a man with a dog", "we see a man with a dog"),
        (DefiniteArticle(), "A man eats.", "The man eats."),
        (DefiniteArticle(), "A couple of men eat.", "A couple of men eat."),
        (Passive(), "A man riding a horse.", "A horse being ridden by a man."),
        (Passive(), "A man riding his horse.", "A man riding his horse."),
        (RelativeClause(), "A man riding a horse.", "A man who is riding a horse."),
        (RelativeClause(), "Dogs that are running.", "Dogs running."),
        (SwapConjuncts(), "A bowl with an apple and a pear.", "A bowl with a pear and an apple."),
        (SwapConjuncts(), "A dog and a man on a horse.", "A dog and a man on a horse."),
        (MirrorRelation(), "A cat next to a TV.", "A TV next to a cat."),
        (MirrorRelation(), "A cat on a TV.", "A cat on a TV."),
        (Contraction(), "There is a dog.", "There's a dog."),
        (Contraction(), "A dog that's black.", "A dog that is black."),
        (Contraction(), "A dog and it's ball.", "A dog and it's ball."),
        (Possessive(), "A hat in a man's hand.", "A hat in the hand of a man."),
        (Possessive(), "A skater's airborne feet.", "A skater's airborne feet."),
        (RelativeClause(), "A simple living room.", "A simple living room."),
        (LowerCase(), "A TV.", "a tv."),
        (FinalStop(), "A dog.", "A dog"),
        (FinalStop(), "A dog", "A dog."),
        (Hyphen(), "A double decker bus.", "A double-decker bus."),
        (Hyphen(), "A double-decker bus.", "A double decker bus."),
        (TypographicQuotes(), 'A "stop" in a man\'s hand', "A “stop” in a man’s hand"),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_one_outcome(corruption, before, after):
    made = {corruption.corrupt(Caption(1, before), corruption.generator(s, 1)) for s in range(20)}
    assert {result.text for result in made} == {after}
