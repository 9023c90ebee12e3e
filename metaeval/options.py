"""Options: the annotation of an argument or field is the only validation of its value.

pydantic holds values against annotations, strictly: `true` is not a number, `"1"` is not `1`.
`option_problems` does so for the options of a component: `metaeval.schema` asks it for each in a
configuration before a run, `checked` for callers from Python.

Not in pydantic, therefore here: the options that a class takes (`options_of` follows `**options`
to the base classes), options of a class that is imported late (`OptionsOf`), and one line per wrong
value, whatever number of types it might have had (`problems`, `described`).
"""

import difflib
import inspect
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, wraps
from importlib import import_module
from typing import Annotated, Any, Literal, NamedTuple, TypeVar, get_args, get_type_hints

from annotated_types import Ge, Gt, Interval
from pydantic import ConfigDict, Field, GetCoreSchemaHandler, TypeAdapter, ValidationError
from pydantic.errors import PydanticUserError
from pydantic.json_schema import GenerateJsonSchema
from pydantic_core import core_schema
from typing_extensions import is_typeddict

from metaeval.errors import ConfigError

TARGET = "_target_"  # the key by which Hydra knows a component
STRICT = ConfigDict(strict=True, extra="forbid", allow_inf_nan=False, arbitrary_types_allowed=True)

PositiveInt = Annotated[int, Ge(1)]
NonNegativeInt = Annotated[int, Ge(0)]
Draws = Annotated[int, Interval(ge=1, le=1_000_000)]  # of a permutation test
Seed = Annotated[int, Interval(ge=0, le=2**32 - 1)]
Limit = PositiveInt | None  # only the first so many; None for all
Share = Annotated[float, Interval(ge=0, le=1)]
Below1 = Annotated[float, Interval(ge=0, lt=1)]
OpenShare = Annotated[float, Interval(gt=0, lt=1)]
Rate = Annotated[float, Interval(gt=0, le=1)]
Positive = Annotated[float, Gt(0)]
NotNegative = Annotated[float, Ge(0)]
Device = Annotated[
    str, Field(pattern=r"^(auto|cpu|cuda(:\d+)?)$", description="auto, cpu, cuda or cuda:1")
]
DataType = Literal["float32", "bfloat16", "float16"]
Names = tuple[str, ...] | list[str] | None  # some of those that the data has; None for all

Made = TypeVar("Made", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class OptionsOf:
    """A mapping of options for the class or function at `path` ("package.module.Class").

    It is imported when a value is held against it. Those in `also_none` may be `None`, those in
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

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> core_schema.CoreSchema:
        options = {
            key: core_schema.typed_dict_field(handler.generate_schema(kind), required=False)
            for key, kind in self.known().items()
        }
        config = core_schema.CoreConfig(strict=True, allow_inf_nan=False)
        return core_schema.typed_dict_schema(options, config=config, extra_behavior="forbid")


class Elsewhere:
    """Stands in a configuration for a value that is checked at another place.

    It is accepted everywhere: pydantic could not be told so for every type.
    """


class _Words(GenerateJsonSchema):
    """A JSON schema in which a class or function has no type: it stands for a component."""

    def handle_invalid_for_json_schema(self, schema: Any, error_info: str) -> dict[str, Any]:
        return {}


@cache
def _adapter(annotation: Any) -> TypeAdapter[Any]:
    """Validates values of an annotation; accepts everything where pydantic does not know it."""
    try:
        return TypeAdapter(annotation, config=None if is_typeddict(annotation) else STRICT)
    except (PydanticUserError, NameError):
        return TypeAdapter(Any)


@cache
def schema_of(annotation: Any) -> dict[str, Any]:
    """The JSON schema of an annotation; {} for what only a component can be."""
    return _adapter(annotation).json_schema(schema_generator=_Words)


def problems(value: Any, annotation: Any, key: str) -> Iterator[str]:
    """What is wrong with a value for this annotation, a line each: "stats.seed: 'x' is not …".

    Of a value that may be of several types, what is wrong within it counts more than its type:
    [0.5, 2] is a list of numbers with a wrong number.
    """
    try:
        _adapter(annotation).validate_python(value)
        return
    except ValidationError as error:
        errors = error.errors(include_url=False, include_context=False)
    wrong = {
        _place(value, e["loc"], missing=e["type"] == "missing"): e
        for e in errors
        if not isinstance(e["input"], Elsewhere) and e["loc"][-1:] != ("[key]",)
    }
    schema = schema_of(annotation)
    for place, each in wrong.items():
        if any(len(other) > len(place) and other[: len(place)] == place for other in wrong):
            continue
        where = "".join(f"[{p}]" if isinstance(p, int) else f".{p}" for p in place)
        where = f"{key}{where}".lstrip(".")
        if each["type"] == "extra_forbidden":
            around = _inner(schema, place[:-1], schema)
            kinds = [_inner(kind, (), schema) for kind in around.get("anyOf", [around])]
            known = [name for kind in kinds for name in kind.get("properties", ())]
            yield unknown_option(where, known)
        elif each["type"] == "missing":
            yield f"{where}: a value is missing"
        else:
            expected = _in_words(_inner(schema, place, schema), schema)
            if each["type"].startswith(("greater_than", "less_than")):  # it is a number
                expected = re.sub(r"^a (?:whole )?number (?=in)", "", expected)
            yield f"{where}: {shown(each['input'])} is not {expected}"


def unknown_option(key: str, known: Iterable[str]) -> str:
    """The line about an option that does not exist; `known` are those at the same place."""
    return f"{key}: unknown option{did_you_mean(key.rpartition('.')[2], known)}"


def _place(value: Any, location: Sequence[int | str], missing: bool) -> tuple[int | str, ...]:
    """Where in a value an error is: its location without the names of the types tried.

    The last part of the location of a missing value is a key that the value does not have.
    """
    place: list[int | str] = []
    for i, step in enumerate(location):
        if isinstance(value, Mapping):
            inside = step in value or (missing and i == len(location) - 1)
        else:
            inside = isinstance(value, list | tuple) and isinstance(step, int)
        if inside:
            place.append(step)
            value = value.get(step) if isinstance(value, Mapping) else value[int(step)]
    return tuple(place)


def _inner(schema: Any, place: tuple[int | str, ...], root: Mapping[str, Any]) -> dict[str, Any]:
    """The part of a JSON schema for the value at a place; {} where there is none."""
    if "$ref" in schema:
        return _inner(root["$defs"][schema["$ref"].rpartition("/")[2]], place, root)
    if not place:
        return dict(schema)
    for each in schema.get("anyOf", ()):
        if inner := _inner(each, place, root):
            return inner
    step, *rest = place
    if isinstance(step, int):
        inner = schema.get("items", {})
    else:
        inner = schema.get("properties", {}).get(step) or schema.get("additionalProperties")
    return _inner(inner, tuple(rest), root) if isinstance(inner, dict) else {}


_WORDS = {
    "boolean": "true or false",
    "integer": "a whole number",
    "number": "a number",
    "string": "text",
    "null": "null",
    "object": "a mapping",
    "array": "a list",
}


def described(annotation: Any) -> str:
    """An annotation in words: "a whole number from 1 or null"."""
    schema = schema_of(annotation)
    return _in_words(schema, schema)


def _in_words(schema: Mapping[str, Any], root: Mapping[str, Any]) -> str:
    schema = _inner(schema, (), root)
    if "anyOf" in schema:
        return " or ".join(dict.fromkeys(_in_words(each, root) for each in schema["anyOf"]))
    if "enum" in schema or "const" in schema:
        values = [str(value) or '""' for value in schema.get("enum", [schema.get("const")])]
        return f"one of {', '.join(values)}" if len(values) > 1 else f"{values[0]}, the only choice"
    if schema.get("type") == "string":
        return schema.get("description") or ("a path" if "format" in schema else _WORDS["string"])
    if schema.get("items"):
        return f"a list of {_in_words(schema['items'], root)}"
    words = _WORDS.get(schema.get("type", ""), "a component (a node with a _target_)")
    return f"{words}{_range(schema)}"


def _range(schema: Mapping[str, Any]) -> str:
    """The limits of a number: " from 1", " in (0, 1]"; nothing where there are none."""
    open_low, open_high = schema.get("exclusiveMinimum"), schema.get("exclusiveMaximum")
    low, high = schema.get("minimum", open_low), schema.get("maximum", open_high)
    if high is None:
        return "" if low is None else f" {'from' if open_low is None else 'above'} {low:.12g}"
    left, right = "[" if open_low is None else "(", "]" if open_high is None else ")"
    return f" in {left}{low:.12g}, {high:.12g}{right}"


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
        if is_typeddict(kind := (get_args(others) or (None,))[0]):  # in `Unpack[…]`
            return Options(known | get_type_hints(kind, include_extras=True), False)
    return Options(known, True)


def option_problems(options: Options, given: Mapping[str, Any], key: str) -> Iterator[str]:
    """What is wrong with the options given to a component, a line each; `key` is its name."""
    for name, value in given.items():
        if name in options.known:
            yield from problems(value, options.known[name], f"{key}.{name}")
        elif not options.others:
            yield unknown_option(f"{key}.{name}", options.known)


def _signatures(maker: Callable[..., Any]) -> Iterator[Callable[..., Any]]:
    """The function that takes the options; of a class its `__init__`, and those it overrides."""
    if not inspect.isclass(maker):
        yield maker
        return
    for ancestor in maker.__mro__:
        if (init := vars(ancestor).get("__init__")) is not None and inspect.isfunction(init):
            yield init
    if not any("__init__" in vars(a) for a in maker.__mro__[:-1]):
        yield lambda: None  # a class without `__init__` takes nothing


@cache
def _hints(function: Callable[..., Any]) -> dict[str, Any]:
    """Name → annotation; nothing where one is a name that only type checkers know, or where it is
    not a function of Python's."""
    try:
        return get_type_hints(function, include_extras=True)
    except (NameError, TypeError):
        return {}


def checked(made: Made) -> Made:
    """A function or class that refuses arguments which do not fit their annotations.

    It raises ConfigError with one line for all of them. A decorator; above `@dataclass`.
    """
    if inspect.isclass(made):
        setattr(made, "__init__", checked(made.__init__))  # noqa: B010
        return made
    names = list(inspect.signature(made).parameters)

    @wraps(made)
    def call(*args: Any, **kwargs: Any) -> Any:
        given = {**dict(zip(names, args, strict=False)), **kwargs}
        made_of = given.pop("self", None)
        name = made.__name__ if made_of is None else type(made_of).__name__
        if wrong := list(option_problems(options_of(made), given, name)):
            raise OptionError(name, wrong)
        return made(*args, **kwargs)

    return call  # type: ignore[return-value]


class OptionError(ConfigError):
    """Arguments that `checked` refused; `under` names them as the configuration does."""

    def __init__(self, name: str, lines: list[str]) -> None:
        super().__init__("; ".join(lines))
        self.name, self.lines = name, lines

    def under(self, key: str) -> ConfigError:
        """The same error for the options of the component at a key: "metric.bleu"."""
        return ConfigError("; ".join(key + line.removeprefix(self.name) for line in self.lines))


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """ "; did you mean 'replace'?", or nothing where no name is near."""
    by_case = {str(each).casefold(): str(each) for each in known}
    near = difflib.get_close_matches(name.casefold(), list(by_case), n=2, cutoff=0.6)
    near = [by_case[each] for each in near]
    return f"; did you mean {' or '.join(map(repr, near))}?" if near else ""


MOST_NAMES = 20  # of known ones that a message lists


def unknown(option: str, what: str, name: str, known: Iterable[str]) -> ConfigError:
    """The error of an option that names what the run does not have."""
    names = list(known)
    listed = ", ".join(names[:MOST_NAMES]) + ", …" * (len(names) > MOST_NAMES)
    there = f"choose from {listed}" if names else f"this run has no {what}"
    return ConfigError(
        f"{option}: unknown {what} '{name}'{did_you_mean(name, names) or ';'} {there}"
    )


def shown(value: Any) -> str:
    """A value as a message shows it, short."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    text = ascii(value) if isinstance(value, str) and not value.isprintable() else repr(value)
    return text if len(text) <= 60 else f"{text[:59]}…"


def is_unicode(text: str) -> bool:
    """Whether a text can be written as UTF-8: an undecodable path has unpaired surrogates."""
    return re.search("[\ud800-\udfff]", text) is None
