"""What a field may change, declared where the field is.

Invariant: a field that declares nothing is scientific, so a forgotten declaration costs a directory and never a
wrong figure.
"""

from __future__ import annotations

from dataclasses import field, fields, is_dataclass
from typing import Any, TypeVar

T = TypeVar("T")


def operational(default: T) -> T:
    """Declare a field that changes no record and no figure."""
    return field(default=default, metadata={"role": "operational"})


def analysis(default: T) -> T:
    """Declare a field that changes figures and no record."""
    return field(default=default, metadata={"role": "analysis"})


def scientific(settings: Any) -> dict[str, Any]:
    """The scientific part of a settings dataclass, as plain JSON values."""
    out: dict[str, Any] = {}
    for f in fields(settings):
        if f.metadata.get("role", "scientific") != "scientific":
            continue
        value = getattr(settings, f.name)
        out[f.name] = scientific(value) if is_dataclass(value) else value
    return out


def analysis_of(settings: Any) -> dict[str, Any]:
    """The analysis fields of a settings dataclass, by name."""
    return {f.name: getattr(settings, f.name) for f in fields(settings) if f.metadata.get("role") == "analysis"}


def analysis_defaults(kind: type) -> dict[str, Any]:
    """The analysis fields of a settings dataclass with their defaults."""
    return {f.name: f.default for f in fields(kind) if f.metadata.get("role") == "analysis"}
