"""Every call that a small crawl makes to the system fails once, and the crawl ends as if it had not.

    shim.c ── preloaded ──> crawl, commits and workers: counts calls by kind and place, lets the n-th of one fail
    launcher.py             has everything imported and forks a crawl per order: a start costs little
    web.py                  some twenty pages, with all that a crawl has to deal with; names are served too
    trial.py                one fault: crawl, resume, and what is to be true afterwards
    campaign.py             which faults, many side by side, and the table of what became of them

`python -m tests.inject.campaign` runs all of them; `--help` says how to run one of them alone.
"""
