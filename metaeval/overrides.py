"""Options as texts: keyword arguments and arguments of the command → what Hydra's grammar reads.

What that grammar cannot write (a mapping with the key "LLaVA 1.5" or "A>B") is taken out of the
overrides and merged into the configuration that Hydra has composed from the others.
"""

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any

import yaml
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Quote, QuotedString
from hydra.errors import HydraException, OverrideParseException
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from metaeval import choices
from metaeval.choices import LISTED, list_choices
from metaeval.errors import ConfigError, InputError
from metaeval.readers.files import parse_json

# texts that Hydra's grammar reads as such without quotes
_UNQUOTED = re.compile(r"(?:[A-Za-z_/]|\$\{[\w.]+\})(?:[\w./-]|\$\{[\w.]+\})*", re.ASCII)
# keys of mappings of which it reads a text
_KEY = re.compile(r"(?!(?:null|true|false|nan|inf)$)[A-Za-z_]\w*", re.ASCII | re.IGNORECASE)
# options whose value is imported and called, or run
_CODE = frozenset({"function", "scorer", "module", "what", "metric", "run", "command"})
_OPTION = re.compile(r"[A-Za-z_][\w.]*", re.ASCII)
_RESOLVER = re.compile(r"\$\{(?![\w.]+\}|oc\.env:)")
_OF_OTHER_TYPES = ("null", "true", "false", "nan", "inf")


def override_texts(given: Mapping[str, object]) -> list[str]:
    """Keyword arguments as the command's overrides: `dataset__limit=5` is "dataset.limit=5"."""
    texts = []
    for name, value in given.items():
        key = name.replace("__", ".")
        written = override_value(value) if key.isascii() else json.dumps(_plain(value))
        texts.append(f"{key}={written}")
    return texts


def override_value(value: Any) -> str:
    """A value in Hydra's grammar, or as JSON where a mapping in it has a key that the grammar
    cannot write. A function is its dotted name."""
    plain = _plain(value)
    try:
        return _in_grammar(plain)
    except _OddKeyError:
        return json.dumps(plain, ensure_ascii=False)


class _OddKeyError(Exception):
    """A key of a mapping that Hydra's grammar cannot write."""


def _plain(value: Any) -> Any:
    """A value as JSON has it: texts, numbers, lists and mappings with texts as keys."""
    if hasattr(value, "tolist"):  # of NumPy
        value = value.tolist()
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, Mapping):
        return {str(key): _plain(each) for key, each in value.items()}
    if callable(value):
        return ".".join(importable(value))
    if isinstance(value, Iterable):
        return [_plain(each) for each in value]
    raise ConfigError(f"{value!r:.60} is not a value of an option")


def _in_grammar(value: Any) -> str:
    """A plain value in Hydra's grammar."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, list):
        return "[" + ",".join(map(_in_grammar, value)) + "]"
    if isinstance(value, dict):
        if not all(map(_KEY.fullmatch, value)):
            raise _OddKeyError
        return "{" + ",".join(f"{k}:{_in_grammar(v)}" for k, v in value.items()) + "}"
    if "${" in value and os.path.exists(value):  # a file's name is text, not another key's value
        value = value.replace("${", "\\${")
    if _UNQUOTED.fullmatch(value) and value.lower() not in _OF_OTHER_TYPES:
        return str(value)
    return QuotedString(value, Quote.single).with_quotes()


def importable(made: Any) -> tuple[str, str]:
    """The module of a function or class and its name in it; ConfigError where another process
    cannot import it."""
    module, name = getattr(made, "__module__", ""), getattr(made, "__qualname__", "")
    if not name or module == "__main__" or "<" in name:
        raise ConfigError(
            f"the process of the run cannot import {name or repr(made):.60}; write it "
            "at the top of a module and import it from there, or use metaeval.score"
        )
    return module, name


def metric_overrides(overrides: Sequence[str]) -> list[str]:
    """Overrides that add the metrics whose options are set and that `metric` does not list.

    So every option of every metric is known: `metric.chair.truth=[references]`. A metric that
    provides word vectors is left out if another one does: Hydra takes a group only once.
    """
    keys = [override.lstrip("+").partition("=")[0] for override in overrides]
    listed_metrics = _listed_metrics(overrides)
    known, added = list_choices("metric"), dict[str, None]()
    for key in keys:
        group, _, rest = key.partition(".")
        name = rest.partition(".")[0]
        unlisted = group == "metric" and name in known and name not in listed_metrics
        clash = unlisted and _brings_vectors(name) and any(map(_brings_vectors, listed_metrics))
        if unlisted and not clash:
            added[name] = None
    return [f"+metric@metric.{n}={n}" for n in added if f"metric@metric.{n}" not in keys]


# Hydra's flags that are followed by a value
_VALUED_FLAGS = frozenset(
    {
        "--config-dir",
        "-cd",
        "--config-path",
        "-cp",
        "--config-name",
        "-cn",
        "--package",
        "-p",
        "--cfg",
        "-c",
        "--info",
        "-i",
        "--experimental-rerun",
    }
)


def hydra_arguments(arguments: Sequence[str]) -> list[str]:
    """The arguments of the command as Hydra reads them: flags first, texts in quotes.

    >>> hydra_arguments(["dataset=own", "--config-dir", "conf", "dataset.file=mine (1).csv"])
    ['--config-dir', 'conf', 'dataset=own', "dataset.file='mine (1).csv'"]
    """
    flags, overrides = split_flags(arguments)
    sweep = not {"-m", "--multirun"}.isdisjoint(flags)
    return [*flags, *(_quoted(override, sweep) for override in overrides)]


def split_flags(arguments: Sequence[str]) -> tuple[list[str], list[str]]:
    """Hydra's flags with their values, and the other arguments."""
    flags: list[str] = []
    others: list[str] = []
    rest = iter(arguments)
    for argument in rest:
        if argument.startswith("-"):
            flags += [argument, *islice(rest, int(argument in _VALUED_FLAGS))]
        else:
            others.append(argument)
    return flags, others


def option_value(text: str) -> tuple[str, Any]:
    """Name and value of "name=value", for the argument of a class or function."""
    name, equals, _ = text.partition("=")
    if not equals or not name.isidentifier():
        raise ConfigError(f"'{text}' is not an option; write name=value")
    given: dict[str, object] = OmegaConf.to_container(OmegaConf.from_dotlist([text]))  # type: ignore[assignment]
    return name, given[name]


def _quoted(override: str, sweep: bool) -> str:
    """An override with its value in quotes, where Hydra's grammar does not read it as a text.

    Of a list, and of the values of a sweep, each one is quoted by itself.
    """
    key, is_assignment, value = override.partition("=")
    is_file = "${" in value and os.path.exists(value)  # its name is text
    if not is_assignment or (is_readable(override) and value != "nan" and not is_file):
        return override  # no option is NaN
    listed = value[:1] == "[" and value[-1:] == "]"
    inner = value[1:-1] if listed else value
    if (listed or sweep) and not set("[]{}'\"").intersection(inner):
        parts = inner.split(",")
        inner = ",".join(p if is_readable(f"{key}={p}") else override_value(p) for p in parts)
    elif value[:1] not in ("[", "{"):
        inner = override_value(value)
    return f"{key}=[{inner}]" if listed else f"{key}={inner}"


def outside_the_grammar(overrides: Iterable[str]) -> tuple[list[str], dict[str, Any]]:
    """The overrides that Hydra composes, and key → value of the others, which `merge` adds.

    The others are mappings and lists in JSON or YAML that Hydra's grammar cannot read.

    >>> outside_the_grammar(["seed=1", "dataset.winners={A>B: first}"])
    (['seed=1'], {'dataset.winners': {'A>B': 'first'}})
    """
    composed, others = [], {}
    for override in overrides:
        key, _, value = override.partition("=")
        if value[:1] in ("{", "[") and not override.startswith("~") and not is_readable(override):
            with suppress(ValueError, OmegaConfBaseException, yaml.YAMLError):
                others[key] = _read(value)
                continue
        composed.append(override)
    return composed, others


def _read(value: str) -> Any:
    """A mapping or list in JSON or YAML; ValueError and YAML's own errors for other texts."""
    with suppress(InputError):
        return parse_json(value, None)
    read = OmegaConf.to_container(OmegaConf.create(value))
    if isinstance(read, dict) and None in read.values() and "null" not in value:
        raise ValueError("a key without a value, as of {A>B:first} without a blank")
    return read


def merge(config: DictConfig, others: Mapping[str, Any]) -> None:
    """Set options whose values are not in Hydra's grammar, as Hydra sets those that are."""
    for key, value in others.items():
        OmegaConf.update(config, key.lstrip("+"), value, merge=True, force_add=key[0] == "+")


def is_readable(override: str) -> bool:
    """Whether a text is an override in Hydra's grammar."""
    try:
        OverridesParser.create().parse_overrides([override])
    except OverrideParseException:
        return False
    return True


def require_listed(overrides: Iterable[str], file: Path, field: str) -> None:
    """Refuse overrides of a file that could run code, with an InputError.

    A choice is one of `list_choices`; no override names a class, a function, a module, an option of
    Hydra or a resolver. Every text of a file passes this check before a configuration is made of
    it.
    """
    for override in overrides:
        try:
            parsed = OverridesParser.create().parse_override(override)
            values = dict(_leaves(parsed.value(), str(parsed.key_or_group)))
        except HydraException:
            problem = f"'{override:.80}' is not KEY=VALUE in Hydra's grammar"
            raise InputError(problem, file=file, field=field) from None
        key, parts = override.partition("=")[0], {p for v in values for p in v.split(".")[1:]}
        if (
            not _OPTION.fullmatch(key)
            or key.startswith("hydra")
            or "_target_" in override
            or _RESOLVER.search(override)
            or not _CODE.isdisjoint(parts)
        ):
            problem = f"'{override:.80}' could run code, which no file may; leave it out"
            raise InputError(problem, file=file, field=field)
        known = list_choices(key)  # nothing for an option that is not a choice
        if unknown := [name for name in values.values() if known and str(name) not in known]:
            plural = next((what for what, of in LISTED.items() if of == key), "options")
            problem = f"unknown {key} '{unknown[0]!s:.80}'; see `metaeval list {plural}`"
            raise InputError(problem, file=file, field=field)


def _leaves(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    """Dotted path → value of everything within a value."""
    if isinstance(value, dict):
        for key, each in value.items():
            yield from _leaves(each, f"{path}.{key}")
    elif isinstance(value, list):
        for k, each in enumerate(value):
            yield from _leaves(each, f"{path}.{k}")
    else:
        yield path, value


def _brings_vectors(metric: str) -> bool:
    path = choices.conf() / "metric" / f"{metric}.yaml"
    return path.is_file() and "/vectors@" in path.read_text(encoding="utf-8")


def _listed_metrics(overrides: Sequence[str]) -> set[str]:
    """The metrics that `metric` lists: those of the last override `metric=[…]`, or the default."""
    given = [o.partition("=")[2] for o in overrides if o.partition("=")[0] == "metric"]
    if given:
        return {name.strip(" '\"") for name in given[-1].strip(" []").split(",")}
    defaults = OmegaConf.load(choices.conf() / "config.yaml").defaults
    return {name for entry in defaults if "metric" in entry for name in entry["metric"]}
