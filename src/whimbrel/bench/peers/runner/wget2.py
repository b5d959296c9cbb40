"""GNU Wget2: C, threads, files."""

from whimbrel.bench.peers.api import CorpusName, PeerTask
from whimbrel.bench.peers.runner.program import PAGES_ONLY, program_version


class Wget2:
    name = "wget2"
    # 1.99.1 ends with a segmentation fault after about 5,600 pages of 20,000 https hosts; 2,000 hosts are well.
    sampled: frozenset[CorpusName] = frozenset(("realistic",))
    needs_private = True
    extracts = False
    settings = "recursive over all hosts, robots.txt obeyed, files kept"

    def version(self) -> str | None:
        return program_version("wget2")

    def command(self, visit: PeerTask) -> list[str]:
        command = ["wget2", "--no-config", "--quiet", "--recursive", "--level=inf", "--span-hosts", "--robots=on"]
        command += [f"--max-threads={visit.connections}", "--tries=2", "--no-hsts", "--no-ocsp"]
        command += [f"--ca-certificate={visit.ca}", f"--directory-prefix={visit.into}"]
        command += PAGES_ONLY if visit.corpus == "documents" else []
        return [*command, f"--input-file={visit.seed_file}"]
