"""What an option may be: its type is the annotation of the argument or field that takes it.

`problems` holds a value of the configuration against an annotation. What a type cannot say, a
marker does: `Annotated[int, Range(1)]` is `PositiveInt` below. Mappings are held against the fields
of a dataclass or TypedDict. Where a component is expected, the value is a node with a `_target_`,
and `metaeval.schema` looks into it.
"""

from __future__ import annotations

import collections.abc
import difflib
import inspect
import math
import re
import types
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import MISSING, dataclass, fields, is_dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import (
    Annotated,
    Any,
    Literal,
    NamedTuple,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

from metaeval.errors import ConfigError

TARGET = "_target_"  # the key by which Hydra knows a component


@dataclass(frozen=True, slots=True)
class Range:
    """A number from `low` to `high`; the ends belong to it unless they are `open_`."""

    low: float = -math.inf
    high: float = math.inf
    open_low: bool = False
    open_high: bool = False

    def holds(self, value: float) -> bool:
        above = value > self.low if self.open_low else value >= self.low
        below = value < self.high if self.open_high else value <= self.high
        return above and below

    def __str__(self) -> str:
        if self.high == math.inf:
            return f"{'above' if self.open_low else 'from'} {self.low:.12g}"
        ends = "(" if self.open_low else "[", ")" if self.open_high else "]"
        return f"in {ends[0]}{self.low:.12g}, {self.high:.12g}{ends[1]}"


@dataclass(frozen=True, slots=True)
class Pattern:
    """Text that matches a regular expression as a whole; `words` say what that is."""

    expression: str
    words: str

    def holds(self, value: str) -> bool:
        return re.fullmatch(self.expression, value) is not None


@dataclass(frozen=True, slots=True)
class OptionsOf:
    """A mapping of options for the class or function at `path` ("package.module.Class").

    It is imported when something is held against it. Those in `also_none` may be `None`, those in
    `without` are not set by this mapping.
    """

    path: str
    also_none: tuple[str, ...] = ()
    without: tuple[str, ...] = ()

    def known(self) -> dict[str, Any]:
        """Option → annotation."""
        module, _, name = self.path.rpartition(".")
        return {
            key: kind | None if key in self.also_none else kind
            for key, kind in options_of(getattr(import_module(module), name)).known.items()
            if key not in self.without
        }


PositiveInt = Annotated[int, Range(1)]
NonNegativeInt = Annotated[int, Range(0)]
Draws = Annotated[int, Range(1, 1_000_000)]  # of a permutation test
Seed = Annotated[int, Range(0, 2**32 - 1)]
Limit = PositiveInt | None  # only the first so many; None for all
Share = Annotated[float, Range(0, 1)]
Below1 = Annotated[float, Range(0, 1, open_high=True)]
OpenShare = Annotated[float, Range(0, 1, open_low=True, open_high=True)]
Rate = Annotated[float, Range(0, 1, open_low=True)]
Positive = Annotated[float, Range(0, open_low=True)]
NotNegative = Annotated[float, Range(0)]
Device = Annotated[str, Pattern(r"auto|cpu|cuda(:\d+)?", "auto, cpu, cuda or cuda:1")]
DataType = Literal["float32", "bfloat16", "float16"]

_WORDS = {
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    str: "text",
    Path: "a path",
    type(None): "null",
}


def problems(value: Any, annotation: Any, key: str) -> Iterator[str]:
    """What is wrong with a value for this annotation, a sentence each: "stats.seed is 'abc', …".

    Nodes of components, mappings with `_target_`, are right for any class and looked into by
    nobody here.
    """
    origin = get_origin(annotation)
    if annotation is Any or (isinstance(value, Mapping) and TARGET in value):
        return
    if isinstance(value, str) and value == "???":
        yield f"{key} is missing: it has to be given"
    elif origin is Annotated:
        yield from _marked(value, annotation, key)
    elif origin in (Union, types.UnionType):
        yield from _of_any(value, get_args(annotation), key)
    elif origin in (list, tuple, collections.abc.Sequence):
        yield from _of_list(value, annotation, key)
    elif origin in (dict, collections.abc.Mapping):
        yield from _of_mapping(value, annotation, key)
    elif is_dataclass(annotation) or is_typeddict(annotation):
        yield from unknown_and_wrong(value, fields_of(annotation), key)
        required: frozenset[str] = getattr(annotation, "__required_keys__", frozenset())
        if isinstance(value, Mapping):
            yield from (f"{key}.{name} is missing" for name in sorted(required - set(value)))
    elif not _is(value, annotation):
        yield f"{key} is {shown(value)}, not {described(annotation)}"


def unknown_and_wrong(value: Any, known: Mapping[str, Any], key: str) -> Iterator[str]:
    """What is wrong with a mapping whose keys have these annotations."""
    if not isinstance(value, Mapping):
        yield f"{key} is {shown(value)}, not a mapping of options"
        return
    for name, each in value.items():
        full = f"{key}.{name}" if key else str(name)
        if name in known:
            yield from problems(each, known[name], full)
        else:
            yield f"there is no option {full}{did_you_mean(str(name), known)}"


def fields_of(made: Any) -> dict[str, Any]:
    """Name → annotation of a dataclass or TypedDict."""
    return get_type_hints(made, include_extras=True)


def required_fields(made: type) -> set[str]:
    """The fields of a dataclass that have no default."""
    return {f.name for f in fields(made) if f.default is f.default_factory is MISSING}


class Options(NamedTuple):
    """What a class or function can be given, option → annotation, and whether it takes others."""

    known: dict[str, Any]
    others: bool


@cache
def options_of(maker: Callable[..., Any]) -> Options:
    """The options of a component, from the signature of its class or function.

    What a class hands on to its base class as `**options` is read there; `**options: Unpack[…]` is
    read from the TypedDict.
    """
    known: dict[str, Any] = {}
    for function in _signatures(maker):
        hints, others = _hints(function), None
        for name, parameter in inspect.signature(function).parameters.items():
            if name in ("self", "cls"):
                continue
            if parameter.kind is parameter.VAR_KEYWORD:
                others = hints.get(name, Any)
            elif parameter.kind is not parameter.VAR_POSITIONAL:
                known.setdefault(name, hints.get(name, Any))
        if others is None:
            return Options(known, False)
        if others is not Any:
            known |= fields_of(get_args(others)[0] if get_args(others) else others)
            return Options(known, False)
    return Options(known, True)


def _signatures(maker: Callable[..., Any]) -> Iterator[Callable[..., Any]]:
    """The function that takes the options; of a class its `__init__`, and those it overrides."""
    if not inspect.isclass(maker):
        yield maker
        return
    for ancestor in maker.__mro__:
        if (init := vars(ancestor).get("__init__")) is not None and inspect.isfunction(init):
            yield init
    if not any("__init__" in vars(a) for a in maker.__mro__[:-1]):
        yield _takes_nothing


def _takes_nothing() -> None:
    """The signature of a class without `__init__`."""


def _hints(function: Callable[..., Any]) -> dict[str, Any]:
    """Name → annotation; `Any` for what is only imported for type checkers."""
    try:
        return get_type_hints(function, include_extras=True)
    except NameError:
        return {
            name: _evaluated(annotation, function)
            for name, annotation in function.__annotations__.items()
        }
    except TypeError:  # no function of Python's
        return {}


def _evaluated(annotation: Any, function: Callable[..., Any]) -> Any:
    if not isinstance(annotation, str):
        return annotation
    try:
        return eval(annotation, vars(inspect.getmodule(function) or object()))
    except NameError:
        return Any


def require_fields(made: Any, key: str) -> None:
    """Raise ConfigError unless the fields of a dataclass are what their annotations say.

    `key` is where the configuration has them: "task.training".
    """
    values = {field.name: getattr(made, field.name) for field in fields(made)}
    if wrong := list(unknown_and_wrong(values, fields_of(type(made)), key)):
        raise ConfigError("; ".join(wrong))


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """ "; did you mean 'replace'?", or nothing where no name is near."""
    near = difflib.get_close_matches(name, list(map(str, known)), n=2, cutoff=0.6)
    return f"; did you mean {' or '.join(map(repr, near))}?" if near else ""


def shown(value: Any) -> str:
    """A value as a message shows it, short."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    text = ascii(value) if isinstance(value, str) and not value.isprintable() else repr(value)
    return text if len(text) <= 60 else f"{text[:59]}…"


def described(annotation: Any) -> str:
    """An annotation in words: "a whole number from 1 or null"."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        marks = [str(m) for m in arguments[1:] if isinstance(m, Range)]
        marks += [m.words for m in arguments[1:] if isinstance(m, Pattern)]
        whole = described(arguments[0])
        return marks[0] if marks and arguments[0] is str else " ".join([whole, *marks])
    if origin in (Union, types.UnionType):
        words = dict.fromkeys(described(a) for a in arguments)
        return " or ".join(words)
    if origin is Literal:
        return "one of " + ", ".join(map(str, arguments))
    if origin in (list, tuple, collections.abc.Sequence):
        return f"a list of {described(arguments[0])}" if arguments else "a list"
    if origin in (dict, collections.abc.Mapping):
        return "a mapping"
    return _WORDS.get(annotation, "a component (a node with a _target_)")


def _is(value: Any, annotation: Any) -> bool:
    """Whether a value is of a plain type, as a configuration has them: a path is text."""
    if get_origin(annotation) is Literal:
        return any(
            value is a or (type(value) is type(a) and value == a) for a in get_args(annotation)
        )
    if annotation in (None, type(None)):
        return value is None
    if annotation is bool:
        return isinstance(value, bool)
    if annotation is int:
        return isinstance(value, int) and not isinstance(value, bool)
    if annotation is float:
        number = isinstance(value, int | float) and not isinstance(value, bool)
        return number and abs(value) < 2.0**1023 and math.isfinite(value)
    if annotation in (str, Path):
        return isinstance(value, str) and "\0" not in value and is_unicode(value)
    return False  # a class: the value would have to be a node


def is_unicode(text: str) -> bool:
    """Whether a text can be written as UTF-8: a path that is none comes with half characters."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _marked(value: Any, annotation: Any, key: str) -> Iterator[str]:
    kind, *marks = get_args(annotation)
    for mark in marks:
        if isinstance(mark, OptionsOf):
            yield from unknown_and_wrong(value, mark.known(), key)
            return
    if list(problems(value, kind, key)) or not all(mark.holds(value) for mark in marks):
        yield f"{key} is {shown(value)}, not {described(annotation)}"


def _of_any(value: Any, kinds: tuple[Any, ...], key: str) -> Iterator[str]:
    tried = [list(problems(value, kind, key)) for kind in kinds]
    if all(tried):
        # the closest: what is wrong within a list or mapping, or out of a range
        many = isinstance(value, list | Mapping)
        inner = [p for p, k in zip(tried, kinds, strict=True) if many and _shape_fits(value, k)]
        all_kinds = " or ".join(dict.fromkeys(described(kind) for kind in kinds))
        yield from inner[0] if inner else [f"{key} is {shown(value)}, not {all_kinds}"]


def _shape_fits(value: Any, annotation: Any) -> bool:
    """Whether a value is of the right kind, whatever is wrong with what is in it."""
    if get_origin(annotation) is Annotated:
        return _shape_fits(value, get_args(annotation)[0])
    origin = get_origin(annotation)
    if origin in (list, tuple, collections.abc.Sequence):
        return isinstance(value, list)
    if origin in (dict, collections.abc.Mapping) or is_typeddict(annotation):
        return isinstance(value, Mapping)
    return _is(value, annotation)


def _of_list(value: Any, annotation: Any, key: str) -> Iterator[str]:
    if not isinstance(value, list | tuple):
        yield f"{key} is {shown(value)}, not {described(annotation)}"
        return
    kinds = [a for a in get_args(annotation) if a is not Ellipsis]
    for i, each in enumerate(value):
        yield from problems(each, kinds[0] if kinds else Any, f"{key}[{i}]")


def _of_mapping(value: Any, annotation: Any, key: str) -> Iterator[str]:
    if not isinstance(value, Mapping):
        yield f"{key} is {shown(value)}, not {described(annotation)}"
        return
    kinds = get_args(annotation)
    for name, each in value.items():
        yield from problems(each, kinds[1] if kinds else Any, f"{key}.{name}")
