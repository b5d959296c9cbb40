"""Every kind of wrong wiring has its own error, which names the culprit and, from TOML, the place."""

import pytest

from tests.flow.parts import FailAt, Gated, List, Negate, Number, Numbers, Pass, Put, Word, chain
from whimbrel.flow import (
    Async,
    ComponentSpec,
    ConnectorSpec,
    In,
    Out,
    ProviderSpec,
    Registry,
    Sync,
    Wiring,
    WiringError,
    check,
)
from whimbrel.flow import error as errors
from whimbrel.flow.toml import parse_wiring


class Speller(Sync):
    numbers = In(Number)
    words = Out(Word)

    def process(self, number: Number) -> list[Word]:
        return [Word(str(number.value))]


class Join(Sync):
    left = In(Number)
    right = In(Number)
    passed = Out(Number, optional=True)

    def process(self, left: Number, right: Number) -> list[Number]:
        return [Number(left.value + right.value)]


class Deaf(List):
    put = None  # type: ignore[assignment]


REGISTRY = (
    Registry()
    .components(
        {
            "numbers": Numbers,
            "pass": Pass,
            "negate": Negate,
            "put": Put,
            "speller": Speller,
            "gated": Gated,
            "fail-at": FailAt,
            "join": Join,
        }
    )
    .providers({"list": List, "deaf": Deaf})
)

GOOD = """\
name = "good"

[providers.shelf]
use = "list"

[components.source]
use = "numbers"
config = { count = 3 }

[components.step]
use = "pass"

[components.sink]
use = "put"
needs = { shelf = "shelf" }

[[connectors]]
from = "source.numbers"
to = "step.numbers"
kind = "queue"

[[connectors]]
from = "step.passed"
to = "sink.numbers"
kind = "direct"
"""

WRONG = {
    "unknown component": (errors.UnknownComponent, 'use = "pass"', 'use = "passs"', "step", 10, "did you mean 'pass'"),
    "unknown provider": (errors.UnknownProvider, 'use = "list"', 'use = "lisst"', "shelf", 3, "did you mean 'list'"),
    "binding to no provider": (
        *(errors.UnknownProvider, '{ shelf = "shelf" }', '{ shelf = "shelv" }', "sink", 13),
        "did you mean 'shelf'",
    ),
    "unknown output": (errors.UnknownPort, "step.passed", "step.pased", "step.pased", 23, "did you mean 'passed'"),
    "unknown input": (errors.UnknownPort, "step.numbers", "step.number", "step.number", 18, "did you mean 'numbers'"),
    "connector to nobody": (
        errors.UnknownPort,
        "sink.numbers",
        "sing.numbers",
        "sing.numbers",
        23,
        "did you mean 'sink'",
    ),
    "type mismatch": (
        *(errors.TypeMismatch, 'use = "pass"', 'use = "speller"', "step.words -> sink.numbers", 23),
        "Word goes out, Number is taken in",
    ),
    "missing provider": (
        *(errors.MissingProvider, 'needs = { shelf = "shelf" }\n', "\n", "sink", 13),
        "needs a provider for 'shelf' (Shelf)",
    ),
    "provider without the methods": (errors.WrongProvider, 'use = "list"', 'use = "deaf"', "sink", 13, "lacks put"),
    "unknown need": (
        *(errors.MissingProvider, '{ shelf = "shelf" }', '{ shelf = "shelf", clock = "shelf" }', "sink", 13),
        "has no need 'clock'",
    ),
    "unknown setting": (errors.BadConfig, "count = 3", "counts = 3", "source", 6, "did you mean 'count'"),
    "setting of the wrong type": (errors.BadConfig, "count = 3", 'count = "many"', "source", 6, "count"),
    "unknown kind": (errors.BadWiring, 'kind = "queue"', 'kind = "tube"', "connector 1", 18, "tube"),
    "unknown key of a connector": (errors.BadWiring, 'kind = "queue"', "capacitty = 5", "connector 1", 18, "capacity"),
    "unknown table": (
        errors.BadWiring,
        "[[connectors]]",
        "[[conectors]]",
        "conectors",
        17,
        "did you mean 'connectors'",
    ),
    "no instances": (errors.BadWiring, 'use = "pass"', 'use = "pass"\ninstances = 0', "step", 10, "at least 1"),
    "no capacity": (
        *(errors.BadConnector, 'kind = "queue"', "capacity = 0", "source.numbers -> step.numbers", 18),
        "must be at least 1",
    ),
    "async component on a thread": (
        *(errors.BadWiring, 'use = "numbers"', 'use = "numbers"\nplace = "thread"', "source", 6),
        "only synchronous",
    ),
    "not TOML": (errors.BadWiring, 'name = "good"', "name = good", "wiring.toml", 1, "not TOML"),
}


def test_the_good_wiring_is_good() -> None:
    assert check(parse_wiring(GOOD, "wiring.toml"), REGISTRY).wiring.name == "good"


@pytest.mark.parametrize("what", WRONG)
def test_wrong_toml_names_the_culprit_and_the_line(what: str) -> None:
    kind, old, new, culprit, line, hint = WRONG[what]
    text = GOOD.replace(old, new)
    if "speller" in new:
        text = text.replace("step.passed", "step.words")
    with pytest.raises(kind) as caught:
        check(parse_wiring(text, "wiring.toml"), REGISTRY)
    assert type(caught.value) is kind
    assert caught.value.culprit == culprit
    assert caught.value.place == f"wiring.toml:{line}"
    assert hint in str(caught.value)
    assert str(caught.value).startswith(f"wiring.toml:{line}: ")


def test_an_input_that_nothing_feeds_is_named() -> None:
    text = GOOD.replace('to = "step.numbers"', 'to = "sink.numbers"').replace('kind = "direct"', 'kind = "queue"')
    with pytest.raises(errors.DanglingInput) as caught:
        check(parse_wiring(text, "wiring.toml"), REGISTRY)
    assert caught.value.culprit == "step.numbers"
    assert caught.value.place == "wiring.toml:10"


def test_an_output_that_nothing_takes_is_named_unless_it_is_optional() -> None:
    wiring = chain(Pass).removing("sink")
    with pytest.raises(errors.DanglingOutput) as caught:
        check(wiring)
    assert caught.value.culprit == "step0.passed"
    joined = Wiring(
        "joined",
        (ComponentSpec("a", Numbers), ComponentSpec("b", Numbers), ComponentSpec("join", Join)),
        (ConnectorSpec("a.numbers", "join.left"), ConnectorSpec("b.numbers", "join.right")),
    )
    check(joined)


def test_direct_connectors_in_a_circle_are_refused_and_the_circle_is_shown() -> None:
    circle = Wiring(
        "circle",
        tuple(ComponentSpec(name, Pass) for name in "abc"),
        tuple(ConnectorSpec(f"{a}.passed", f"{b}.numbers", "direct") for a, b in ("ab", "bc", "ca")),
    )
    with pytest.raises(errors.DirectCycle, match="a -> b -> c -> a; make one of them a queue"):
        check(circle)


DIRECT = {
    "an asynchronous consumer": (Gated, "step0", {}, "not a synchronous component with one input"),
    "unequal instances": (Pass, "step0", {"instances": 2}, "equally many instances"),
    "a thread below a caller": (Pass, "step0", {"place": "thread"}, "cannot be placed on a thread"),
}


@pytest.mark.parametrize("what", DIRECT)
def test_a_direct_connector_is_refused_where_it_cannot_be_a_call(what: str) -> None:
    use, name, traits, reason = DIRECT[what]
    wiring = chain(use, kind="direct")
    spec = ComponentSpec(name, use, **traits)  # type: ignore[arg-type]
    with pytest.raises(errors.BadConnector, match=reason):
        check(wiring.adding(spec))


def test_a_direct_input_fed_twice_is_refused() -> None:
    wiring = chain(Pass, kind="direct").adding(
        ComponentSpec("other", Numbers), ConnectorSpec("other.numbers", "step0.numbers")
    )
    with pytest.raises(errors.BadConnector, match="fed by another connector too"):
        check(wiring)


def test_names_used_twice_and_providers_in_a_circle_are_refused() -> None:
    wiring = chain(Pass)
    twice = Wiring("twice", (*wiring.components, wiring.components[0]), wiring.connectors, wiring.providers)
    with pytest.raises(errors.BadWiring, match="two components named 'source'"):
        check(twice)

    class Needy(List):
        shelf = Put.shelf

    needy = wiring.adding(
        ProviderSpec("shelf", Needy, needs={"shelf": "other"}), ProviderSpec("other", Needy, needs={"shelf": "shelf"})
    )
    with pytest.raises(errors.BadWiring, match="in a circle: shelf -> other -> shelf"):
        check(needy)


def test_two_outputs_of_one_type_are_refused_when_the_class_is_written() -> None:
    with pytest.raises(TypeError, match="two outputs of one type"):

        class Fork(Sync):
            numbers = In(Number)
            left = Out(Number)
            right = Out(Number)


def test_every_wiring_error_is_a_wiring_error_and_documented() -> None:
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, WiringError)]
    assert len(kinds) == 13
    assert all(kind.__name__ in (errors.__doc__ or "") for kind in kinds)


def test_ports_work_only_inside_a_job() -> None:
    class Lonely(Async):
        numbers = Out(Number)

    with pytest.raises(AttributeError, match="not bound: it works inside a job"):
        Lonely().numbers.offer(Number(1))
