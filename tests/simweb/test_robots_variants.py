"""Every robots.txt variant, as curl sees it on the variant's own host."""

from collections.abc import Callable

import pytest

from tests.simweb.conftest import Seen, Served
from whimbrel.simweb.exhibit.robots import VARIANTS

Check = Callable[[Served, str], None]
"""Takes the web and the URL of a robots.txt."""

RULES = b"User-agent: *\nDisallow: /private/\n"
# Exit codes of curl.
CUT, TIMEOUT, TOO_MANY_REDIRECTS, RESET = 18, 28, 47, 56


def text(*lines: str) -> Check:
    """200, plain text, exactly these lines."""

    def check(web: Served, url: str) -> None:
        seen = web.curl(url)
        assert (seen.exit_code, seen.status) == (0, 200)
        assert seen.header("Content-Type") == "text/plain; charset=utf-8"
        assert seen.body == "".join(f"{line}\n" for line in lines).encode()

    return check


def raw(body: bytes, content_type: str = "text/plain; charset=utf-8") -> Check:
    def check(web: Served, url: str) -> None:
        seen = web.curl(url)
        assert (seen.exit_code, seen.status, seen.header("Content-Type")) == (0, 200, content_type)
        assert seen.body == body

    return check


def status(code: int) -> Check:
    def check(web: Served, url: str) -> None:
        seen = web.curl(url)
        assert (seen.exit_code, seen.status) == (0, code)
        assert b"Disallow" not in seen.body

    return check


def exits(code: int, *options: str, body: bytes = b"") -> Check:
    def check(web: Served, url: str) -> None:
        seen = web.curl(url, *options)
        assert (seen.exit_code, seen.body) == (code, body)

    return check


def first_address(web: Served, url: str) -> None:
    """503 or rules, by the address that is connected to."""
    host = web.web.hosts.find(url.split("/")[2].partition(":")[0])
    assert host is not None
    first, second = host.addresses
    assert web.dig(host.name, "A").addresses == [first, second]
    for address, code in ((first, 503), (second, 200)):
        seen = web.curl(url, "--connect-to", f"::{address}:{host.port}")
        assert (seen.exit_code, seen.status) == (0, code)
        assert (seen.body == RULES) == (code == 200)


def hops(count: int) -> Check:
    """Redirects one by one, then rules; and the same followed by curl itself."""

    def check(web: Served, url: str) -> None:
        whole = web.curl(url, "-L")
        assert (whole.status, whole.transfers[0].redirects, whole.body) == (200, count, RULES)
        origin = url.removesuffix("/robots.txt")
        for at in range(count):
            seen = web.curl(url)
            assert (seen.status, seen.header("Location")) == (301, f"/robots-hop/{at + 1}")
            url = f"{origin}/robots-hop/{at + 1}"
        assert web.curl(url).body == RULES

    return check


def loop(web: Served, url: str) -> None:
    assert web.curl(url).header("Location") == "/robots.txt"
    assert web.curl(url, "-L", "--max-redirs", "20").exit_code == TOO_MANY_REDIRECTS


def other_host(web: Served, url: str) -> None:
    target = web.url("robots-rules", "/robots.txt")
    seen = web.curl(url, "-L", *web.resolve(target))
    assert (seen.status, seen.transfers[0].url, seen.body) == (200, target, RULES)


def redirect_to_404(web: Served, url: str) -> None:
    seen = web.curl(url, "-L")
    assert (seen.status, seen.transfers[0].redirects) == (404, 1)


def recovers(web: Served, url: str) -> None:
    seen = [web.curl(url) for _ in range(4)]
    assert [one.status for one in seen] == [503, 503, 200, 200]
    assert seen[-1].body == RULES


def html_page(web: Served, url: str) -> None:
    seen = web.curl(url)
    assert (seen.status, seen.header("Content-Type")) == (200, "text/html; charset=utf-8")
    assert seen.body.startswith(b"<!DOCTYPE html>")


def binary(web: Served, url: str) -> None:
    seen = web.curl(url)
    assert seen.header("Content-Type") == "application/octet-stream"
    assert b"\0" in seen.body
    with pytest.raises(UnicodeDecodeError):
        seen.body.decode()


def huge(web: Served, url: str) -> None:
    body = web.curl(url).body
    assert body.startswith(RULES)
    assert len(body) > 500 * 1024
    # What would forbid everything stands where nobody reads any more.
    assert body.index(b"Disallow: /\n") >= 500 * 1024


def sitemap(web: Served, url: str) -> None:
    place = url.replace("/robots.txt", "/sitemap.xml")
    assert web.curl(url).body == RULES + f"\nSitemap: {place}\n".encode()
    seen = web.curl(place)
    assert (seen.status, seen.header("Content-Type")) == (200, "application/xml")


CHECKS: dict[str, Check] = {
    "allow-all": text("User-agent: *", "Disallow:"),
    "empty": text(),
    "rules": raw(RULES),
    "deny-all": text("User-agent: *", "Disallow: /"),
    "missing-404": status(404),
    "gone-410": status(410),
    "bad-400": status(400),
    "unauthorized-401": status(401),
    "forbidden-403": status(403),
    "teapot-418": status(418),
    "too-many-429": status(429),
    "error-500": status(500),
    "error-503": status(503),
    "cut": exits(CUT, body=RULES),
    "reset": exits(RESET),
    "stall": exits(TIMEOUT, "-m", "1.5"),
    "recovers": recovers,
    "html-page": html_page,
    "binary": binary,
    "wrong-type": raw(RULES, "text/html; charset=utf-8"),
    "bom": raw(b"\xef\xbb\xbf" + RULES),
    "huge": huge,
    "own-agent": text("User-agent: *", "Disallow: /", "", "User-agent: whimbrel", "Disallow: /private/"),
    "other-agent": text("User-agent: googlebot", "Disallow: /"),
    "group-merge": text(
        *("User-agent: *", "Disallow: /private/", "", "User-agent: other", "Disallow: /", ""),
        *("User-agent: *", "Disallow: /notes/"),
    ),
    "wildcard": text("User-agent: *", "Disallow: /*.html$", "Allow: /catalogue/"),
    "longest": text("User-agent: *", "Allow: /private/1", "Disallow: /private/"),
    "percent": text("User-agent: *", "Disallow: /priv%61te/"),
    "sloppy": raw(b"# hello\r\rUSER-AGENT :  *\rdisAllow:/private/ # keep out\r\r"),
    "unknown-lines": text("Clean-param: ref", "User-agent: *", "Noindex: /", "just text", "Disallow: /private/"),
    "no-group": text("Disallow: /"),
    "crawl-delay": text("User-agent: *", "Disallow: /private/", "Crawl-delay: 2"),
    "crawl-delay-long": text("User-agent: *", "Disallow: /private/", "Crawl-delay: 1000"),
    "first-address": first_address,
    "redirect-1": hops(1),
    "redirect-5": hops(5),
    "redirect-6": hops(6),
    "redirect-loop": loop,
    "redirect-host": other_host,
    "redirect-404": redirect_to_404,
    "sitemap": sitemap,
}


def test_every_robots_variant_of_the_catalogue_is_observed_here() -> None:
    assert set(CHECKS) == set(VARIANTS)


@pytest.mark.parametrize("name", CHECKS)
def test_curl_sees_what_the_catalogue_says(small: Served, name: str) -> None:
    CHECKS[name](small, small.url(f"robots-{name}", "/robots.txt"))


@pytest.mark.parametrize("name", CHECKS)
def test_the_host_has_a_page_whatever_its_robots_txt_says(small: Served, name: str) -> None:
    seen: Seen = small.curl(small.url(f"robots-{name}"))
    assert (seen.exit_code, seen.status) == (0, 200)


def test_an_https_host_has_its_robots_txt_on_http_too(small: Served) -> None:
    host = next(host for host in map(small.web.hosts.get, range(12)) if host.scheme == "https")
    secure = small.curl(f"{host.origin}/robots.txt")
    plain = small.curl(f"http://{host.name}:{small.running.http_port}/robots.txt")
    assert (plain.status, plain.body) == (secure.status, secure.body)
