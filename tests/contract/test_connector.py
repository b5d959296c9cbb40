"""What every connector between two tasks must do, whatever carries it. `remote` joins the list when it is built."""

from collections.abc import Callable

import pytest

from whimbrel.flow import Connector, ConnectorBroken
from whimbrel.flow.queue import Queue

Make = Callable[[int], Connector[int]]


class Bell:
    def __init__(self) -> None:
        self.rings = 0

    def set(self) -> None:
        self.rings += 1


@pytest.fixture(params=["queue"])
def make(request: pytest.FixtureRequest) -> Make:
    """Makes a connector of one kind with a capacity and one producer."""

    def make_queue(capacity: int) -> Connector[int]:
        queue: Queue[int] = Queue("a.out -> b.in", capacity)
        queue.join()
        return queue

    makers: dict[str, Make] = {"queue": make_queue}
    return makers[request.param]


def drain(connector: Connector[int], most: int = 3) -> list[int]:
    got: list[int] = []
    while (batch := connector.take(most)) is not None:
        got += batch.items
        connector.acknowledge(batch)
    return got


def test_items_come_out_in_the_order_they_went_in(make: Make) -> None:
    connector = make(100)
    assert connector.offer(range(10)) == 10
    assert drain(connector) == list(range(10))


def test_batches_are_numbered_from_one_without_gaps(make: Make) -> None:
    connector = make(100)
    connector.offer(range(9))
    numbers = []
    while (batch := connector.take(2)) is not None:
        numbers.append(batch.number)
        connector.acknowledge(batch)
    assert numbers == [1, 2, 3, 4, 5]


def test_a_full_connector_takes_only_what_it_has_room_for(make: Make) -> None:
    connector = make(4)
    assert connector.offer(range(10)) == 4
    assert connector.room == 0
    assert connector.offer([11]) == 0


def test_what_is_handed_out_counts_against_the_bound_until_it_is_acknowledged(make: Make) -> None:
    connector = make(4)
    connector.offer(range(4))
    batch = connector.take(4)
    assert batch is not None
    assert (connector.queued, connector.unacknowledged) == (0, 4)
    assert connector.offer([4]) == 0
    connector.acknowledge(batch)
    assert connector.offer([4]) == 1


def test_the_writer_is_told_of_room_and_the_reader_of_items(make: Make) -> None:
    connector, reader, writer = make(2), Bell(), Bell()
    connector.watch(reader=reader, writer=writer)
    connector.offer([1, 2])
    assert reader.rings == 1
    batch = connector.take(1)
    assert batch is not None
    rings = writer.rings
    connector.acknowledge(batch)
    assert writer.rings == rings + 1
    connector.unwatch(writer)
    batch = connector.take(1)
    assert batch is not None
    connector.acknowledge(batch)
    assert writer.rings == rings + 1


def test_a_batch_given_back_comes_again_in_order_under_a_new_number(make: Make) -> None:
    connector = make(10)
    connector.offer(range(6))
    first, second = connector.take(2), connector.take(2)
    assert first is not None
    assert second is not None
    connector.acknowledge(second, 0)
    connector.acknowledge(first, 1)
    again = connector.take(10)
    assert again is not None
    assert again.items == [1, 2, 3, 4, 5]
    assert again.number > second.number


def test_an_ended_connector_gives_out_what_it_has_and_then_says_so(make: Make) -> None:
    connector, reader = make(10), Bell()
    connector.watch(reader=reader)
    connector.offer([1, 2])
    connector.end()
    assert reader.rings == 2
    assert not connector.ended
    assert drain(connector) == [1, 2]
    assert connector.ended


def test_it_ends_only_when_every_producer_has(make: Make) -> None:
    connector = make(10)
    connector.join()
    connector.end()
    assert not connector.ended
    connector.end()
    assert connector.ended


def test_a_failed_connector_refuses_items_and_wakes_its_writer(make: Make) -> None:
    connector, writer = make(10), Bell()
    connector.watch(writer=writer)
    connector.offer([1])
    connector.fail("b failed")
    assert writer.rings == 1
    with pytest.raises(ConnectorBroken, match="b failed"):
        connector.offer([2])
    assert connector.queued == 1, "what was taken before stays to be counted"
