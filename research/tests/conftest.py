"""The fixtures and skips of tests/, and the trainings' options."""

from metaeval import choices
from research.train.__main__ import CONF
from tests.conftest import *  # noqa: F403

choices.add_config_folder(CONF)
