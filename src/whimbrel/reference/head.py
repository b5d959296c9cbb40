"""The words before the references that are written from the code."""

from typing import Final

COMMANDS: Final = """\
# Commands

Written from the commands by `python -m whimbrel.reference commands`; a test fails when it is out of date.

Exit codes everywhere: 0 done, or ended by a limit that you set; 1 failed; 2 usage; 3 stopped with work left.
Durations take units: `250ms`, `0.5s`, `10m`, `2h`, `1d`.
"""

JOB_FILE: Final = """\
# Job files

Written from the code by `python -m whimbrel.reference job-file`; a test fails when it is out of date.

A job file is TOML: the options of `whimbrel crawl` under the same names, and settings of single parts.

```toml
seeds = ["https://www.example.org/"]
scope = "domain"
max_pages = 10_000
max_time = "2h"                  # durations: "250ms", "0.5s", "10m", "2h", "1d"; a number is seconds
max_file_size = "50MB"           # sizes: "20MB", "1.5GiB"; a number is bytes
contact = "crawl@example.org"
exclude = ["*/login*", "*?sort=*"]

[set.effects]                    # a part of the wiring, and its settings
retry_s = 10

[set.journal]
compression = "zlib"
level = 6
```

```
whimbrel crawl --job example.toml --dry-run           # checks everything, crawls nothing
whimbrel crawl --job example.toml --max-pages 100     # the command line wins
whimbrel config show DIR                              # every value of a crawl, and where it came from
```

Where a value comes from, the later wins: the default, the job file, the environment, the command line. In the
environment options are named `WHIMBREL_` and the name in capitals (`WHIMBREL_CONTACT`, `WHIMBREL_MAX_PAGES`), lists
are separated by commas; `seeds` and `set` are not read from there. On the command line a setting is `--set
effects.retry_s=10`; the value is read as TOML, and as text when it is not TOML. Lists are options that may be
repeated. A list replaces the list of an earlier place, it is not added to it; `set` is merged setting by setting. An
unknown option or setting is an error that names the near one. Durations and sizes with units are for `max_time`,
`delay`, `max_bytes`, `max_file_size` and `max_rate`; settings of parts are plain numbers, in the unit that their
names end with.

A crawl keeps what it was given as `job.toml` in its directory, and `whimbrel resume DIR` uses that. You may edit it
between two runs; `resume --set` changes a setting for one run only. Three things to know: what was decided stays
decided (URLs that were queued or refused are not judged again, and new `seeds` are not looked at); `max_pages` and
`max_bytes` count the whole crawl, `max_time` counts one run; do not change `mode`, since the state is laid out by it.
"""

PYTHON: Final = """\
# Python

Written from the code by `python -m whimbrel.reference python`; a test fails when it is out of date.

```python
import whimbrel

crawl = whimbrel.Crawl("example.org", max_pages=100)  # the options of the command line, as keywords
finished = crawl.run("out")  # or: async for event in crawl.events("out")
print(finished.sql("select url, title from pages"))  # Arrow, polars, pandas, dicts, files
print(whimbrel.open("out").get("https://example.org/").body)
```

Keywords of `Crawl` are the options of [job files](job-file.md). [handlers.md](handlers.md) is the way into handlers,
the [cookbook](cookbook.md) has questions, [tables.md](tables.md) the tables and functions they use. What is not here
may change.

```python
try:
    pages = whimbrel.open("out").sql("select url from pages")
except whimbrel.NotACrawl:
    pages = None  # nothing was crawled yet
except whimbrel.WhimbrelError as error:  # everything else: damage, a wrong statement, a limit
    sys.exit(f"{error}")
```
"""
