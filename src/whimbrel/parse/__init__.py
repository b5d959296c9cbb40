"""From an answer to facts: the outcome of the visit, and the links of the document.

The *parser* settles what a visit was (`Visited`) and finds where it leads (`Discovered`), in this order: links first,
so that they are in the frontier before the visit is finished. `html.py` reads HTML.
"""
