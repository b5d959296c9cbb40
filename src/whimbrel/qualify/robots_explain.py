"""Which rule of a robots.txt forbids a URL, for people."""

from whimbrel.qualify.robots import RobotsRules, length_of
from whimbrel.qualify.robots_lines import Records, read_records


def denying_rule(text: str, agent: str, url_text: str) -> str:
    """The rule by which a robots.txt forbids a URL, such as `Disallow: /private`; empty if the URL is allowed.

    Of several rules that match, the longest one decides (RFC 9309 §2.2.2).
    """
    if RobotsRules.parse(text, agent).allows(url_text):
        return ""
    patterns = [pattern for allow, pattern in read_records(text, agent).rules if not allow]
    matching = [pattern for pattern in patterns if not _alone(pattern).allows(url_text)]
    return f"Disallow: {max(matching, key=length_of)}" if matching else ""


def _alone(pattern: str) -> RobotsRules:
    return RobotsRules(Records(((False, pattern),), 0.0, (), readable=True))
