"""The catalogue as a list: what `whimbrel simweb faults` prints."""

import msgspec

from whimbrel.simweb.exhibit import PAGE_EXHIBITS, TROUBLES, robots
from whimbrel.simweb.exhibit.api import ExhibitPlace
from whimbrel.simweb.spec import WebSpec
from whimbrel.simweb.web import Web


class CatalogueEntry(msgspec.Struct, frozen=True):
    """`where` is a path on every host, or the name of a host of its own."""

    name: str
    family: str
    where: str
    summary: str
    verdict: str


def entries() -> list[CatalogueEntry]:
    web = Web(WebSpec())
    host = web.hosts.get(0)
    found = []
    for exhibit in PAGE_EXHIBITS.values():
        finding = exhibit.judge(ExhibitPlace(web.hosts, host, exhibit.name, "1"))
        more = f", {len(finding.links)} links" if finding.links else ""
        verdict = f"{finding.outcome} ({finding.reason}{more})"
        found.append(CatalogueEntry(exhibit.name, exhibit.family, f"/x/{exhibit.name}/1", exhibit.summary, verdict))
    for variant in robots.VARIANTS.values():
        verdict = "qualified" if variant.qualified else "denied (robots-unreachable)"
        if variant.crawl_delay_s:
            verdict += f", Crawl-delay {variant.crawl_delay_s:g} s"
        where = f"robots-{variant.name}.exhibit.{web.spec.suffix}"
        found.append(CatalogueEntry(variant.name, robots.FAMILY, where, variant.summary, verdict))
    for trouble in TROUBLES.values():
        verdict = f"{trouble.outcome} ({trouble.reason})" if trouble.outcome else "crawled"
        where = f"{trouble.name}.exhibit.{web.spec.suffix}"
        found.append(CatalogueEntry(trouble.name, trouble.family, where, trouble.summary, verdict))
    return found
