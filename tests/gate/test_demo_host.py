"""The host of the demonstration: its checks can fail; its flags do what they say."""

from __future__ import annotations

import asyncio
import io
import re

import pytest

from tenure import Authority, Ledger, NarrativeTransform, OwnerRef, View, open_ledger
from tenure_gate.demo import flags, relay
from tenure_gate.demo.host import Host, ManagedSessionRejection, Message, call
from tenure_gate.demo.lives import first_manager, wake_second
from tenure_gate.demo.telling import Telling

S = OwnerRef("session", "ses_2")


@pytest.fixture
def told() -> io.StringIO:
    return io.StringIO()


def test_a_host_that_shows_the_model_everything_fails_the_scene(
    told: io.StringIO, monkeypatch: pytest.MonkeyPatch
) -> None:
    apply = NarrativeTransform.apply

    def everything(
        self: NarrativeTransform,
        owner: OwnerRef | str,
        messages: list[Message],
        *,
        authority: Authority | None,
        acting: str | None = None,
        record: bool = True,
    ) -> View:
        view = apply(
            self, owner, messages, authority=authority, acting=acting, record=record
        )
        # As a host that forgets to take the view's list.
        return view._replace(messages=messages)

    monkeypatch.setattr(NarrativeTransform, "apply", everything)
    tell = Telling(told)
    with open_ledger("memory://") as ledger:
        relay.run(tell, ledger)
    failed = re.findall(r"^FAIL (.*?)  +(.*)", told.getvalue(), re.MULTILINE)
    assert [did for did, _ in failed] == [
        "the model sees",
        "the model saw",
        "the model is told",
    ]
    assert dict(failed)["the model saw"] == "msg_1, msg_2, probe_1, relay_1, retry_1"


def test_the_flags_let_a_persons_message_pass_and_kill_for_the_schedulers() -> None:
    async def run(ledger: Ledger) -> tuple[list[str], str]:
        host = Host(ledger, S)
        rule = flags.FlagRule(host)
        rule.retired = await first_manager(host, rule)
        rule.cut_at = len(host.messages)
        host.say("msg_9", "More.", human=True)
        two = await wake_second(host)
        relayed = host.messages.pop()
        kept = [one["id"] for one in await rule(two, "msg_9") if "id" in one]
        host.messages.append(relayed)
        with pytest.raises(RuntimeError) as death:
            await rule(two, "relay_1")
        await host.close()
        return kept, str(death.value)

    with open_ledger("memory://") as ledger:
        kept, death = asyncio.run(run(ledger))
    assert kept == ["msg_1", "msg_2", "msg_9"]
    assert death.endswith("failed: ManagedSessionRejection")


def test_the_host_lets_its_holder_abort_the_session_and_nobody_else() -> None:
    async def run(ledger: Ledger) -> None:
        host = Host(ledger, S)
        await first_manager(host, flags.FlagRule(host))
        two = await wake_second(host)
        with pytest.raises(ManagedSessionRejection, match="managed by generation 2"):
            await host.abort_session(two.generation - 1)
        assert not any(task.done() for task in host.tasks.values())
        await host.abort_session(two.generation)
        assert all(task.done() for task in host.tasks.values())
        assert (await call(ledger.owner, S)).status == "live"

    with open_ledger("memory://") as ledger:
        asyncio.run(run(ledger))
