"""Studies: the researcher's pages of them, and the pages that lead a participant through one.

`views` and `room` are a participant's, by the key in the address alone; `pages`, `people` and `forms` the researcher's.
"""
