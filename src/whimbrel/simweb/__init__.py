"""A web made from a number, to test crawlers on.

Nothing is stored. A host is a function of the seed and its index, a page is a function of its host and its number, and
both can be found from a name or a path, so a million hosts cost nothing and what a correct crawl would find can be
computed (Agarwal et al. §IV and Hunyadi §6 ask for such a testbed; BUbiNG's random graph server showed how).

The nouns:

- A *web* (`web.py`) is a specification (`spec.py`; `preset.py` has some that come ready made) made callable: it finds
  hosts, pages and answers. All chance comes from `dice.py`.
- A *host* (`host.py`) has a name, addresses, a scheme, a robots.txt variant, and perhaps trouble of its own.
- A *page* (`page.py`) is ordinary: HTML about a topic (`topic.py`), with links. `html.py` writes its bytes, fast;
  `sitemap.py` the sitemaps of a host.
- An *exhibit* (`exhibit/`) is everything else: faults, traps, duplicates, odd URLs. Page exhibits live on every
  host under `/x/NAME/K`; host exhibits have a host of their own, `NAME.exhibit.SUFFIX`. Each says what it does, what a
  correct crawl makes of it, and which links it holds. Ordinary pages link to exhibits as often as the specification
  says. `catalogue.py` lists them all.
- An *answer* (`answer.py`) is what a server does with a request: a reply, or a script of raw steps for faults.
- The *truth* (`truth.py`) walks the same functions as the server and says for each URL the outcome of a correct crawl.
- The *server* (`server/`) speaks HTTP/1.0, 1.1 and 2, http and https; `dns.py` speaks DNS; the access log proves
  politeness afterwards; the virtual clock (`clock.py`) makes pages change only when somebody moves it.
- A *snapshot* (`snapshot.py`) is a web read from WARC files instead of made from a number.

This part imports nothing of the crawler: the truth must not come from the code under test. It listens on loopback only.
The only state is the server's: open connections, the clock, counters, and the tries of exhibits that recover.
"""
