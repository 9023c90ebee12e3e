"""A record of a file: each of its fields is read with its check, and named with its place."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from metaeval.data.dataset import ImageId
from metaeval.data.records import check_id
from metaeval.data.tidy import Tidy
from metaeval.errors import InputError
from metaeval.options import is_unicode
from metaeval.readers.tables import check_name


@dataclass(frozen=True, slots=True)
class Row:
    """The fields of a record, its file and place ("line 7"), and what tidies its captions.

    Every method raises InputError, naming file, record and field, for a value of another kind.
    """

    fields: Mapping[str, Any]
    path: Path
    where: str
    tidy: Tidy

    def error(self, problem: str, field: str | None = None) -> InputError:
        """The error that names this place."""
        return InputError(problem, file=self.path, record=self.where, field=field)

    def value(self, field: str) -> Any:
        """What the field holds, which must be there."""
        if field not in self.fields:
            raise self.error("is missing", field)
        return self.fields[field]

    def id(self, field: str = "image_id") -> ImageId:
        """The id in a field."""
        return check_id(self.value(field), self.path, self.where, field)

    def caption(self, field: str) -> str:
        """The tidied caption in a field, possibly empty."""
        value = self.value(field)
        return self.tidy.read(value, file=self.path, record=self.where, field=field)

    def captions(self, field: str) -> tuple[str, ...]:
        """The tidied captions in a field, none where it is empty; see `Tidy.read_several`."""
        value = self.fields.get(field)
        return self.tidy.read_several(value, file=self.path, record=self.where, field=field)

    def text(self, field: str) -> str | None:
        """The text of an optional field; `None` if it is missing or empty."""
        value = self.fields.get(field)
        if value is None or value == "":
            return None
        if not isinstance(value, str):
            raise self.error("is not a string", field)
        if not is_unicode(value):
            raise self.error("contains an unpaired surrogate", field)
        return value

    def name(self, field: str) -> str | None:
        """As `text`, of a field of names (systems, kinds), which are shown in tables."""
        value = self.text(field)
        return value and check_name(value, file=self.path, record=self.where, field=field)
