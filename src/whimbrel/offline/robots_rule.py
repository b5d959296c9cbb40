"""The rule of robots.txt that denies a URL, from the robots.txt that the state of a crawl keeps."""

from pathlib import Path

from whimbrel.error import WhimbrelError
from whimbrel.qualify.robots_explain import denying_rule
from whimbrel.state.api import SLOT_BYTES, StateDamaged
from whimbrel.state.lock import check_unlocked
from whimbrel.state.secret import NAME as SECRET
from whimbrel.url import Url
from whimbrel.url.key import Keys


def robots_rule(directory: Path, url: Url, slot: int, agent: str) -> str:
    """In a sentence. The tables have no robots.txt, and the state of a running crawl is that crawl's alone: what cannot
    be told is said so."""
    try:
        text = _kept_robots(directory, url, slot)
    except WhimbrelError as error:
        return f"Which rule of robots.txt denies it is not known now: {error}."
    rule = denying_rule(text, agent, url.text)
    if rule:
        return f"{url.site}/robots.txt denies it to {agent!r} by the rule `{rule}`."
    return f"{url.site}/robots.txt has changed since: the one that is kept now would allow it."


def _kept_robots(directory: Path, url: Url, slot: int) -> str:
    """The robots.txt that a host had last; empty when it had no rules for us."""
    from rocksdict import AccessType, Options, Rdict

    folder = directory / "state"
    check_unlocked(directory, folder)
    try:
        secret = bytes.fromhex((directory / SECRET).read_text("ascii"))
        key = slot.to_bytes(SLOT_BYTES, "big") + Keys(secret).host(url.site)
        spaces = {name: Options(raw_mode=True) for name in Rdict.list_cf(str(folder))}
        access = AccessType.read_only(False)  # noqa: FBT003
        database = Rdict(str(folder), Options(raw_mode=True), column_families=spaces, access_type=access)
        try:
            found: bytes | None = database.get_column_family("robots").get(key)
        finally:
            database.close()
    except Exception as error:  # rocksdict has no kinds of errors
        raise StateDamaged(f"{folder} cannot be read ({error})") from error
    return "" if found is None else found.decode("utf-8", "surrogateescape")
