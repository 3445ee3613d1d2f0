from __future__ import annotations

import threading
from functools import partial

from tenure_ledger.stores.fair_lock import FairLock
from waiting import until


def _is_queue(lock: FairLock, waiting: int) -> bool:
    return lock.waiting == waiting


def test_whoever_waited_longest_is_next() -> None:
    lock, first, served = FairLock(), object(), list[int]()
    assert lock.acquire(first, 0)

    def wait(name: int) -> None:
        token = object()
        assert lock.acquire(token, 30)
        served.append(name)
        lock.release(token)

    threads = [threading.Thread(target=wait, args=(name,)) for name in range(5)]
    for queued, thread in enumerate(threads, start=1):
        thread.start()
        until(partial(_is_queue, lock, queued))
    lock.release(first)
    for thread in threads:
        thread.join()
    assert served == [0, 1, 2, 3, 4]
    assert lock.holder is None


def test_who_gives_up_is_passed_over() -> None:
    lock, first, second = FairLock(), object(), object()
    assert lock.acquire(first, 0)
    assert not lock.acquire(second, 0.01)
    assert lock.waiting == 0
    lock.release(second)
    assert lock.holder is first
    lock.release(first)
    lock.release(first)
    assert lock.acquire(second, 0)


def test_a_release_by_another_takes_it_out_of_the_queue_only() -> None:
    lock, first, second = FairLock(), object(), object()
    assert lock.acquire(first, 0)
    answers: list[bool] = []
    waiter = threading.Thread(target=lambda: answers.append(lock.acquire(second, 0.2)))
    waiter.start()
    until(partial(_is_queue, lock, 1))
    lock.release(second)
    assert lock.waiting == 0
    waiter.join()
    assert answers == [False]
    assert lock.holder is first
