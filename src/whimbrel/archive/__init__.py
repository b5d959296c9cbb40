"""What is kept of a crawl: a web archive that any WARC tool can read.

A *capture* is one thing to be kept. `api.py` has its kinds, which are those of WARC/1.1 (ISO 28500:2017): a response; a
revisit, whose payload is kept elsewhere; a resource, which came without HTTP; a conversion, derived from another
capture; metadata. The code that makes a capture decides its kind. A capture is kept as *records*: the one with its
content, then, where they are known, the request and the fields that a crawl knows beside. Each record is a gzip
*member* of its own, so that a *place* (file, offset, length) is enough to read it. Members follow each other in a
*segment*, a file that opens with a warcinfo record. A segment that is full is sealed and gets an index, its *CDXJ*.

The life of a capture: the committer hands it to `append` (`warc.py`); `record.py` writes its records, with the head of
the response made safe by `head.py`; `member.py` compresses them, but for payloads that are compressed already; one
write puts them at the end of the open segment. `sync` makes them durable. Then the committer notes the lengths of all
segments, and from then on the capture exists. After a crash, `cut` goes back to the lengths last noted.

`read.py` reads segments, `cdxj.py` indexes them, `verify.py` looks for damage.

Who owns what: the archive owns the folder `archive/` and nothing else. It knows nothing of commits and is called from
one thread. Nothing here has a clock or a random source: the same captures make the same bytes.
"""
