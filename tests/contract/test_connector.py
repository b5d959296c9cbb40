"""What every connector between two tasks must do, whatever carries it.

`queue` is the one in use. The two made of messages are the reference for `remote`: they show that the contract can be
met by two sides that share no memory, and that may lose and repeat what they say.
"""

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from tests.contract.messages import Channel, Receiver, Sender, settle
from whimbrel.flow import ConnectorBroken, Intake, Supply
from whimbrel.flow.queue import Queue


@dataclass
class Pair:
    """Both sides of a connector with one producer; `settle` lets what is under way arrive."""

    intake: Intake[int]
    supply: Supply[int]
    settle: Callable[[], None]


Make = Callable[[int], Pair]


class Bell:
    def __init__(self) -> None:
        self.rings = 0

    def set(self) -> None:
        self.rings += 1


def make_queue(capacity: int) -> Pair:
    queue: Queue[int] = Queue("a.out -> b.in", capacity)
    queue.join()
    return Pair(queue, queue, lambda: None)


def make_messages(capacity: int, *, lossy: bool = False) -> Pair:
    channel = Channel(lossy)
    sender, receiver = Sender(channel, capacity), Receiver(channel)
    sender.join()
    return Pair(sender, receiver, lambda: settle(sender, receiver))


MAKERS: dict[str, Make] = {
    "queue": make_queue,
    "messages": make_messages,
    "lossy messages": lambda capacity: make_messages(capacity, lossy=True),
}


@pytest.fixture(params=MAKERS)
def make(request: pytest.FixtureRequest) -> Make:
    return MAKERS[request.param]


def drain(pair: Pair, most: int = 3) -> list[int]:
    got: list[int] = []
    pair.settle()
    while (batch := pair.supply.take(most)) is not None:
        got += batch.items
        pair.supply.acknowledge(batch)
        pair.settle()
    return got


def test_items_come_out_in_the_order_they_went_in(make: Make) -> None:
    pair = make(100)
    assert pair.intake.offer(range(10)) == 10
    assert drain(pair) == list(range(10))


def test_batches_are_numbered_from_one_without_gaps(make: Make) -> None:
    pair = make(100)
    pair.intake.offer(range(9))
    pair.settle()
    numbers = []
    while (batch := pair.supply.take(2)) is not None:
        numbers.append(batch.number)
        pair.supply.acknowledge(batch)
    assert numbers == [1, 2, 3, 4, 5]


def test_a_full_connector_takes_only_what_it_has_room_for(make: Make) -> None:
    pair = make(4)
    assert pair.intake.offer(range(10)) == 4
    assert pair.intake.room == 0
    assert pair.intake.offer([11]) == 0


def test_what_is_handed_out_counts_against_the_bound_until_it_is_acknowledged(make: Make) -> None:
    pair = make(4)
    pair.intake.offer(range(4))
    pair.settle()
    batch = pair.supply.take(4)
    assert batch is not None
    pair.settle()
    assert pair.intake.offer([4]) == 0
    pair.supply.acknowledge(batch)
    pair.settle()
    assert pair.intake.offer([4]) == 1


def test_a_long_stream_through_a_narrow_connector_loses_and_repeats_nothing(make: Make) -> None:
    pair, sent = make(5), 0
    got: list[int] = []
    while len(got) < 200:
        sent += pair.intake.offer(range(sent, min(sent + 7, 200)))
        pair.settle()
        batch = pair.supply.take(3)
        if batch is not None:
            got += batch.items
            pair.supply.acknowledge(batch)
    assert got == list(range(200))


def test_the_writer_is_told_of_room_and_the_reader_of_items(make: Make) -> None:
    pair, reader, writer = make(2), Bell(), Bell()
    pair.supply.listen(reader)
    pair.intake.watch(writer)
    pair.intake.offer([1, 2])
    pair.settle()
    assert reader.rings >= 1
    batch = pair.supply.take(1)
    assert batch is not None
    rings = writer.rings
    pair.supply.acknowledge(batch)
    pair.settle()
    assert writer.rings > rings
    rings = writer.rings
    pair.intake.unwatch(writer)
    batch = pair.supply.take(1)
    assert batch is not None
    pair.supply.acknowledge(batch)
    pair.settle()
    assert writer.rings == rings


def test_a_reader_that_listens_no_more_is_not_told(make: Make) -> None:
    pair, reader = make(10), Bell()
    pair.supply.listen(reader)
    pair.supply.unlisten(reader)
    pair.intake.offer([1])
    pair.settle()
    assert reader.rings == 0


def test_a_batch_given_back_comes_again_in_order_under_a_new_number(make: Make) -> None:
    pair = make(10)
    pair.intake.offer(range(6))
    pair.settle()
    first, second = pair.supply.take(2), pair.supply.take(2)
    assert first is not None
    assert second is not None
    pair.supply.acknowledge(second, 0)
    pair.supply.acknowledge(first, 1)
    again = pair.supply.take(10)
    assert again is not None
    assert again.items == [1, 2, 3, 4, 5]
    assert again.number > second.number


def test_batches_may_be_acknowledged_in_any_order(make: Make) -> None:
    pair = make(6)
    pair.intake.offer(range(6))
    pair.settle()
    first, second = pair.supply.take(3), pair.supply.take(3)
    assert first is not None
    assert second is not None
    pair.supply.acknowledge(second)
    pair.settle()
    assert pair.intake.room == 3
    pair.supply.acknowledge(first, 1)
    pair.settle()
    assert pair.intake.room == 4
    assert drain(pair) == [1, 2]


def test_it_is_ready_exactly_when_take_gives_something(make: Make) -> None:
    pair = make(3)
    story = [pair.supply.ready]
    pair.intake.offer([1])
    pair.settle()
    story.append(pair.supply.ready)
    drain(pair)
    story.append(pair.supply.ready)
    assert story == [False, True, False]


def test_an_ended_connector_gives_out_what_it_has_and_then_says_so(make: Make) -> None:
    pair, reader = make(10), Bell()
    pair.supply.listen(reader)
    pair.intake.offer([1, 2])
    pair.intake.end()
    pair.settle()
    assert reader.rings >= 1
    assert not pair.supply.ended
    assert drain(pair) == [1, 2]
    assert pair.supply.ended


def test_it_ends_only_when_every_producer_has(make: Make) -> None:
    pair = make(10)
    pair.intake.join()
    pair.intake.end()
    pair.settle()
    before = pair.supply.ended
    pair.intake.end()
    pair.settle()
    assert (before, pair.supply.ended) == (False, True)


def test_a_failed_connector_refuses_items_and_wakes_its_writer(make: Make) -> None:
    pair, writer = make(10), Bell()
    pair.intake.watch(writer)
    pair.intake.offer([1])
    pair.settle()
    pair.supply.fail("b failed")
    pair.settle()
    assert writer.rings >= 1
    assert pair.intake.room > 0, "who asks for room first must learn of the failure too"
    with pytest.raises(ConnectorBroken, match="b failed"):
        pair.intake.offer([2])
    batch = pair.supply.take(1)
    assert batch is not None, "what was taken before stays"
    assert batch.items == [1]
