"""The codes of problems: one stable code for one kind of mistake.

Each has a page under docs/reference/errors with its cause and its fix. A code is never reused for
another meaning. P0: the text; P1: the document; P2: mostly warnings; P3: the net;
P4: what stands around the file; P5: schedules.
"""

from __future__ import annotations

from types import MappingProxyType

CODES = MappingProxyType(
    {
        "P001": "The file cannot be read",
        "P002": "The file is not text",
        "P003": "The file is larger than a playbook may be",
        "P004": "The text is not YAML",
        "P005": "A key is written twice",
        "P006": "A tag is not allowed",
        "P007": "A template needs quotes",
        "P008": "The document is not a playbook",
        "P009": "An alias cannot be followed",
        "P010": "A key is not plain text",
        "P011": "A number is not one that JSON can hold",
        "P101": "An unknown key",
        "P102": "A required key is missing",
        "P103": "A value has the wrong type",
        "P104": "An unknown step",
        "P105": "A name is used twice",
        "P106": "A value is not one of those allowed",
        "P107": "The header is not one Petra reads",
        "P108": "A jump leads to an unknown task",
        "P109": "A jump leads into another step",
        "P110": "A task policy tries to start a step",
        "P111": "A rule has 'then' beside 'else'",
        "P112": "A task is written under its name",
        "P113": "A placeholder that is not supported",
        "P114": "A step has nothing to do",
        "P115": "An unknown tool kind",
        "P116": "An unknown workbook task",
        "P117": "A reserved name is written to",
        "P118": "A secret would reach the server",
        "P119": "A template that cannot be compiled",
        "P120": "An undeclared resource",
        "P121": "A server task must be alone in its step",
        "P122": "Fields that exclude each other",
        "P123": "No single join closes a group that may be empty",
        "P124": "An unknown region",
        "P125": "Constant text holds a template",
        "P126": "A JSON Schema that is not one",
        "P127": "Python code that cannot be compiled",
        "P128": "A key that cannot be there",
        "P129": "A secret written as plain text",
        "P130": "A file that cannot be taken along",
        "P201": "A step that nothing reaches",
        "P202": "Guards that may all be false",
        "P203": "A task policy that lets errors pass",
        "P204": "Parallel writes to one ctx key",
        "P205": "A name that nothing provides",
        "P206": "A step hidden by a built-in name",
        "P207": "An older way of writing",
        "P208": "Something Petra ignores",
        "P209": "An undeclared credential",
        "P210": "Workload is data, not a template",
        "P211": "A rule or an arc that is never tried",
        "P212": "A compensation that never happens",
        "P213": "A final step that arcs reach too",
        "P214": "A condition that waits for the clock",
        "P215": "A key without effect",
        "P301": "A join that cannot complete",
        "P302": "Tokens that can pile up without end",
        "P303": "A way that never ends",
        "P304": "A step that no run can reach",
        "P401": "A playbook that cannot be found",
        "P501": "A time that is none",
        "P502": "A name that no address can hold",
    }
)
