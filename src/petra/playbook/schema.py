"""The grammar as a JSON Schema, for editors (``petra schema``).

It describes what an author may write in canonical words. It cannot say everything: whether a step exists
or a template compiles is for ``petra check``.
"""

from __future__ import annotations

from typing import Any

import msgspec

from petra.kinds import KINDS, Knobs
from petra.playbook import model
from petra.playbook.grammar import Field, Shape, about, extra_of, fields_of
from petra.playbook.walk import SUGAR

DIALECT = "https://json-schema.org/draft/2020-12/schema"
_TYPES = {"text": "string", "int": "integer", "number": "number", "bool": "boolean", "null": "null"}


def json_schema() -> dict[str, Any]:
    """Return the JSON Schema of a playbook."""
    return _Schema().build()


def schema_of(struct: type[msgspec.Struct], title: str) -> dict[str, Any]:
    """Return the JSON Schema of another kind of file, beside the definitions of playbooks; `Playbook` is one."""
    schema = _Schema()
    playbook = schema.build()
    schema.definitions["Playbook"] = {
        key: value for key, value in playbook.items() if key not in ("$schema", "title", "$defs")
    }
    root = schema._struct(struct)  # noqa: SLF001 - its own class
    return {
        "$schema": DIALECT,
        "title": title,
        **root,
        "$defs": dict(sorted(schema.definitions.items())),
    }


class _Schema:
    def __init__(self) -> None:
        self.definitions: dict[str, Any] = {}

    def build(self) -> dict[str, Any]:
        root = self._struct(model.Playbook)
        tasks = {
            "oneOf": [
                {"$ref": "#/$defs/Task"},
                {"type": "array", "items": {"$ref": "#/$defs/TaskItem"}},
            ]
        }
        for name in ("Step", "Compensate"):
            tool = self.definitions[name]["properties"]["tool"]
            self.definitions[name]["properties"]["tool"] = tasks | {
                "description": tool["description"]
            }
        self.definitions["Task"] = self._task()
        # what has a kind is a task, and is judged as one alone: so an editor says what is wrong with it
        self.definitions["TaskItem"] = {
            "type": "object",
            "if": {"required": ["kind"]},
            "then": {"$ref": "#/$defs/Task"},
            "else": {"$ref": "#/$defs/Sugar"},
        }
        self.definitions["Sugar"] = self._sugar()
        self._short_forms(root)
        return {
            "$schema": DIALECT,
            "title": "Petra playbook",
            **root,
            "$defs": dict(sorted(self.definitions.items())),
        }

    def _short_forms(self, root: dict[str, Any]) -> None:
        """Allow what the reader takes beside the one shape of the model."""
        task = {"$ref": "#/$defs/Task"}
        root["properties"]["workbook"] = {
            "description": "Reusable tasks: a list with names, or a map by name.",
            "anyOf": [
                {"type": "array", "items": task},
                {"type": "object", "additionalProperties": task},
                {
                    "type": "object",
                    "properties": {"tasks": {"additionalProperties": task}},
                    "maxProperties": 1,
                },
            ],
        }
        cancels = self.definitions["StepSpec"]["properties"]["cancels"]
        short = {"type": "array", "items": {"type": "string"}}
        self.definitions["StepSpec"]["properties"]["cancels"] = {
            "description": "Steps or regions that it withdraws.",
            "anyOf": [short, cancels],
        }
        own = fields_of(model.Task)
        for word, what in (("set_ctx", "ctx"), ("set_iter", "iter")):
            self.definitions["Step"]["properties"][word] = {
                **self._field(own[word]),
                "description": f"Changes of {what}, made when the last task went well.",
            }
        loop = fields_of(model.LoopSpec)
        for word in ("mode", "max_in_flight"):
            self.definitions["LoopPolicy"]["properties"][word] = self._field(loop[word])

    def _struct(self, struct: type[msgspec.Struct]) -> dict[str, Any]:
        grammar = fields_of(struct)
        properties = {key: self._field(field) for key, field in grammar.items()}
        if extra_of(struct) == "knobs":
            properties |= {key: self._field(field) for key, field in fields_of(Knobs).items()}
        schema: dict[str, Any] = {
            "type": "object",
            "description": about(struct),
            "properties": properties,
        }
        required = [key for key, field in grammar.items() if field.required]
        if required:
            schema["required"] = required
        if extra_of(struct) in (None, "knobs"):
            schema["additionalProperties"] = False
        return schema

    def _task(self) -> dict[str, Any]:
        """A task's further keys depend on its kind."""
        common = self._struct(model.Task)
        common["required"] = ["kind"]
        common["properties"]["kind"] = {"description": "The tool.", "enum": [*KINDS, "workbook"]}
        common["allOf"] = [
            {
                "if": {"properties": {"kind": {"const": kind}}, "required": ["kind"]},
                "then": {
                    "properties": {
                        key: self._field(field) for key, field in fields_of(fields).items()
                    },
                    "required": [key for key, field in fields_of(fields).items() if field.required],
                    "description": about(fields),
                },
            }
            for kind, fields in KINDS.items()
        ]
        # a call of the workbook may override any key of the task it calls
        call = {
            "if": {"properties": {"kind": {"const": "workbook"}}},
            "then": {"additionalProperties": True},
        }
        common["allOf"].append(call)
        common["unevaluatedProperties"] = False
        return common

    def _sugar(self) -> dict[str, Any]:
        items = {"type": "array", "items": {"$ref": "#/$defs/TaskItem"}}
        guard = {"type": ["string", "boolean"]}
        branch = {
            "type": "object",
            "properties": {"when": guard, "do": items, "else": items},
            "oneOf": [{"required": ["when", "do"]}, {"required": ["else"]}],
            "additionalProperties": False,
        }
        block = {
            "type": "object",
            "additionalProperties": False,
            "properties": {"when": guard, "do": items, "max": {"type": "integer", "minimum": 1}},
            "required": ["when", "do"],
        }
        bodies: dict[str, Any] = dict.fromkeys(SUGAR, block)
        bodies["choose"] = {"type": "array", "items": branch, "minItems": 1}
        says = {
            "choose": "The first branch whose condition holds.",
            "while": "Again as long as the condition holds.",
            "until": "Again until the condition holds.",
        }
        named = {
            "name": {"type": "string", "description": "The label of the block."},
            "desc": {"type": "string", "description": "For people."},
        }
        blocks = {word: {**bodies[word], "description": says[word]} for word in SUGAR}
        return {
            "type": "object",
            "properties": named | blocks,
            "oneOf": [{"required": [word]} for word in SUGAR],
            "additionalProperties": False,
        }

    def _field(self, field: Field) -> dict[str, Any]:
        schema = self._shape(field.shape)
        if not field.required:
            default = field.default()
            if isinstance(default, str | int | float | bool):
                schema["default"] = default
        return schema

    def _shape(self, shape: Shape) -> dict[str, Any]:
        schema = self._bare(shape)
        note = shape.note
        if note.description:
            schema["description"] = note.description
        bounds = {
            "minimum": note.least,
            "maximum": note.most,
            "exclusiveMinimum": note.above,
            {"list": "minItems", "map": "minProperties"}.get(
                shape.kind, "minLength"
            ): note.shortest,
            {"list": "maxItems", "map": "maxProperties"}.get(shape.kind, "maxLength"): note.longest,
        }
        schema.update({key: value for key, value in bounds.items() if value is not None})
        return schema

    def _bare(self, shape: Shape) -> dict[str, Any]:
        match shape.kind:
            case "any":
                return {}
            case "choice":
                return {"enum": list(shape.choices)}
            case "list":
                assert shape.item is not None
                return {"type": "array", "items": self._shape(shape.item)}
            case "map":
                assert shape.item is not None
                return {"type": "object", "additionalProperties": self._shape(shape.item) or True}
            case "union":
                options = [option for option in shape.options if option.kind != "null"]
                if len(options) == 1:
                    return self._shape(options[0])
                return {"anyOf": [self._shape(option) for option in options]}
            case "struct":
                assert shape.struct is not None
                return self._reference(shape.struct)
            case _:
                return {"type": _TYPES[shape.kind]}

    def _reference(self, struct: type[msgspec.Struct]) -> dict[str, Any]:
        name = struct.__name__
        if name not in self.definitions:
            self.definitions[name] = {}
            self.definitions[name] = self._struct(struct)
        return {"$ref": f"#/$defs/{name}"}
