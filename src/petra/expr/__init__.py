"""Expressions: ``{{ }}`` compiled once, evaluated with limits; which names each place of use has."""

from __future__ import annotations

from petra.expr.evaluate import FUNCTIONS, HELPERS
from petra.expr.list_filters import FILTERS
from petra.expr.methods import METHODS
from petra.expr.names import (
    Path,
    PathUse,
    paths,
    rewrite,
    wrap_bare,
)
from petra.expr.predicates import PREDICATES
from petra.expr.scopes import SCOPES, Use
from petra.expr.template import Profile, Scope, Template, compile_template
from petra.expr.value import ValueTemplate, compile_value

__all__ = [
    "FILTERS",
    "FUNCTIONS",
    "HELPERS",
    "METHODS",
    "PREDICATES",
    "SCOPES",
    "Path",
    "PathUse",
    "Profile",
    "Scope",
    "Template",
    "Use",
    "ValueTemplate",
    "compile_template",
    "compile_value",
    "paths",
    "rewrite",
    "wrap_bare",
]
