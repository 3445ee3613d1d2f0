"""What a URL names, and that no message ever tells a password."""

from __future__ import annotations

import traceback

import pytest
from psycopg.conninfo import conninfo_to_dict

from clients import client
from cutting import Cutter
from postgres import new_url, server
from tenure import InvalidInput, ModelTable, OwnerRef, StoreUnavailable, open_ledger
from tenure_gate.cli import main
from tenure_ledger.stores.postgres_place import place_of

SECRET = "hunter2"  # noqa: S105  of nobody


def told(error: BaseException) -> str:
    """Return all that a program prints of an error that it does not catch."""
    return "".join(traceback.format_exception(error))


@pytest.mark.parametrize(
    "url",
    [
        f"postgresql://u:{SECRET}%zz@h/db",
        f"postgresql://u:{SECRET}@x@h/db",
        f"postgresql://u:x@{SECRET}@h/db",
        f"postgresql://u:x/{SECRET}@h/db",
        f"postgresql://u:{SECRET}/x@h/db",
        f"postgresql://u:{SECRET}?x@h/db",
        f"postgresql://u:x?{SECRET}@h/db",
        f"postgresql://u:{SECRET}@[::1/db",
        f"postgresql://h/db?password={SECRET}%zz",
        f"postgresql://h/db?password={SECRET}&what",
        f"postgresql://u:{SECRET}@h/db?sslmod=require",
        f"postgresql://u:{SECRET}@h/db?host=a,b,c&hostaddr=1.1.1.1,2.2.2.2",
        f"postgresql://u:{SECRET}@h1,h2/db?hostaddr=1.1.1.1",
        f"postgresql://u:{SECRET}@h1,h2/db?port=1,2,3",
        f"postgresql:///db?port=1,2&password={SECRET}",
        f"postgresql://u:{SECRET}%ff@h/db",
        f"postgresql://u:{SECRET}@h/%ff",
        f"postgresql:u:{SECRET}@h/db",
        f"u:{SECRET}@h",
        f"postgresql//h?password={SECRET}",
        f"mysql://u:{SECRET}@h/db",
    ],
)
def test_a_url_that_is_none_is_refused_without_its_password(
    url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(InvalidInput) as refused:
        open_ledger(url)
    assert SECRET not in told(refused.value)
    assert main(["migrate", "--ledger", url]) == 2
    assert SECRET not in "".join(capsys.readouterr())


@pytest.mark.parametrize(
    "url",
    [
        f"postgresql://u:{SECRET}@127.0.0.1:1/db",
        f"postgresql://u:{SECRET}@127.0.0.1:1,127.0.0.1:2/db",
        f"postgresql://127.0.0.1:1/db?user=u&password={SECRET}",
        f"postgresql://u:{SECRET}%40x@no.such.host.invalid/db",
    ],
)
def test_a_server_that_cannot_be_reached_is_named_without_the_password(
    url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with open_ledger(url) as ledger, pytest.raises(StoreUnavailable) as fault:
        ledger.head()
    assert SECRET not in told(fault.value)
    assert main(["recover", "--ledger", url]) == 2
    assert SECRET not in "".join(capsys.readouterr())


def test_a_wrong_role_and_a_wrong_database_are_named_without_the_password() -> None:
    url = new_url()
    for wrong in (
        url.replace("user=postgres", f"user=nobody_here&password={SECRET}"),
        url.replace("/postgres?", "/no_such_database?") + f"&password={SECRET}",
    ):
        with open_ledger(wrong) as ledger, pytest.raises(StoreUnavailable) as fault:
            ledger.head()
        assert SECRET not in told(fault.value)


def test_the_options_of_libpq_are_handed_on_and_ours_are_not() -> None:
    place = place_of(
        "postgresql://u@h1:1,h2:2/db?schema=s&durability=normal&sslmode=verify-full"
        "&sslrootcert=/ca.pem&connect_timeout=3&passfile=/pass"
    )
    assert (place.schema, place.durable) == ("s", False)
    one, two = (conninfo_to_dict(one) for one in place.conninfos)
    assert (one["host"], one["port"], two["host"], two["port"]) == (
        "h1",
        "1",
        "h2",
        "2",
    )
    for settings in (one, two):
        assert settings["sslmode"] == "verify-full"
        assert settings["sslrootcert"] == "/ca.pem"
        assert settings["passfile"] == "/pass"
        assert not settings.keys() & {"schema", "durability"}


def test_one_port_is_that_of_all_hosts() -> None:
    place = place_of("postgresql://h1,h2/db?port=7")
    ports = [conninfo_to_dict(one)["port"] for one in place.conninfos]
    assert ports == ["7", "7"]


def test_columns_that_every_table_of_the_server_has_are_refused_everywhere() -> None:
    with client(new_url()) as by_hand:
        found = by_hand.execute(
            "SELECT attname FROM pg_attribute "
            "WHERE attrelid = 'pg_class'::regclass AND attnum < 0"
        ).fetchall()
    names = {str(name) for (name,) in found}
    assert "ctid" in names
    for name in names:
        with pytest.raises(InvalidInput, match=f"has a column {name}"):
            ModelTable("mine", {"a": str, name: int}, "a")


def test_a_pooler_is_named_or_nothing_is_written_through_it() -> None:
    url = new_url()
    with Cutter(server().folder) as proxy:
        proxy.as_pooler = True
        assert main(["migrate", "--ledger", proxy.url(url)]) != 0
        with (
            open_ledger(proxy.url(url)) as ledger,
            pytest.raises(StoreUnavailable, match="pooler=session"),
        ):
            ledger.claim(OwnerRef("session", "s"), "a", "host")
        named = proxy.url(url) + "&pooler=session"
        with open_ledger(named) as ledger:
            assert ledger.claim(OwnerRef("session", "s"), "a", "host").generation == 1
    with pytest.raises(InvalidInput, match="pooler=session"):
        open_ledger(url + "&pooler=transaction")
