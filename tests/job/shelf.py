"""A small site at a fixed address, of which a crawl by an earlier version is kept in tests/data."""

from tests.job.site import Answer, page

ADDRESS, PORT = "127.77.1.1", 18_473
SIZE = 40


def pages() -> dict[str, Answer]:
    """Forty pages in a row, each of which links to the next three; and a robots.txt with a rule."""
    found: dict[str, Answer] = {f"/{number}": _page(number) for number in range(SIZE)}
    return {**found, "/robots.txt": (200, {"Content-Type": "text/plain"}, "User-agent: *\nDisallow: /private\n")}


def _page(number: int) -> Answer:
    status, headers, body = page(
        *(f"/{(number + step) % SIZE}" for step in (1, 2, 3)), "/private", title=f"page {number}"
    )
    return status, headers, str(body) + f"<p>{'words of page ' * 30}{number}</p>"
