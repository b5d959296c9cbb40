"""The HTTP interface described (OpenAPI 3.1), from the types of its actions and answers."""

import inspect
from typing import Any, Final

import msgspec

from whimbrel.control.api import ACTIONS, Done
from whimbrel.control.configuration import Configuration
from whimbrel.control.history import Sample
from whimbrel.control.status import HostView, Status, WiringView
from whimbrel.version import __version__

_REF: Final = "#/components/schemas/{name}"


HOST_ORDERS: Final = ("queued", "fetched", "failed", "host")


class Error(msgspec.Struct, frozen=True):
    """Why a request was not carried out."""

    error: str


_VIEWS: Final = {
    "/v1/status": (Status, "The crawl at this moment."),
    "/v1/wiring": (WiringView, "The live wiring, with counts."),
    "/v1/config": (Configuration, "The effective configuration."),
}
_ERRORS: Final = {
    "401": "The token is missing or wrong.",
    "403": "Not from another origin, and by no other name.",
}
_ACTION_ERRORS: Final = {
    "409": "The action makes no sense for this crawl now; nothing has changed.",
    "413": "The request is too long.",
    "415": "The request is not JSON.",
    "422": "The request is not such an action.",
    "500": "The action failed on its way.",
}


def description() -> dict[str, Any]:
    kinds = [*ACTIONS.values(), Done, Error, Sample, HostView, *(kind for kind, _ in _VIEWS.values())]
    _, schemas = msgspec.json.schema_components(kinds, ref_template=_REF)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Whimbrel control",
            "version": __version__,
            "description": "Watch and steer a running crawl. The token stands in control.json in its directory.",
        },
        "security": [{"token": []}],
        "paths": {**_reads(), **{f"/v1/actions/{name}": _post(name, kind) for name, kind in ACTIONS.items()}},
        "components": {"schemas": schemas, "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}}},
    }


def _reads() -> dict[str, Any]:
    found: dict[str, Any] = {path: _get(text, _json(kind.__name__)) for path, (kind, text) in _VIEWS.items()}
    found["/v1/history"] = _list("Numbers over time, from the oldest to the newest.", "Sample")
    found["/v1/hosts"] = _list(
        "Hosts in memory, as they are now.",
        "HostView",
        search=("Only those with this in their name.", {"type": "string"}),
        order=("By what; the most first.", {"type": "string", "enum": list(HOST_ORDERS), "default": "queued"}),
    )
    found["/metrics"] = _get("All metrics, for Prometheus.", {"text/plain": {"schema": {"type": "string"}}})
    return found


def _list(text: str, kind: str, **more: tuple[str, dict[str, Any]]) -> dict[str, Any]:
    items = {"schema": {"type": "array", "items": {"$ref": _REF.format(name=kind)}}}
    found = _get(text, {"application/json": items})
    number = {"type": "integer", "minimum": 1, "maximum": 10_000, "default": 1_000}
    found["get"]["parameters"] = [
        {"name": name, "in": "query", "description": said, "schema": schema}
        for name, (said, schema) in {"most": ("At most so many.", number), **more}.items()
    ]
    found["get"]["responses"]["422"] = _problem("A parameter is not such a value.")
    return found


def _get(text: str, content: dict[str, Any]) -> dict[str, Any]:
    errors = {code: _problem(what) for code, what in _ERRORS.items()}
    return {"get": {"summary": text, "responses": {"200": {"description": text, "content": content}, **errors}}}


def _post(name: str, kind: type[Any]) -> dict[str, Any]:
    text = " ".join(inspect.cleandoc(kind.__doc__ or "").split())
    errors = {code: _problem(what) for code, what in {**_ERRORS, **_ACTION_ERRORS}.items()}
    return {
        "post": {
            "operationId": name,
            "summary": text.partition(". ")[0].rstrip("."),
            "description": text,
            "requestBody": {"required": True, "content": _json(kind.__name__)},
            "responses": {"200": {"description": "Carried out.", "content": _json("Done")}, **errors},
        }
    }


def _json(name: str) -> dict[str, Any]:
    return {"application/json": {"schema": {"$ref": _REF.format(name=name)}}}


def _problem(text: str) -> dict[str, Any]:
    return {"description": text, "content": _json("Error")}
