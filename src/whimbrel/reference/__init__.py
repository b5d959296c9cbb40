"""The pages of `docs/` that are written from the code: `python -m whimbrel.reference PAGE > docs/PAGE.md`.

`__main__.py` lists the pages: `commands` (`command.py`, from the commands and their options), `job-file`
(`job_file.py`, from the options of a crawl and the settings of every part, which `setting.py` reads), `python`
(`python.py`, from the classes that programs may rely on), `metrics` (`metric.py`) and `actions` (`action.py`).
`head.py` has the words that stand before them. A test compares each page with what is written here.
"""
