"""A crawl as a whole: the wirings that Whimbrel ships, what they may name, and how a crawl's options become one.

Wirings are TOML files beside this one; `standalone.toml` is the whole life of a URL on one page, `import.toml` as much
of it as an import has. `parts.py` is the registry of names that a wiring may use, `part_name.py` has the names that a
crawl's parts must have.

Options: `options.py` combines those of the job file, the environment and the command line; `option_check.py` checks
them, `unit.py` reads durations and sizes, `setting.py` settings of single parts. `seed.py` reads seeds, `database.py`
asks databases for them, `login.py` knows which headers and passwords are for whom, `cookie_file.py` looks at a file of
cookies. `stored.py` is the job that a crawl's directory
keeps, `legacy.py` reads what earlier versions wrote. `crawl_wiring.py` says which option goes to which part.

Running: `crawl.py` takes a crawl's options, configures a wiring with them and runs it; `resume.py` goes on with one, if
what is asked for now fits its files. `live_crawl.py` is a crawl while it runs, for control and display; `progress.py`
its numbers, `bound.py` what bounds its speed, `time_left.py` when it may end, `stop.py` how it is asked to stop,
`run_result.py` how it ended. `handling.py` puts the user's handlers between parser and distributor. `crawl_limit.py`
has the limits that end a crawl, `user_agent.py` how it names itself. `process_tuning.py` tunes the libraries of a
process that crawls, `file_limit.py` has the system allow as many open files as there may be connections.
"""
