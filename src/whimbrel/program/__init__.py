"""Crawls as programs write them: in a script, a notebook or a server.

`Crawl` (`crawl.py`) takes the options of the command line under the same names (`keyword.py`). `run` waits for the end;
`events` tells what happens meanwhile. Each run has a thread and an event loop of its own, so that it does not matter
whether the caller has one, and several crawls go side by side in one process. What they leave is a directory like any
other: `CrawlResult` (`result.py`) is that directory, opened for questions.
"""
