"""The live wiring as a drawing: where items pile up is the bottleneck."""

from nicegui import ui

from whimbrel.dashboard.drawing import wiring_svg
from whimbrel.dashboard.panel.api import table
from whimbrel.dashboard.source import Moment


class WiringPanel:
    def __init__(self) -> None:
        ui.label(
            "Items per second in each component; items in each connector and its capacity. Thick lines are function "
            "calls. Green has room, amber is half full, red is full: what stands behind a red connector is too slow."
        ).classes("text-sm opacity-70")
        with ui.element("div").classes("w-full overflow-x-auto"):
            # Made here, and every name in it is escaped.
            self._drawing = ui.html("", sanitize=False).classes("w-full").props("data-test=wiring")
        with ui.row().classes("w-full gap-3 items-start"):
            self._connectors = table(
                {"connector": "connector", "queued": "items", "capacity": "capacity", "passed": "passed"},
                [],
                "connector",
            ).props("data-test=connectors")
            self._providers = table({"name": "provider", "use": "what it is", "needs": "needs"}, [], "name")
            self._providers.props("data-test=providers")

    def refresh(self, now: Moment, before: Moment | None) -> None:
        passed_s = 0.0
        if before is not None and before.live:
            passed_s = now.status.progress.elapsed_s - before.status.progress.elapsed_s
        self._drawing.set_content(wiring_svg(now.wiring, None if before is None else before.wiring, passed_s))
        self._connectors.rows = [
            {
                "connector": f"{one.source} → {one.target}",
                "queued": one.queued if one.kind == "queue" else "call",
                "capacity": one.capacity or "",
                "passed": one.passed or "",
            }
            for one in now.wiring.connectors
        ]
        providers = [
            {"name": part.name, "use": part.use, "needs": ", ".join(part.needs.values())}
            for part in now.wiring.parts
            if part.kind == "provider"
        ]
        if providers != self._providers.rows:
            self._providers.rows = providers
