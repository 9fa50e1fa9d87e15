"""The pure engine: rules told as stories, recorded runs, and play at random."""
