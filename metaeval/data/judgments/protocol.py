"""The protocols of correlation with human judgements, named and exact.

Published correlations differ in four choices that papers often do not state. A `Protocol` makes
each of them; a name means the choices of a paper.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any, TypedDict, Unpack

from metaeval.errors import ConfigError

CHOICES = {
    "own_captions": ("drop", "unreference", "leave_out", "keep"),
    "ratings": ("each", "mean"),
    "documents": ("rating", "pair", "image"),
    "statistic": ("kendall_tau_c", "kendall_tau_b", "spearman", "pearson"),
}


class Choices(TypedDict, total=False):
    """Single choices of a `Protocol` that replace those of its name; `None` replaces nothing."""

    own_captions: str | None
    ratings: str | None
    documents: str | None
    statistic: str | None


@dataclass(frozen=True, slots=True)
class Protocol:
    """How judged captions become rows of a correlation.

    Attributes
    ----------
    name
        What it is called, "custom" where no name fits.
    own_captions
        What happens to a candidate that is, by its letters and digits, one of its own image's
        references:
        "drop" leaves the judged caption out; "unreference" takes it out of the references of its
        image, for every caption judged with that image; "leave_out" takes it out of its own
        references only, and other captions of the image keep it; "keep" does nothing, and the
        candidate is compared with itself.
    ratings
        "each": every rating is a row of its own, so a caption rated by three people is there three
        times; "mean": a caption is one row with the mean of its ratings.
    documents
        What CIDEr counts as a document for its idf: "rating" (as many documents as ratings),
        "pair" (every judged caption with its references), "image".
    statistic
        The correlation that the protocol is quoted by.
    """

    name: str
    own_captions: str
    ratings: str
    documents: str
    statistic: str

    def __post_init__(self) -> None:
        for key, allowed in CHOICES.items():
            value = getattr(self, key)
            if value not in allowed:
                raise ConfigError(f"dataset.{key}: '{value}' is not one of {', '.join(allowed)}")

    def as_dict(self) -> dict[str, str]:
        return asdict(self)


# J. Hessel, A. Holtzman, M. Forbes, R. Le Bras, Y. Choi (2021), CLIPScore, EMNLP, appendix A and
# the code published with it; for Flickr8k-Expert it follows P. Anderson et al. (2016), SPICE.
_CLIPSCORE_2021 = {
    "flickr8k_expert": ("drop", "each", "rating", "kendall_tau_c"),
    "flickr8k_cf": ("unreference", "mean", "pair", "kendall_tau_b"),
    "composite": ("unreference", "each", "pair", "kendall_tau_c"),
}
_NAMED = {
    "clipscore2021": _CLIPSCORE_2021,
    # one row per caption: Flickr8k-Expert with 5,664 rows instead of 16,992
    "averaged": {
        name: (own_captions, "mean", "pair", statistic)
        for name, (own_captions, _, _, statistic) in _CLIPSCORE_2021.items()
    },
}
# what a dataset without a protocol of its own gets
_PLAIN = ("keep", "mean", "image", "kendall_tau_b")


def protocol_for(dataset: str, name: str | None, **choices: Unpack[Choices]) -> Protocol:
    """The protocol of that name for a dataset, with single choices replaced where given.

    Where a choice differs, the name says so: "clipscore2021 with ratings=mean".

    Raises ConfigError for a name that is not known for the dataset, and for an unknown choice.
    """
    if unknown := [key for key in choices if key not in CHOICES]:
        raise ConfigError(f"dataset.{unknown[0]}: unknown option")
    if name in (None, "plain"):
        made = Protocol("plain", *_PLAIN)
    elif name in _NAMED and dataset in _NAMED[name]:
        made = Protocol(name, *_NAMED[name][dataset])
    else:
        known = [key for key, datasets in _NAMED.items() if dataset in datasets]
        raise ConfigError(
            f"dataset.protocol: '{name}' is not one of {', '.join([*known, 'plain'])}"
        )
    changed: dict[str, Any] = {
        key: value
        for key, value in choices.items()
        if value is not None and value != getattr(made, key)
    }
    if not changed:
        return made
    changes = ", ".join(f"{key}={value}" for key, value in changed.items())
    return replace(made, name=f"{made.name} with {changes}", **changed)
