"""robots.txt: the path that is asked for in the first line, the file behind it."""

import math
from random import Random
from typing import Final

from tests.fuzz.api import Target, plain
from tests.fuzz.target import rfc9309
from whimbrel.qualify.robots import MAX_WILDCARDS, RobotsRules
from whimbrel.qualify.robots_body import robots_text
from whimbrel.qualify.robots_explain import denying_rule
from whimbrel.url import parse

_AGENT: Final = "Whimbrel/1.0 (+http://a.test/)"
_MOST_COMPARED: Final = 20_000
"""Bytes of a file that is compared with the standard; explained is a tenth of that."""


def read(data: bytes) -> None:
    line, _, body = data.partition(b"\n")
    text = robots_text(body, "", 512_000)
    assert text is not None
    rules = RobotsRules.parse(text, _AGENT)
    assert math.isfinite(rules.crawl_delay_s)
    assert rules.crawl_delay_s >= 0
    url = parse(f"http://a.test/{line.decode('utf-8', 'replace')}")
    if url is None:
        return
    allowed = rules.allows(url.text)
    assert allowed or not rules.empty
    if len(data) < _MOST_COMPARED and text.count("*") + text.count("$") < MAX_WILDCARDS:
        expected = rfc9309.is_allowed(rfc9309.rules_for(text, "whimbrel"), url.target)
        assert allowed == expected, f"allowed: {allowed}, by the standard: {expected}"
    if len(data) < _MOST_COMPARED // 10:
        assert bool(denying_rule(text, _AGENT, url.text)) != allowed


_WORDS: Final = (
    *(
        b"User-agent: *\n",
        b"User-agent: whimbrel\n",
        b"User-Agent: WHIMBREL/2.0\n",
        b"User-agent: whim\n",
        b"Disallow: /\n",
    ),
    *(
        b"Disallow: /a\n",
        b"Allow: /a/b\n",
        b"Disallow:\n",
        b"Allow: /*.html$\n",
        b"Crawl-delay: 10\n",
        b"Sitemap: /s.xml\n",
    ),
    *(
        b"*",
        b"$",
        b"%2F",
        b"%2f",
        b"%",
        b"%4",
        b"%41",
        b"%E9",
        b"\xe9",
        "\u00e9".encode(),
        b"%24",
        b"%2A",
        b"%25",
        b"%00",
    ),
    *(
        b"index.html",
        b"/",
        b"?",
        b"&",
        b"=",
        b"#",
        b"\r",
        b"\r\n",
        b"\n\n",
        b"\xef\xbb\xbf",
        "\u2028".encode(),
        b"http://a.test/",
    ),
    *(
        b"Noindex: /\n",
        b"disalow: ",
        b"user agent:",
        b"Disallow /x\n",
        b"robots.txt\n",
        b"~",
        b";",
        b"\x0b",
        b"\xc2\xa0",
        b"//",
    ),
)
_PIECES: Final = (
    *(
        "/",
        "a",
        "b",
        "*",
        "$",
        "%2F",
        "%61",
        "?",
        "=",
        "index.html",
        ".",
        "%",
        "\u00e9",
        "%C3%A9",
        "%E9",
        "~",
        "A",
        "//",
    ),
    *("%24", "%2A", "&", "[", ";"),
)


def made_up(dice: Random) -> bytes:
    """Short patterns of few pieces, and a path of the same: many rules match."""
    lines = ["".join(dice.choices(_PIECES, k=dice.randrange(6)))]
    for _ in range(dice.randrange(1, 12)):
        pattern = "".join(dice.choices(_PIECES, k=dice.randrange(5)))
        field = dice.choice(("Allow", "Disallow", "Disallow", "Disallow", "User-agent", "Crawl-delay", "Foo"))
        value = dice.choice(("*", "whimbrel", "other", "whimbrel/1")) if field == "User-agent" else f"/{pattern}"
        lines.append(f"{field}: {value}")
    return "\n".join([lines[0], dice.choice(("User-agent: *", "User-agent: whimbrel")), *lines[1:]]).encode()


TARGET: Final = Target("robots", plain(read), _WORDS, make_up=made_up, quick_inputs=3_000)
