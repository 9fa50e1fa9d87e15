"""The player's console: the pages and the socket on which a person plays a firm.

All that they show comes from `simulation.seats.door`, all that they do goes through `simulation.seats.verbs`.
"""
