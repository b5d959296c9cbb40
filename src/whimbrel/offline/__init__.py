"""Work on a crawl's directory while no crawl runs there: nothing is fetched.

`warc_import.py` makes a crawl's directory from web archives that others wrote. It is a job like a crawl, of the wiring
`job/import.toml`: the *WARC reader* (`warc_reader.py`) stands where the downloader stands in a crawl, and from there on
the parts are the same. It hands on each record that was a visit as if it had just been fetched, in order, and each
commit says how many records it holds. `import_effects.py` has the archive keep records as they stood, which
`record_capture.py` knows how to do; `foreign_warc.py` reads what other programs wrote, by warcio within the bounds of
`bounded_warc.py`.

`reparse.py` runs handlers over the pages of a crawl again, from its archive. `verify.py` compares everything that a
crawl has kept with its last commit and with itself, and `unchecked.py` says what it cannot vouch for. `explain.py`
tells what became of URLs, and why, as far as it is committed; it works beside a running crawl, too. It takes tables and
state of one commit: `url_facts.py` asks the tables for many URLs at once, `case.py` puts together what is known of one,
`link_judge.py` asks the crawl's job about links to it, `mention.py` searches the archive for places that are no links,
and `kept_record.py` for records of an import that are in no table. `visited.py` says why a visit ended as it did,
`unvisited.py` why there is none. `block_change.py` changes what the job blocks.
"""
