"""Which server, which database, which schema: read from a URL."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from functools import lru_cache
from hashlib import blake2b
from typing import NamedTuple
from urllib.parse import unquote

from psycopg import Error, pq
from psycopg.conninfo import make_conninfo

from tenure_ledger.errors import InvalidInput

__all__ = ["Place", "place_of"]

SCHEMA_DEFAULT = "agent"
_SCHEMA = re.compile(r"(?!pg_|information_schema\Z)[a-z_][a-z0-9_]{0,62}\Z")
_FORM = "postgresql://user@host:5432/database (with ?schema=... beside libpq's options)"


class Place(NamedTuple):
    """Where a ledger lives."""

    conninfos: tuple[str, ...]
    """One for each host that the URL names, without the last: libpq's own choice."""
    schema: str
    name: str
    """What messages call it: without a password."""
    durable: bool
    """Whether a commit waits for the disk; else a crash may take the last ones."""
    pooled: bool = False
    """Whether a pooler may stand between, of which the URL says that it gives a
    connection to one client until that one leaves."""

    def lock(self, what: str) -> bytes:
        """Return the number, as text, of the advisory lock of something in here."""
        return _lock(self.schema, what)


def place_of(url: str) -> Place:
    """Return the place that a URL names. Raises InvalidInput.

    The schema is the URL's ``schema``, else ``TENURE_SCHEMA``, else ``agent``. With
    ``durability=normal`` a commit does not wait for the disk; ``pooler=session`` says
    that a pooler stands between which gives away no connection while a client has it.
    """
    base, _, query = url.partition("?")
    _check_secret(base, query)
    ours: dict[str, str] = {}
    rest: list[str] = []
    for option in filter(None, query.split("&")):
        key, _, value = option.partition("=")
        if key in ("schema", "durability", "pooler"):
            ours[key] = unquote(value)
        else:
            rest.append(option)
    schema = ours.get("schema", os.environ.get("TENURE_SCHEMA") or SCHEMA_DEFAULT)
    durability = ours.get("durability", "full")
    if durability not in ("full", "normal"):
        raise InvalidInput("A PostgreSQL URL takes durability=full or =normal.")
    if ours.get("pooler", "session") != "session":
        raise InvalidInput(
            "A PostgreSQL URL takes pooler=session: through a pooler that gives "
            "connections away between transactions no ledger can be kept."
        )
    if not _SCHEMA.match(schema):
        raise InvalidInput(
            f"The schema {schema!r:.80} must match [a-z_][a-z0-9_]* (at most 63 "
            "characters), not begin with pg_ and not be information_schema: say "
            "?schema=... or TENURE_SCHEMA."
        )
    try:
        parsed = pq.Conninfo.parse("?".join([base, "&".join(rest)]).encode())
        settings = {
            one.keyword.decode(): one.val.decode()
            for one in parsed
            if one.val is not None
        }
    except (Error, UnicodeError) as error:
        why = str(error).strip()
        if "@" in base or "password" in query:
            why = (
                "its form, or an option that neither we nor libpq know; what is wrong "
                "is not shown, since it may be the password"
            )
        raise InvalidInput(
            f"This is no URL of PostgreSQL ({why}): give {_FORM}."
        ) from None
    settings.setdefault("fallback_application_name", "tenure")
    settings["client_encoding"] = "UTF8"
    host = settings.get("host") or settings.get("hostaddr") or "the local server"
    database = settings.get("dbname") or settings.get("user") or "its default database"
    return Place(
        tuple(make_conninfo("", **one) for one in _each_host(settings)),
        schema,
        f"schema {schema} of {database} on {host}",
        durability == "full",
        "pooler" in ours,
    )


@lru_cache(maxsize=8192)
def _lock(schema: str, what: str) -> bytes:
    key = blake2b(f"tenure {schema} {what}".encode(), digest_size=8)
    return b"%d" % int.from_bytes(key.digest(), "big", signed=True)


def _check_secret(base: str, query: str) -> None:
    """Refuse a URL in which a part of a password would be taken for something else.

    Hosts, ports and databases are named in messages; passwords are not.
    """
    authority, _, path = base.partition("://")[2].partition("/")
    keys = [option.partition("=")[0] for option in query.split("&")]
    if authority.count("@") > 1 or "@" in path or any("@" in key for key in keys):
        raise InvalidInput(
            "An @ in a user's name, a password or a database is written %40 in a URL, "
            "and / is %2F, ? is %3F. Better still, keep the password out of it: in "
            "libpq's password file, or PGPASSWORD."
        )


def _each_host(settings: dict[str, str]) -> Iterator[dict[str, str]]:
    """Yield the settings with one host each. Raises InvalidInput."""
    named = ("host", "hostaddr", "port")
    several = {key: settings[key].split(",") for key in named if settings.get(key)}
    count = max(len(several.get(key, [""])) for key in ("host", "hostaddr"))
    for key, values in several.items():
        if len(values) != count and (key != "port" or len(values) > 1):
            raise InvalidInput(
                f"The URL names {len(values)} times {key}, and {count} times a host: "
                "give as many of each, or one port for all."
            )
    for at in range(count):
        one = dict(settings)
        for key, values in several.items():
            one[key] = values[at] if len(values) > 1 else values[0]
        yield one
