"""YAML files (configurations of runs, declarations of users), strictly.

No key twice in a mapping, nothing too deep, and no more values than a limit, those of aliases
included.
"""

from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import BaseModel, ValidationError

from metaeval.errors import InputError
from metaeval.readers.files import one_line, read_text

_MOST_BYTES, _MOST_VALUES, _DEEPEST = 1 << 22, 100_000, 50
_MERGE = "tag:yaml.org,2002:merge"
# PyYAML raises LookupError, TypeError and AttributeError for values that do not fit their tags
_NOT_YAML = (yaml.YAMLError, ValueError, LookupError, TypeError, AttributeError)
_Declared = TypeVar("_Declared", bound=BaseModel)


def read_yaml(path: Path) -> dict[str, Any]:
    """The mapping in a YAML file; InputError, naming the file, for other content."""
    text = read_text(path, _MOST_BYTES).text
    try:
        content = yaml.load(text, _StrictLoader)
    except _NOT_YAML as error:
        mark, problem = (getattr(error, f"problem{name}", None) for name in ("_mark", ""))
        where = f"line {mark.line + 1:,}" if mark else None
        raise InputError(
            f"is not YAML ({one_line(problem or error)})", file=path, record=where
        ) from None
    if not isinstance(content, dict):
        raise InputError("is not a mapping", file=path)
    return {str(key): value for key, value in content.items()}


def read_declared(path: Path, model: type[_Declared]) -> _Declared:
    """The content of a YAML file as a model; InputError, naming file and field, for what is not."""
    content = read_yaml(path)
    try:
        return model.model_validate(content)
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(map(str, first["loc"])) or None
        problem = first["msg"].removeprefix("Value error, ")
        if isinstance(first["input"], str):
            problem = f"{first['input']!r:.60}: {problem}"
        raise InputError(one_line(problem), file=path, field=field) from None


class _StrictLoader(yaml.SafeLoader):
    """Refuses a key that occurs twice, depth, and aliases that expand to too many values."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._depth = self._n_values = 0
        self._sizes: dict[str | None, int] = {}  # values in an anchored one, after its end

    def compose_node(self, parent: Any, index: Any) -> Any:
        parser: Any = super()  # whose stubs have no types
        event, before = parser.peek_event(), self._n_values
        self._depth += 1
        if self._depth > _DEEPEST:
            raise yaml.YAMLError(f"nested more than {_DEEPEST} deep")
        node = parser.compose_node(parent, index)
        self._depth -= 1
        if isinstance(event, yaml.AliasEvent):  # one within its own anchor has no size yet
            self._n_values += self._sizes.get(event.anchor, _MOST_VALUES)
        else:
            self._n_values += 1
            self._sizes[event.anchor] = self._n_values - before
        if self._n_values > _MOST_VALUES:
            raise yaml.YAMLError(f"more than {_MOST_VALUES:,} values, with those of aliases")
        return node

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:
        keys = [self.construct_object(k, True) for k, _ in node.value if k.tag != _MERGE]
        if min(len(set(keys)), len(set(map(str, keys)))) < len(keys):  # 1 and 1.0, 1 and "1"
            twice = next((k for k in keys if [*map(str, keys)].count(str(k)) > 1), keys[-1])
            raise yaml.constructor.ConstructorError(
                None, None, f"the key {twice!r:.40} occurs twice; keep one", node.start_mark
            )
        return super().construct_mapping(node, deep)
