"""The names of the columns of a run's tables, declared once.

`metaeval.runs.files` gives their types and says which table has which column.
"""

IMAGE_ID = "image_id"
SET = "set"
LEVEL = "level"
CAPTION = "caption"
SOURCE_CAPTION = "source_caption"
APPLIED = "applied"
EXPECTED = "expected"
SEVERITY = "severity"
EFFECT = "effect"
HARM = "harm"
REQUESTED_RATE = "requested_rate"
REALISED_RATE = "realised_rate"
EDITS = "edits"
REFERENCES = "references"
IMAGE_PATH = "image_path"
METRIC = "metric"
SCORE = "score"
SEED = "seed"
# of captions that are judged in pairs: the other caption of the pair; in no file
RIVAL = "rival"
# the position in the dataset of what a caption is compared with, where its image alone does not say
# it (an image may have several sets of references); in no file
ITEM = "item"

HUMAN = "Human"  # the set of people's captions, and what a system is called that is people
