"""Language models as players: what they are asked, how their answers are read, what they cost.

`settings` says how a model plays, `conversation` what it is sent, `answer` what it decided, `provider` speaks to it and
is the only module that imports litellm. Nothing here touches the database; `simulation.asking` does.
"""
