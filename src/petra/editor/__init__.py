"""What an editor asks of a text: where am I, what may stand here, what is this, where is that step.

Rule 1: pure; the shell that talks to editors is ``petra lsp``.
Rule 2: the text is being typed. Whatever state it is in, there is an answer, perhaps an empty one.
Rule 3: what is known about keys comes from the grammar, as everywhere; nothing is listed twice.
"""
