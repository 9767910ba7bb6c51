"""What the API answers, as shapes: its description, and the types of every program that reads it, are made from these.

Handlers build most answers as plain data; the tests hold each against its shape here.
"""
