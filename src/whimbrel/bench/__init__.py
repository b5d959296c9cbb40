"""Measurements that the documentation quotes, each with the command that produces it.

`flow.py` measures what a hop between components costs, `simweb.py` how fast the simulated web serves. Figures are CPU
time where that is possible; what is compared is measured in one run.
"""
