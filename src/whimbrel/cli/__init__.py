"""The command line: one file per command, or per group of commands.

Every command says with `--help` what it does and what its exit codes mean. Exit codes: 0 done or
ended by a limit that the user set, 1 failed, 2 usage, 3 stopped with work left. What only one command
needs is imported inside it, so that `whimbrel --help` is fast.

`app.py` puts the commands together and shows errors; `argv.py` looks at the words before they are parsed,
`standard_file.py` opens what the caller has closed, `thread_start.py` ends a process whose threads cannot begin.
Crawling: `crawl.py` (with `resume`; its options are in `option.py`), `fetch.py`, `demo.py`, `new.py`. A crawl that
runs: `control.py`, `dashboard.py`. A crawl's directory: `status.py`, `why.py`, `verify.py`, `query.py`, `get.py`,
`reparse.py`, `importing.py`, `config.py`, `graph.py`. `simweb.py` serves the simulated web. The commands of `whimbrel
bench` are in `bench/command/`.

`display.py` shows progress to people, `log.py` to machines, `summary.py` how a crawl ended.
"""

from whimbrel.cli.app import main

__all__ = ["main"]
