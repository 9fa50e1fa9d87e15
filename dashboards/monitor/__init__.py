"""The researcher's monitor: the seats of a run, the people of a study, what helps them, and the exports. Staff only.

`seen` and `people` read how seats and participants stand, `actions` does what helps, `pages` and `downloads` answer.
"""
