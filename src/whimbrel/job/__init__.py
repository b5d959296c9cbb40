"""A crawl as a whole: the wirings that Whimbrel ships, what they may name, and how a crawl's options become one.

Wirings are TOML files beside this one; `standalone.toml` is the whole life of a URL on one page. `parts.py` is the
registry of names that a wiring may use, `part_name.py` has the names that a crawl's parts must have, `legacy.py` reads
what earlier versions wrote. `crawl.py` takes a crawl's options, configures a wiring with them and runs it.
`live_crawl.py` is a crawl while it runs, for control and display; `stored.py` the job that its directory keeps.
`handling.py` puts the user's handlers between parser and distributor; `database.py` asks databases for seeds;
`file_limit.py` has the system allow as many open files as there may be connections.
"""
