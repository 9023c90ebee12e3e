"""A small dataset for corruptions of language: captions that offer something to most of them."""

import numpy as np

from metaeval.data.dataset import CaptionDataset, Objects

HUMAN = (
    "A man riding a brown horse on a beach.",
    "Two dogs are sitting next to a red couch in a living room.",
    "A large white bus is driving down a street at night",
    "There is a young woman holding a tennis racket on a tennis court.",
    "A small wooden table with a full bowl of fruit, and a laptop computer.",
    "a group of people are standing under an open umbrella in the rain",
    "The surfer's hand is in front of a boat that is gray.",
    "A black cat laying on top of a bed near a toy",
    "A man is about to hit a ball with his bat while a crowd watches.",
    'Three giraffes stand behind a fence near a sign that says "zoo"',
    "A woman and a child eating an old-fashioned pizza.",
    "A close up of a double decker bus.",
    "A cat next to a small dog.",
    "A happy skier holding 2 poles with a hat and a scarf.",
)
REFERENCES = tuple((text.replace("A ", "One "), f"It shows this: {text}") for text in HUMAN)
LABELS = (
    ("person", "horse"),
    ("dog", "couch"),
    ("bus",),
    ("person", "tennis racket"),
    ("dining table", "bowl", "laptop"),
    ("person", "umbrella"),
    ("surfboard", "boat"),
    ("cat", "bed"),
    ("person", "sports ball", "baseball bat"),
    ("giraffe",),
    ("person", "pizza"),
    ("bus",),
)


def dataset(captions: tuple[str, ...] = HUMAN) -> CaptionDataset:
    """One image a caption, each with references and objects."""
    ids = tuple(range(10, 10 + len(captions)))
    labels = [LABELS[i % len(LABELS)] for i in range(len(captions))]
    objects = {
        i: Objects(names, np.tile([0.0, 0.0, 1.0, 1.0], (len(names), 1)))
        for i, names in zip(ids, labels, strict=True)
    }
    references = tuple(REFERENCES[i % len(REFERENCES)] for i in range(len(captions)))
    parts = {"objects": lambda: objects}
    return CaptionDataset("test", ids, captions, references, ids, captions, parts=parts)
