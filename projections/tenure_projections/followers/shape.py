"""A model's table as it is used: values checked, and made what every store keeps."""

from __future__ import annotations

import sys
from collections.abc import Mapping

from tenure_ledger.errors import InvalidInput
from tenure_ledger.rows import Column, Row
from tenure_ledger.values import check_integer, check_text, kind_of
from tenure_projections.followers.model import Kind, ModelTable

__all__ = ["Shape", "shape_of"]


VALUE_BYTES_MAX = 64 * 1024 * 1024
KEY_BYTES_MAX = 2000
"""Of the texts and bytes of a key together: more breaks PostgreSQL's index limit."""

_INTEGERS = range(-(2**63), 2**63)


class Shape:
    """The names, types and key of one table."""

    def __init__(self, table: ModelTable) -> None:
        self.name = table.name
        self.kinds = dict(table.columns)
        self.names = tuple(table.columns)
        self.keys = table.keys
        self._places = tuple(self.names.index(name) for name in table.keys)

    def key_of(self, row: Row) -> Row:
        """Return the key of a row."""
        return tuple([row[place] for place in self._places])

    def key(self, given: Mapping[str, Column]) -> Row:
        """Return a key, given by its columns. Raises `InvalidInput`."""
        if len(given) != len(self.keys) or not all(name in given for name in self.keys):
            msg = f"the key of {self.name} is {', '.join(self.keys)}: give each of them"
            raise InvalidInput(msg)
        return self._checked(
            tuple([self._value(name, given[name]) for name in self.keys])
        )

    def row(self, given: Mapping[str, Column]) -> tuple[Row, Row]:
        """Return a whole row and its key. Raises `InvalidInput`."""
        if given.keys() != self.kinds.keys():
            self._refuse_unknown(given)
            missing = ", ".join(name for name in self.names if name not in given)
            msg = f"a row of {self.name} has all its columns, also what is None: this"
            raise InvalidInput(f"{msg} one lacks {missing}")
        row = tuple([self._value(name, given[name]) for name in self.names])
        return row, self._checked(self.key_of(row))

    def values(self, given: Mapping[str, Column]) -> dict[str, Column]:
        """Return the values of some columns. Raises `InvalidInput`."""
        self._refuse_unknown(given)
        return {name: self._value(name, value) for name, value in given.items()}

    def _refuse_unknown(self, given: Mapping[str, Column]) -> None:
        for name in given:
            if name not in self.kinds:
                has = ", ".join(self.names)
                raise InvalidInput(f"{self.name} has no column {name}: it has {has}")

    def _checked(self, key: Row) -> Row:
        if None in key:
            raise InvalidInput(f"no column of the key of {self.name} is None")
        texts = [one for one in key if isinstance(one, (str, bytes))]
        if 4 * sum(map(len, texts)) > KEY_BYTES_MAX:
            size = sum(len(t.encode() if isinstance(t, str) else t) for t in texts)
            if size > KEY_BYTES_MAX:
                msg = f"a key of {self.name} has {size} bytes; at most {KEY_BYTES_MAX}"
                raise InvalidInput(f"{msg} are kept")
        return key

    def _value(self, name: str, value: Column) -> Column:
        kind = self.kinds[name]
        if value is None or (type(value) is int and kind is int and value in _INTEGERS):
            return value
        return _plain(f"{self.name}.{name}", kind, value)


def shape_of(shapes: Mapping[str, Shape], table: str) -> Shape:
    """Return the shape of the model's table of that name. Raises `InvalidInput`."""
    try:
        return shapes[table]
    except (KeyError, TypeError):
        names = ", ".join(shapes)
        msg = f"the model has no table {table!r:.80}: its tables are {names}"
        raise InvalidInput(msg) from None


def _plain(what: str, kind: Kind, value: Column) -> Column:
    if kind is str:
        return check_text(what, value, VALUE_BYTES_MAX)
    if kind is int:
        number = int(value) if isinstance(value, bool) else value
        return check_integer(what, number, _INTEGERS.start)
    if kind is float:
        if isinstance(value, (int, float)) and abs(value) <= sys.float_info.max:
            # Minus nought is nought, whatever compares or prints it.
            return float(value) + 0.0
    elif isinstance(value, bytes) and len(value) <= VALUE_BYTES_MAX:
        return bytes(value)
    most = "finite" if kind is float else f"at most {VALUE_BYTES_MAX} bytes"
    msg = f"{what} must be {kind.__name__} ({most}) or None, not {kind_of(value)}"
    raise InvalidInput(msg)
