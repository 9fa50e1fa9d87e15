"""Studies: persons who play for a baseline, from consent to completion code.

`verbs` is all that changes a study, `links` opens a participant's way through it, `quiz` makes questions of a scenario,
`queries` gives its results. Participants are known by labels alone; no address and no browser of theirs is kept.
"""
