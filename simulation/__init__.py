"""Time, chance, players and runs."""
