"""Many people at once, and a server that is killed while they answer."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from typing import Any

import httpx2 as httpx
import pytest

pytestmark = pytest.mark.survey


class Volunteer:
    """Somebody who answers over HTTP as the page does: an answer is sent again until it is
    acknowledged.
    """

    def __init__(self, server: Any, number: int, seconds_per_answer: float) -> None:
        self.server, self.number, self.seconds = server, number, seconds_per_answer
        self.random = random.Random(number)
        self.acknowledged: dict[str, int] = {}
        self.statuses: Counter[int] = Counter()
        self.is_finished = False

    async def run(self, stopped: asyncio.Event) -> None:
        limits = httpx.Limits(max_connections=1)
        async with httpx.AsyncClient(
            base_url=self.server.url, limits=limits, timeout=20
        ) as self.client:
            await self._ask("GET", self.server.link(self.number), follow_redirects=True)
            for name, body in (("consent", {"agree": True}), ("demographics", {}), ("begin", {})):
                await self._ask("POST", f"/api/{name}", json=body)
            trial = (await self._ask("GET", "/api/trial")).json()
            while trial["state"] == "trial" and not stopped.is_set():
                await asyncio.sleep(self.random.uniform(0.5, 1.5) * self.seconds)
                answer = self.random.randint(1, 5)
                body = {"token": trial["token"], "answer": answer, "rt_ms": 700, "n_blurs": 0}
                reply = await self._ask("POST", "/api/answer", json=body)
                assert reply.status_code == 200, reply.text
                self.acknowledged[trial["token"]] = answer
                trial = reply.json()
            self.is_finished = trial["state"] == "complete"

    async def _ask(self, method: str, path: str, **options: Any) -> httpx.Response:
        for attempt in range(400):
            try:
                response = await self.client.request(
                    method, path, headers={"origin": self.server.url[:-1]}, **options
                )
            except httpx.TransportError:
                await asyncio.sleep(min(0.05 * 2**attempt, 0.5))
                continue
            self.statuses[response.status_code] += 1
            if response.status_code < 500 and response.status_code != 429:
                return response
            await asyncio.sleep(0.2)
        raise AssertionError("no answer from the server")


def check_store(server: Any, people: list[Volunteer]) -> None:
    """Every acknowledged answer is stored exactly once, and the sums are right."""
    stored = dict(server.rows("SELECT token, answer FROM trials WHERE answer IS NOT NULL"))
    acknowledged = {
        token: answer for person in people for token, answer in person.acknowledged.items()
    }
    assert sum(len(person.acknowledged) for person in people) == len(acknowledged)
    assert {token: stored.get(token) for token in acknowledged} == acknowledged
    assert len(stored) - len(acknowledged) <= len(
        people
    )  # at most the one in flight when everything stopped
    assert server.rows("PRAGMA integrity_check") == [("ok",)]
    assert server.rows("SELECT count(*), count(DISTINCT participant) FROM sessions") == [
        (len(people), len(people))
    ]
    per_list = [
        n
        for (n,) in server.rows(
            "SELECT count(sessions.session) FROM lists LEFT JOIN sessions USING (list) GROUP BY"
            " list"
        )
    ]
    assert max(per_list) - min(per_list) <= 1


def test_two_hundred_people_at_once_lose_nothing(make_server):
    n_people, n_tests = 200, 57
    server = make_server(40, n_tests, ratings_per_item=5)
    people = [Volunteer(server, number, 1.0) for number in range(n_people)]

    async def play() -> None:
        async with asyncio.timeout(540):
            await asyncio.gather(*(person.run(asyncio.Event()) for person in people))

    asyncio.run(play())
    assert all(person.is_finished for person in people)
    statuses = sum((person.statuses for person in people), Counter())
    assert set(statuses) <= {200, 303}
    check_store(server, people)
    assert server.rows("SELECT count(*) FROM sessions WHERE status = 'complete'") == [(n_people,)]
    assert server.rows("SELECT count(*) FROM trials WHERE answer IS NOT NULL") == [
        (n_people * (n_tests + 3),)
    ]
    assert "Stopped" in server.stop()


@pytest.mark.parametrize(("n_people", "n_kills"), [(50, 20), (100, 3)])
def test_a_server_killed_at_random_keeps_every_acknowledged_answer_once(
    make_server, n_people, n_kills
):
    server = make_server(10, 150, ratings_per_item=n_people // 10)
    people = [Volunteer(server, number, 0.05) for number in range(n_people)]
    dice = random.Random(0)

    async def play() -> None:
        stopped = asyncio.Event()
        tasks = [asyncio.create_task(person.run(stopped)) for person in people]
        for _ in range(n_kills):
            await asyncio.sleep(dice.uniform(10, 50) / (n_kills + 10))
            await asyncio.to_thread(server.kill)
            await asyncio.to_thread(server.start)
        await asyncio.sleep(1)
        stopped.set()
        async with asyncio.timeout(60):
            await asyncio.gather(*tasks)

    asyncio.run(play())
    check_store(server, people)
    assert "Stopped" in server.stop()
    assert not (server.folder / "answers.sqlite-wal").exists()
