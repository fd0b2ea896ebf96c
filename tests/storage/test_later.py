"""Work that no caller waits for runs completely and in order, and closing waits for it."""

from __future__ import annotations

import threading

from recollect.errors import StoreError
from recollect.storage.postgres.later import LaterRunner


def test_all_that_several_threads_give_has_run_when_join_returns() -> None:
    later = LaterRunner()
    done: list[int] = []
    running = threading.Semaphore(1)

    def work(number: int) -> None:
        assert running.acquire(blocking=False)  # one after another
        done.append(number)
        running.release()

    def give(first: int) -> None:
        for number in range(first, first + 200):
            later.run(lambda number=number: work(number))  # type: ignore[misc]

    givers = [threading.Thread(target=give, args=(1000 * place,)) for place in range(6)]
    for giver in givers:
        giver.start()
    for giver in givers:
        giver.join()
    later.join()
    assert sorted(done) == sorted(1000 * place + one for place in range(6) for one in range(200))
    for place in range(6):
        mine = [number for number in done if number // 1000 == place]
        assert mine == sorted(mine)


def test_what_a_server_refuses_does_not_keep_the_rest_from_running() -> None:
    later = LaterRunner()
    done: list[str] = []

    def refuse() -> None:
        raise StoreError("no room")

    later.run(refuse)
    later.run(lambda: done.append("after it"))
    later.join()
    later.run(lambda: done.append("later"))
    later.join()
    assert done == ["after it", "later"]
