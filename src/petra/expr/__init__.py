"""Expressions: ``{{ }}`` compiled once, evaluated with limits; which names each place of use has."""

from __future__ import annotations

from petra.expr.names import (
    Path,
    PathUse,
    expression_paths,
    paths,
    rewrite,
    rewrite_expression,
    wrap_bare,
)
from petra.expr.template import Operand, Profile, Scope, Template, compile_template

__all__ = [
    "Operand",
    "Path",
    "PathUse",
    "Profile",
    "Scope",
    "Template",
    "compile_template",
    "expression_paths",
    "paths",
    "rewrite",
    "rewrite_expression",
    "wrap_bare",
]
