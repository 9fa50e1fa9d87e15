"""The seat of a program: a firm of kind `remote`, played over HTTP with the seat's token.

What it reads comes from `simulation.seats.door`, what it does goes through `simulation.seats.verbs`, as for a person.
docs/remote.md tells those who write programs.
"""
