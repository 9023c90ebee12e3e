"""Every `python -m metaeval …` of README.md, CONTRIBUTING.md and docs/: is its configuration valid?

A command is composed as Hydra composes it, and its options are checked as before a run. Nothing is
run here: `test_run_commands.py` runs them on a few images, `test_own.py` and `test_judges.py` the
blocks of their pages.
"""

import re
import shlex
from pathlib import Path

import pytest
from hydra.core.override_parser.overrides_parser import OverridesParser
from omegaconf import OmegaConf

from metaeval.config import complete_metrics, compose_config
from metaeval.errors import ConfigError
from metaeval.schema import check_config

ROOT = Path(__file__).parents[2]
PAGES = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")])
_COMMAND = re.compile(r"python -m metaeval (?!list |--)((?:[^\n`\\]|\\\n)+)")
# a page that shows the message on a wrong option
REFUSED = {"runs.md": {"metric.cider.sigm=6", "stats.replicates=x"}}
PLACEHOLDERS = {"corruption=NAME": "corruption=replace"}


def commands(page: Path) -> list[str]:
    """The arguments of every command of a page, each line once."""
    text = page.read_text(encoding="utf-8").replace(r"\_", "_")  # as docs/options.md has it
    lines = [re.sub(r"\\\n\s*", " ", line) for line in _COMMAND.findall(text)]
    return list(dict.fromkeys(line.strip() for line in lines if "experiment=" in line))


def overrides(command: str) -> list[str]:
    """The overrides of a command; of a sweep those of its first job."""
    words = shlex.split(command, comments=True)
    if "--config-dir" in words:  # what is in the folder is of tests/docs/test_own.py
        place = words.index("--config-dir")
        del words[place : place + 2]
        words = [re.sub(r",overlap\b", "", word) for word in words]
    parser = OverridesParser.create()
    made = []
    for word in words:
        word = PLACEHOLDERS.get(word, word)
        if "=" not in word or "…" in word or word.startswith("hydra."):
            continue
        word = re.sub(r"\$\{METAEVAL_DATA\}|\$METAEVAL_DATA\b", "DATA", word)
        parsed = parser.parse_override(word)
        if parsed.is_sweep_override():
            word = f"{parsed.key_or_group}={next(parsed.sweep_string_iterator())}"
        made.append(word)
    return made


def check(command: str) -> None:
    config = compose_config(overrides(command))
    complete_metrics(config)
    OmegaConf.resolve(config)
    check_config(config)


@pytest.mark.slow
@pytest.mark.parametrize(
    "page", [p for p in PAGES if commands(p)], ids=lambda p: str(p.relative_to(ROOT))
)
def test_every_command_has_a_valid_configuration(page: Path) -> None:
    wrong = []
    for command in commands(page):
        if any(option in command for option in REFUSED.get(page.name, ())):
            with pytest.raises(ConfigError):
                check(command)
            continue
        try:
            check(command)
        except ConfigError as error:
            wrong.append(f"{command}\n    {error}")
    assert not wrong, "\n".join(wrong)
