"""Draw a wiring: as text for a terminal, as Mermaid for documents."""

from whimbrel.flow.wiring import ConnectorSpec, Wiring, used_name


def as_text(wiring: Wiring) -> str:
    """One line per component, its connectors below it, then the providers."""
    lines = [f"wiring {wiring.name}", ""]
    for spec in wiring.components:
        traits = [used_name(spec.use)] if used_name(spec.use) != spec.name else []
        traits += [f"× {spec.instances}"] if spec.instances > 1 else []
        traits += ["on a thread"] if spec.place == "thread" else []
        traits += [f"{need}: {provider}" for need, provider in spec.needs.items()]
        lines.append(spec.name + (f"  ({'; '.join(traits)})" if traits else ""))
        lines += [f"  {_arrow(c)} {c.target}" for c in wiring.connectors if c.source.startswith(f"{spec.name}.")]
    if wiring.providers:
        lines += ["", "providers"]
    for provider in wiring.providers:
        needs = ", ".join(f"{need}: {name}" for need, name in provider.needs.items())
        lines.append(f"  {provider.name} = {used_name(provider.use)}" + (f"  ({needs})" if needs else ""))
    return "\n".join(lines) + "\n"


def _arrow(connector: ConnectorSpec) -> str:
    port = connector.source.partition(".")[2]
    return f".{port} ──direct──▶" if connector.kind == "direct" else f".{port} ──queue {connector.capacity}──▶"


def as_mermaid(wiring: Wiring) -> str:
    """Components are boxes, providers are drums, needs are dotted lines."""
    lines = ["flowchart LR"]
    for spec in wiring.components:
        count = f" × {spec.instances}" if spec.instances > 1 else ""
        lines.append(f'  c_{_id(spec.name)}["{_quoted(spec.name)}{count}"]')
    lines += [f'  p_{_id(spec.name)}[("{_quoted(spec.name)}")]' for spec in wiring.providers]
    for connector in wiring.connectors:
        source, target = (end.partition(".")[0] for end in (connector.source, connector.target))
        label = "direct" if connector.kind == "direct" else f"queue {connector.capacity}"
        lines.append(f"  c_{_id(source)} -->|{label}| c_{_id(target)}")
    for spec in wiring.components:
        lines += [f"  c_{_id(spec.name)} -.-> p_{_id(name)}" for name in dict.fromkeys(spec.needs.values())]
    for provider in wiring.providers:
        lines += [f"  p_{_id(provider.name)} -.-> p_{_id(name)}" for name in dict.fromkeys(provider.needs.values())]
    return "\n".join(lines) + "\n"


def _id(name: str) -> str:
    return "".join(c if c.isascii() and c.isalnum() else f"_{ord(c):x}_" for c in name)


def _quoted(name: str) -> str:
    return name.replace("&", "&amp;").replace('"', "&quot;").replace("<", "&lt;")
