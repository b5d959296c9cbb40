"""GNU Wget with a WARC file: C, one connection."""

from whimbrel.bench.peers.api import CorpusName, PeerTask
from whimbrel.bench.peers.runner.program import PAGES_ONLY, program_version


class Wget:
    name = "wget"
    sampled: frozenset[CorpusName] = frozenset(("small", "realistic"))
    needs_private = True
    extracts = False
    settings = "recursive, host by host, one connection, robots.txt obeyed, WARC and files kept"

    def version(self) -> str | None:
        return program_version("wget")

    def command(self, visit: PeerTask) -> list[str]:
        """Without --span-hosts: to Wget each seed is a crawl of its own and would fetch the neighbours' pages too."""
        command = ["wget", "--no-config", "--quiet", "--recursive", "--level=inf", "--tries=2", "--no-hsts"]
        command += ["--compression=auto", f"--ca-certificate={visit.ca}", f"--directory-prefix={visit.into}"]
        command += PAGES_ONLY if visit.corpus == "documents" else []
        return [*command, f"--warc-file={visit.into}/crawl", f"--input-file={visit.seed_file}"]
