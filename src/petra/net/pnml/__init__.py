"""PNML, the interchange format of Petri nets (ISO 15909-2), for place/transition nets.

Pages within pages, references between pages, weights, a net inside a ``<module>``, final markings as
``<finalmarkings>``, with and without a namespace.

Beyond the standard an arc may carry ``<arctype>`` with ``read`` or ``reset``, as other tools write
it. What PNML has no word for (a priority, a name that is no usable id) is kept in a
``<toolspecific tool="petra">``.
"""

from petra.net.pnml.read import read_pnml
from petra.net.pnml.write import write_pnml

__all__ = ["read_pnml", "write_pnml"]
