"""The game itself, pure and deterministic: scenario, clock, demand, tools, observations, and the world that joins them.

A run is its scenario, its seed and its decisions; everything else follows. Nothing here knows Django, the wall's clock,
or who decides for a firm.
"""
