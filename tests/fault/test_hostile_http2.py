"""Servers whose HTTP/2 is bad, broken or endless, all in one crawl beside a good one: once from the first page on, once
from robots.txt on."""

from contextlib import suppress
from pathlib import Path

import pytest

from tests.fault.hostile_certificate import good_context, write_root
from tests.fault.hostile_crawl import HostileCrawl, assert_unharmed, crawl
from tests.fault.hostile_port import Peer, hostile_port
from tests.fault.http2_case import CASES, FLOODS, FRAMES, HEADS, HTTP_1_1, RESETS, reset
from tests.fault.http2_frame import BAD_PATH, Session, http2
from tests.fault.tls_case import NOT_FOUND, OK, path_of
from tests.fetch.rig import request, run, transport
from whimbrel.fetch.trouble import Fault, Trouble, trouble_of

RESET, CUT, CLOSED = ("failed reset",), ("failed cut", "failed reset"), ("failed closed",)
BAD, ENDLESS, LATE = ("failed bad-http",), ("failed header-too-large",), ("failed timeout",)
STORED = ("stored new",)
ENDINGS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(RESETS, RESET),
    **dict.fromkeys(("reset-at-once", "reset-flood"), CLOSED),
    "closed-at-once": RESET + CLOSED,
    **dict.fromkeys(("reset-after-head", "reset-in-body", "goaway-in-body", "closed-in-body"), CUT),
    "reset-no-error": BAD,
    "goaway-then-page": STORED,
    "no-answer": LATE,
    "goaway-flood": RESET + LATE,
    **dict.fromkeys(FLOODS, BAD + RESET + LATE),
    **dict.fromkeys(("empty-continuation-flood", "interim-flood", "field-flood", "trailer-flood"), ENDLESS),
    "data-flood": ("stored truncated-length",),
    **dict.fromkeys(HEADS, BAD),
    **dict.fromkeys(("hpack-bomb", "hundred-thousand-fields"), ENDLESS),
    **dict.fromkeys(("hpack-nonsense", "hpack-far-index", "hpack-giant-table"), ENDLESS + LATE),
    **dict.fromkeys(("giant-table-allowed", "long-trailer"), STORED),
    "status-999": ("failed http-999",),
    **dict.fromkeys(FRAMES, BAD + LATE),
    **dict.fromkeys(("zero-window-setting", "no-streams-allowed", "page-twice", "priority-loop"), STORED),
    "data-shorter-than-length": CUT,
}
"""libcurl ends an exchange on a connection that it has given up when its next timer is due: hence the time-outs."""
MOST_S = 60
"""Alone it takes 13 s on two cores."""
OF_ROBOTS = "-from-robots-on"


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, HostileCrawl]:
    folder = tmp_path_factory.mktemp("http2")
    cases = {name: http2(act) for name, act in CASES.items()}
    cases |= {name + OF_ROBOTS: http2(act, robots_too=True) for name, act in CASES.items()}
    return folder, crawl(folder, cases, BAD_PATH, "/good")


def test_hostile_servers_do_no_harm_to_a_crawl(found: tuple[Path, HostileCrawl]) -> None:
    folder, crawled = found
    assert_unharmed(folder, crawled)
    assert crawled.seconds < MOST_S


@pytest.mark.parametrize("case", CASES)
def test_a_hostile_answer_ends_with_a_reason(found: tuple[Path, HostileCrawl], case: str) -> None:
    assert found[1].endings[case, BAD_PATH] in ENDINGS[case]


@pytest.mark.parametrize("case", CASES)
def test_a_hostile_answer_takes_no_other_page_of_its_host_with_it(found: tuple[Path, HostileCrawl], case: str) -> None:
    assert found[1].endings[case, "/good"] == "stored new"


@pytest.mark.parametrize("case", CASES)
def test_a_hostile_robots_txt_means_no(found: tuple[Path, HostileCrawl], case: str) -> None:
    """Unless it can be read all the same."""
    endings = {found[1].endings[case + OF_ROBOTS, path] for path in (BAD_PATH, "/good")}
    readable = ENDINGS[case] == STORED or case == "data-flood"
    assert endings <= ({"stored new", "duplicate same-payload"} if readable else {"denied robots-unreachable"})


def test_a_server_that_wants_calm_is_asked_again() -> None:
    """With ENHANCE_YOUR_CALM a server says that we ask too much. That is not the fate of a page."""
    message = "HTTP/2 stream 3 reset by server (error 0xb ENHANCE_YOUR_CALM)"
    found = trouble_of(92, message, 0, has_head=False)
    assert isinstance(found, Trouble)
    assert found.fault is Fault.NETWORK


def test_what_another_answer_left_of_a_connection_is_not_the_fate_of_a_page() -> None:
    """libcurl gives up a head that is too large, and keeps the connection, on which no head can be read any more."""
    message = "nghttp2 shuts down connection with error 9: COMPRESSION_ERROR"
    assert trouble_of(16, message, 0, has_head=False, used=True) is Trouble.RESET
    assert trouble_of(16, message, 0, has_head=False, used=False) is Trouble.HEADER_TOO_LARGE


def test_a_connection_on_which_no_answer_came_is_not_used_again(tmp_path: Path) -> None:
    """libcurl would reset the stream and send the next request to where nobody listens."""

    async def scene(port: int) -> list[int | str]:
        async with transport(ca=str(write_root(tmp_path)), first_byte_timeout_s=0.5) as made:
            asked = [
                made.fetch(request(f"https://127.8.0.1:{port}{path}"), "127.8.0.1") for path in (BAD_PATH, "/good")
            ]
            found = [await one for one in asked]
            return [one.response.status if one.response else str(one.trouble) for one in found]

    with hostile_port({"127.8.0.1": http2(RESETS["no-answer"])}) as (port, ledger):
        assert run(scene(port)) == ["timeout", 200]
        assert len(ledger.connections["127.8.0.1"]) == 2


def wants_http1(peer: Peer) -> None:
    """Offers HTTP/2, and says HTTP_1_1_REQUIRED to whatever is asked for over it."""
    with (
        suppress(EOFError),
        good_context(peer.address, ("h2", "http/1.1")).wrap_socket(peer.socket, server_side=True) as stream,
        stream.makefile("rb") as incoming,
    ):
        if stream.selected_alpn_protocol() == "h2":
            session = Session(peer, stream, incoming)
            for number, _ in session.requests():
                session.send(reset(number, HTTP_1_1))
        while path := path_of(peer, stream.recv):
            stream.sendall(NOT_FOUND if path == "/robots.txt" else OK)


def test_a_server_that_offers_http_2_and_wants_http_1_is_crawled(tmp_path: Path) -> None:
    crawled = crawl(tmp_path, {"old": wants_http1}, "/a", "/b")
    assert_unharmed(tmp_path, crawled)
    assert {crawled.endings["old", path] for path in ("/a", "/b")} <= {"stored new", "duplicate same-payload"}
