"""Answers of the control interface, errors included, as JSON."""

from typing import Any, Final

import msgspec
from starlette.responses import Response

JSON: Final = "application/json"


def answer(value: Any) -> Response:
    return Response(msgspec.json.encode(value), media_type=JSON)


def error_answer(code: int, text: str) -> Response:
    return Response(msgspec.json.encode({"error": text}), code, media_type=JSON)
