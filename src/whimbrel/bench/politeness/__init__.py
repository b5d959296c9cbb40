"""Proof, from the server's side, that a crawl was polite.

The simulated web writes down every request. `judge` reads that *access log*, knows from the web's specification what
each host allows, and returns every *violation* of what the *etiquette* promises: one request in flight per site, the
clocks of site, domain and address, Retry-After, robots.txt, qualification before the first page, and no URL asked for
twice. It uses none of the crawler's code and asks the crawler nothing.

Each *rule* is a small class that sees every *visit* once, in the order in which they began, and owns what it must
remember of sites, domains, addresses or URLs: `site.py`, `shared.py` (domains and addresses; `knowledge.py` is from
when on a crawl can know that an address serves many), `permission.py` (robots.txt) and `repeat.py`. `etiquette.py` has
the promises, `visit.py` makes visits of log lines, `judge.py` has the table of rules. `stage.py` starts the web and the
crawler, each as a process. `run.py` is the experiment: it serves a web, crawls it, kills the crawl now and then, and
has the log judged. `wide.py` measures a crawl of very many slow hosts on the same footing.

Why the log is enough: the server reads a request after the client has sent it, and stamps the end of an answer before
the client can have read it. What it sees as a pause is therefore never shorter than the client's own, and what it sees
as in flight is never more. Only where a client gives up can an end be stamped late, and only comparisons of two starts
depend on how long a request was under way; `Tolerance` has a figure for each.
"""

from whimbrel.bench.politeness.etiquette import Etiquette, Tolerance, Violation
from whimbrel.bench.politeness.judge import busiest, judge

__all__ = ["Etiquette", "Tolerance", "Violation", "busiest", "judge"]
