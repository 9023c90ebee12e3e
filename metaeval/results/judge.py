"""What the recorded answers of a judge show about it: one record per judge, in `judges.json`."""

from collections.abc import Mapping

from metaeval.results.base import Model, Number

DOMINANT = 0.5  # a share of captions with one score above which a judge is marked


class EqualRatingEffects(Model):
    """What changes a judge's score among captions of equal human rating.

    Attributes
    ----------
    length_slope
        The change of the score with one more word; `None` where lengths do not differ.
    self_preference
        The mean score of captions by captioners of the judge's family minus that of captions by
        other captioners; `None` where the families are unknown or only one side has captions.
    same_family
        The scored captions by captioners of the judge's family.
    """

    length_slope: Number
    self_preference: Number = None
    same_family: int = 0


class JudgeDiagnostics(Model):
    """How a judge answered in one run.

    Attributes
    ----------
    judge
        The name of its score column.
    captions, answers
        Captions (pairwise: ordered pairs) that were judged, and answers to them. A caption that was
        judged with several prompts, of other references for instance, counts once for each.
    distinct
        Different scores among the parsed answers.
    most_frequent, most_frequent_share
        The most frequent score, and its share of the parsed answers.
    dominated
        Whether that share is above `DOMINANT`: the judge hardly distinguishes captions.
    unparsed, truncated, refused
        Answers that cannot be parsed, that were cut at `max_tokens`, and refusals.
    order_consistency
        Pairwise: the share of pairs with the same preference in both orders; `None` otherwise.
    first_preferred
        Pairwise: the share of decided answers that prefer the first caption.
    ties
        Pairwise: the share of answers without a preference.
    repeatability_sd, same_answers
        With several samples: the mean standard deviation of a caption's scores, and the share of
        captions whose samples all have the same score.
    input_tokens, output_tokens, seconds, usd
        Per 1,000 captions, as far as the endpoint and the configuration state them; seconds are
        those of the calls one after another.
    models
        What the endpoint called the models that answered.
    family
        The family of those models, or of the judge's name where the models are not recorded;
        `None` where it is unknown.
    at_equal_rating
        What people rated → the effects at equal rating; empty without rated captions.
    """

    judge: str
    captions: int
    answers: int
    distinct: int
    most_frequent: Number
    most_frequent_share: Number
    dominated: bool
    unparsed: int
    truncated: int
    refused: int
    order_consistency: Number
    first_preferred: Number
    ties: Number
    repeatability_sd: Number
    same_answers: Number
    input_tokens: Number
    output_tokens: Number
    seconds: Number
    usd: Number
    models: tuple[str, ...]
    family: str | None = None
    at_equal_rating: Mapping[str, EqualRatingEffects] = {}


class JudgesFile(Model):
    """The contents of `judges.json`."""

    schema_version: int = 1
    judges: tuple[JudgeDiagnostics, ...]
