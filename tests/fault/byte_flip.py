"""Single bytes of a crawl's files are changed, one at a time: `verify` finds it, or no answer is another one."""

import asyncio
import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any, Final, NamedTuple

import msgspec

import whimbrel as w
from whimbrel.commit.committed import read_committed
from whimbrel.commit.committer import Committer, Settings
from whimbrel.commit.crash import Crash
from whimbrel.commit.journal import JournalConfig, make_stores
from whimbrel.commit.recovery import last_commit
from whimbrel.commit.verify_state import check_state, durable_commit
from whimbrel.durable_file import Disk
from whimbrel.error import WhimbrelError
from whimbrel.offline.explain import Explainer, as_dict
from whimbrel.offline.verify import problems
from whimbrel.parse.crash_note import CrashNote
from whimbrel.query.open_snapshot import latest_snapshot
from whimbrel.query.sql import Query, QueryConfig
from whimbrel.state.api import SPACES
from whimbrel.state.option import RocksConfig
from whimbrel.state.rocks import RocksState

SMALL_BYTES: Final = 4_096
"""Of shorter files every byte is changed."""
_LEFT_OUT: Final = ("job.toml",)
"""Users may edit it."""
_UNREAD: Final = ("state/LOG", "state/OPTIONS", "state/IDENTITY", "state/json", "control.json", "reading/now")
_UNREAD_FLIPS: Final = 20
_UNREAD_FLIPS_SHORT: Final = 2
"""Nothing that answers reads these. All questions are asked after each change, which takes half a second: a few will
do where not every byte is changed."""
_TRIED: Final = 40
"""Of so many changes that are found, all commands are tried on one: none may end in a traceback. A long run has more of
them, and tries fewer."""
_TRIED_LONG: Final = 150
_MANY: Final = 1_000


class Flip(NamedTuple):
    file: str
    at: int
    mask: int


def kind_of(file: str) -> str:
    """Files of one kind have one name."""
    folder, _, name = file.rpartition("/")
    stem = name.rstrip("0123456789").rstrip("-") if "." not in name else name.rpartition(".")[2]
    if folder == "state":
        return f"state/{'*.' if '.' in name and not name.startswith('rocksdict') else ''}{stem}"
    if folder == "reading":
        return "reading/now" if name.startswith("now-") else file
    if name.endswith((".parquet", ".gz", ".cdxj")):
        return f"{folder}/*.{stem}"
    return f"{folder}/{stem}".lstrip("/") if folder else name


def flips(directory: Path, random: Random, most: int, *, whole: bool) -> list[Flip]:
    """`whole`: all bytes of short files, and `most` of the others; else `most` of all, the same number of each kind."""
    files = {
        path.relative_to(directory).as_posix(): path.stat().st_size for path in directory.rglob("*") if path.is_file()
    }
    files = {name: size for name, size in sorted(files.items()) if size and name not in _LEFT_OUT}
    if whole:
        listed = _listed(directory)
        short = [
            (name, at)
            for name, size in files.items()
            if size < SMALL_BYTES
            for at in (
                range(size) if _is_used(name, listed) else sorted(random.sample(range(size), min(size, _UNREAD_FLIPS)))
            )
        ]
        long = {name: size for name, size in files.items() if size >= SMALL_BYTES}
        return [*_masked(short, random), *_spread(long, random, most)]
    return _spread(files, random, most, _UNREAD_FLIPS if most >= _MANY else _UNREAD_FLIPS_SHORT)


def _spread(files: dict[str, int], random: Random, most: int, most_unread: int = _UNREAD_FLIPS) -> list[Flip]:
    kinds: dict[str, list[str]] = {}
    for name in files:
        kinds.setdefault(kind_of(name), []).append(name)
    unread = [kind for kind in kinds if kind in _UNREAD]
    each = -(-most // max(len(kinds) - len(unread), 1))
    places = []
    for kind, names in kinds.items():
        for _ in range(min(each, most_unread) if kind in unread else each):
            (name,) = random.choices(names, [files[name] for name in names])
            places.append((name, random.randrange(files[name])))
    return list(_masked(dict.fromkeys(places), random))


def _masked(places: Iterable[tuple[str, int]], random: Random) -> Iterator[Flip]:
    return (Flip(name, at, random.randint(1, 255)) for name, at in places)


def _listed(directory: Path) -> set[str]:
    """What a commit lists, published or not."""
    published = read_committed(directory)
    durable = durable_commit(directory, published)
    return {name for commit in (published, durable) for name in (*commit.files, *commit.parquet)}


def _is_used(name: str, listed: set[str]) -> bool:
    """Files that a crash left and no commit lists are deleted by a start: some of their bytes will do."""
    return not name.startswith("facts/") or name in listed


class Trial:
    """A crawl that does not run, and what it answers when nothing was changed."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.before = self._answers()
        wrong = {name: answer for name, answer in self.before.items() if isinstance(answer, Exception)}
        assert not wrong, wrong
        assert self._found() is None
        assert self._answers() == self.before
        self._tried = _TRIED
        self.found: Counter[str] = Counter()
        self.harmless: Counter[str] = Counter()
        self.failures: list[str] = []

    def run(self, chosen: list[Flip]) -> None:
        self._tried = _TRIED if len(chosen) < _MANY else _TRIED_LONG
        for number, flip in enumerate(chosen):
            with _Flipped(self.directory / flip.file, flip):
                try:
                    self._try(flip, number)
                except Exception as error:  # noqa: BLE001 - whatever a command would show as a traceback
                    self.failures.append(f"{flip}: {type(error).__name__}: {error}")
        assert self._found() is None, "the files are not as they were"

    def _try(self, flip: Flip, number: int) -> None:
        kind = kind_of(flip.file)
        if self._found() is not None:
            self.found[kind] += 1
            if number % self._tried == 0:
                self._answers()
            return
        now = self._answers()
        other = [f"{name}: {_shown(answer)}" for name, answer in now.items() if answer != self.before[name]]
        if other:
            self.failures.append(f"{flip}: not found, and another answer: {'; '.join(other)}")
        else:
            self.harmless[kind] += 1

    def _found(self) -> object:
        """The first thing that `verify` says."""
        try:
            return next(iter(problems(self.directory, read_committed(self.directory))), None)
        except WhimbrelError as error:
            return error

    def _answers(self) -> dict[str, object]:
        return {name: _answer(ask, self.directory) for name, ask in _QUESTIONS.items()}


class _Flipped:
    """One byte of a file is another while the block runs."""

    def __init__(self, path: Path, flip: Flip) -> None:
        self._path, self._flip = path, flip

    def __enter__(self) -> None:
        self._change()

    def __exit__(self, *_: object) -> None:
        self._change()

    def _change(self) -> None:
        with self._path.open("r+b") as file:
            file.seek(self._flip.at)
            (byte,) = file.read(1)
            file.seek(self._flip.at)
            file.write(bytes([byte ^ self._flip.mask]))


def _shown(answer: object) -> str:
    return repr(answer)[:300] if isinstance(answer, Exception) else "differs"


def _answer(ask: Callable[[Path], object], directory: Path) -> object:
    """An error that commands show in a line is an answer, too; any other is raised."""
    try:
        return ask(directory)
    except (WhimbrelError, OSError) as error:
        return error


def _rows(directory: Path) -> object:
    with Query([latest_snapshot(directory)], QueryConfig()) as query:
        tables = [name for name in query.tables if name != "near_duplicates"]
        return {name: _asked(query, f'SELECT * FROM "{name}" ORDER BY ALL') for name in tables}  # noqa: S608


def _asked(query: Query, sql: str) -> list[dict[str, Any]]:
    with query.run(sql) as answer:
        return [row for batch in answer for row in batch.to_pylist()]


def _documents(directory: Path) -> object:
    return list(w.open(directory).sql("SELECT url, body(url), headers(url) FROM pages ORDER BY url"))


def _stories(directory: Path) -> object:
    crawl = w.open(directory)
    urls = "SELECT url FROM fetches UNION SELECT target FROM links_history ORDER BY ALL"
    with Explainer(directory) as explainer:
        return [as_dict(story) for story in explainer.stories(row[0] for row in crawl.sql(urls))]


def _status(directory: Path) -> object:
    return msgspec.json.encode(read_committed(directory))


def _resumed(directory: Path) -> object:
    """What a crawl that goes on would begin with: tried on a copy, since a start changes files."""
    with TemporaryDirectory(prefix="whimbrel-flip-") as folder:
        copy = Path(folder) / "crawl"
        shutil.copytree(directory, copy)
        return asyncio.run(_recovered(copy))


async def _recovered(directory: Path) -> object:
    check_state(directory)
    state = RocksState(RocksConfig(directory=str(directory)))
    await state.open()
    try:
        pairs = {space: state.pairs(space, b"", b"\xff" * 64, 1 << 30) for space in SPACES}
        single = {space: [state.get(space, key) for key, _ in found] for space, found in pairs.items()}
        disk, last = Disk(), last_commit(state.get)
        archive, facts = make_stores(directory, JournalConfig(directory=str(directory)), disk)
        committer = Committer(directory, state, archive, facts, disk, last)
        try:
            committer.recover(Settings(Crash(""), 0, text=True, simhash=False))
        finally:
            committer.close()
    finally:
        await state.close()
    files = {name: (directory / name).read_bytes()[:length] for name, length in last.files.items()}
    inflated = {name: data if name.startswith("facts/") else len(data) for name, data in files.items()}
    present = sorted(path.name for folder in ("archive", "facts") for path in (directory / folder).iterdir())
    note = CrashNote(directory)
    note.close()
    return pairs, single, last, inflated, present, state.secret


_QUESTIONS: Final[dict[str, Callable[[Path], Any]]] = {
    "status": _status,
    "query": _rows,
    "get": _documents,
    "why": _stories,
    "resume": _resumed,
}


def table(trials: dict[str, Trial]) -> str:
    """Found and harmless changes, by kind of file."""
    lines = [f"{'crawl':<16} {'file':<28} {'found':>7} {'harmless':>9}"]
    for name, trial in trials.items():
        for kind in sorted({*trial.found, *trial.harmless}):
            counts = f"{trial.found[kind]:>7,} {trial.harmless[kind]:>9,}"
            lines += [f"{name:<16} {kind:<28} {counts}"]
    return "\n".join(lines)
