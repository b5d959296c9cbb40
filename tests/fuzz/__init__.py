"""Mutated and made-up bytes for everything that reads bytes from outside: `make fuzz`, `python -m tests.fuzz --help`.

A *target* (`target/`) is one small function that reads an input and checks what must be true of the result. Inputs
begin as seeds in `corpus/TARGET/`; `mutation.py` changes them. Those that reach new lines of code are kept for the run
and changed further (`coverage.py`). `child.py` reads inputs in a process with limits on time and memory, so that a
crash, a hang or a bomb is a finding and not the end; `campaign.py` starts such processes until the time is up. What is
found gets a mend, a test, and a place in the corpus as `found-WHAT`: `test_fuzz.py` reads the whole corpus every time.
"""
