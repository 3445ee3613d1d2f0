"""The comments inside a table's statement, as what a server keeps and shows.

SQLite keeps the text of the statement, so they are in its schema; PostgreSQL does not.
"""

from __future__ import annotations

__all__ = ["with_comments"]

_NO_COLUMN = frozenset({"PRIMARY", "UNIQUE", ")"})


def with_comments(statement: str) -> str:
    """Return the statement, and those that keep its comments, for PostgreSQL.

    A comment is of the column that begins the line or a line above; before the first
    column it is of the table.
    """
    first, *lines = statement.splitlines()
    table = first.removesuffix(" (").rpartition(" ")[2]
    of, texts = f"TABLE {table}", dict[str, list[str]]()
    for line in lines:
        code, _, text = line.partition("--")
        words = code.split()
        if words and words[0] not in _NO_COLUMN:
            of = f"COLUMN {table}.{words[0]}"
        if text:
            texts.setdefault(of, []).append(text.strip())
    comments: list[str] = []
    for of, told in texts.items():
        text = " ".join(told).replace("'", "''")
        comments.append(f"COMMENT ON {of} IS\n    '{text}'")
    return ";\n".join([statement, *comments])
