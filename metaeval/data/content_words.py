"""The content words of a caption, and what an edit does to them."""

from collections import Counter

from metaeval.data.tidy import letters_and_digits

# words that carry the grammar of a caption and not its content
FUNCTION_WORDS = frozenset({
    "a", "an", "the", "this", "that", "these", "those", "some", "any", "each", "every", "and",
    "or", "but", "nor", "so", "of", "in", "on", "at", "by", "for", "from", "to", "into", "onto",
    "with", "without", "over", "under", "up", "down", "off", "out", "near", "as", "is", "are",
    "was", "were", "be", "been", "being", "am", "has", "have", "had", "do", "does", "did", "it",
    "its", "he", "she", "they", "them", "his", "her", "their", "there", "who", "which", "what",
    "whose", "not", "no",
})  # fmt: skip
# whether content words went, and whether any came → the kind of the edit
EDITS = {
    (False, True): "added",
    (True, False): "removed",
    (True, True): "replaced",
    (False, False): "wording",
}


def content_words(caption: str) -> list[str]:
    """The words of a caption, by letters and digits, that are not function words.

    >>> content_words("The dog's ball is on a mat.")
    ['dogs', 'ball', 'mat']
    """
    words = (letters_and_digits(word) for word in caption.split())
    return [word for word in words if word and word not in FUNCTION_WORDS]


def kind_of_edit(before: str, after: str) -> str:
    """Whether an edit added or removed content words, both ("replaced"), or neither ("wording").

    Words are compared as they are written: "sits" for "sitting" is a replacement.

    >>> kind_of_edit("A dog runs", "A dog runs on grass."), kind_of_edit("a dog", "The dog.")
    ('added', 'wording')
    """
    old, new = Counter(content_words(before)), Counter(content_words(after))
    return EDITS[bool(old - new), bool(new - old)]
