"""Work on a crawl's directory while no crawl runs there: nothing is fetched.

`warc_import.py` makes a crawl's directory from web archives that others wrote; `foreign_warc.py` reads those.
`reparse.py` runs handlers over the pages of a crawl again, from its archive. `explain.py` tells what became of one URL,
and why, as far as it is committed; it works beside a running crawl, too.
"""
