"""Pages that nobody here made: the manuals of Debian's documentation packages, byte for byte, one host for each book.

A book is served as its packager left it, pages only: what some crawlers fetch and others do not, pictures and style
sheets, is left out. Its links are its own. So that every crawler finds every page, the seed of a host is a list of all
its pages; that list is the only page we write.
"""

from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import Final
from urllib.parse import quote

from whimbrel.bench.peers.api import Book, CorpusSpec, PeersError

DOCUMENTATION: Final = Path("/usr/share")
LIST: Final = "/all-pages.html"
FEWEST_PAGES: Final = 5_000
FEWEST_GENERATORS: Final = 5
_BOOKS: Final = (
    ("sphinx", "python", "doc/python3.*/html"),
    *(
        ("sphinx", name, f"doc/python-{name}-doc/html")
        for name in (
            *("aiohttp", "attr", "babel", "click", "flask", "jinja2", "pygments", "requests", "sqlalchemy"),
            *("tornado", "werkzeug"),
        )
    ),
    ("docbook", "postgresql", "doc/postgresql-doc-*/html"),
    ("hand-written", "sqlite", "doc/sqlite3"),
    ("hand-written", "libxml2", "doc/libxml2/html"),
    ("asciidoc", "git", "doc/git-doc"),
    ("javadoc", "htsjdk", "doc/libhtsjdk-java/api"),
    ("javadoc", "imagej", "doc/libij-java/api"),
    ("javadoc", "jcommon", "doc/libjcommon-java/javadoc"),
    ("doxygen", "eigen", "doc/libeigen3-dev/html"),
    ("doxygen", "sfml", "doc/libsfml-dev/html"),
    ("doxygen", "cli11", "doc/libcli11-dev/html"),
    ("doxygen", "assimp", "doc/libassimp-doc/apiref"),
    ("doxygen", "pqxx", "doc/libpqxx-doc/html"),
    ("texinfo", "fftw", "doc/libfftw3-dev/html"),
    *(
        ("gtk-doc", name, f"gtk-doc/html/{name}")
        for name in ("atk", "cairo", "gdk3", "gio", "glib", "gobject", "gtk3", "libsoup-2.4", "poppler")
    ),
    ("gi-docgen", "pango", "doc/libpango1.0-doc/reference/Pango"),
    ("gi-docgen", "gdk-pixbuf", "doc/libgdk-pixbuf2.0-doc/html/gdk-pixbuf"),
    ("gi-docgen", "json-glib", "doc/json-glib-1.0"),
)
"""Generator, host, folder. A folder may have a version in its name."""


def books(root: Path = DOCUMENTATION) -> tuple[Book, ...]:
    """Those that this machine has."""
    found = []
    for generator, host, pattern in _BOOKS:
        folder = next((path for path in sorted(root.glob(pattern)) if path.is_dir()), None)
        pages = 0 if folder is None else sum(1 for _ in _files(folder))
        if folder is not None and pages:
            # A list of all pages is a page, too.
            found.append(Book(host.replace(".", "-") + ".docs.test", generator, str(folder), pages + 1))
    return tuple(found)


def documents(root: Path = DOCUMENTATION) -> CorpusSpec:
    """Raises PeersError when this machine has too few of them."""
    found = books(root)
    pages, generators = sum(book.pages for book in found), len({book.generator for book in found})
    if pages < FEWEST_PAGES or generators < FEWEST_GENERATORS:
        raise PeersError(
            f"the corpus documents needs {FEWEST_PAGES:,} pages by {FEWEST_GENERATORS} generators, and this machine "
            f"has {pages:,} by {generators}: `make bench-tools` installs the documentation packages"
        )
    return CorpusSpec(
        name="documents",
        hosts=len(found),
        pages=0,
        page_bytes=0,
        has_tail=True,
        links=0,
        neighbours=1,
        scheme="http",
        is_gzipped=False,
        books=found,
    )


def book_files(book: Book) -> Iterator[tuple[str, bytes]]:
    """Request target and bytes of each page, the list of all first."""
    folder = Path(book.folder)
    names = [path.relative_to(folder).as_posix() for path in _files(folder)]
    links = "".join(f'<li><a href="{quote(name)}">{escape(name)}</a></li>\n' for name in names)
    title = f"All pages of {book.host}"
    yield LIST, f"<!DOCTYPE html>\n<title>{title}</title>\n<h1>{title}</h1>\n<ul>\n{links}</ul>\n".encode()
    for name in names:
        yield f"/{name}", (folder / name).read_bytes()


def _files(folder: Path) -> list[Path]:
    """Packages link to each other's folders; what leads out of this one is not of this book."""
    inside = folder.resolve()
    return [
        path
        for path in sorted(folder.rglob("*.html"))
        if path.is_file() and path.stat().st_size and path.resolve().is_relative_to(inside)
    ]
