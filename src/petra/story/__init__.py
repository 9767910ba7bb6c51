"""The story of an execution: its log as pages show it, record by record, in a small space.

A story is folded from a log once and goes on with it: columns of what every record did to the marking, the step runs,
the iterations of loops, who wrote which key of ctx. It evaluates nothing and knows no rule of the kernel: what it counts
stands in the records. Pure: records in, rows out.
"""

from __future__ import annotations

from petra.story.fold import Story
from petra.story.frames import FRAMES_MAX, Frames, frames_of
from petra.story.runs import RunHistory

__all__ = [
    "FRAMES_MAX",
    "Frames",
    "RunHistory",
    "Story",
    "frames_of",
]
