"""Experiments as files: read from TOML with every fault named by its line, and started for all their seeds.

In come a file's path or its text; out come runs. The published files are read as they are (`economy.ECONOMY` and
`seats.PUBLISHED_MODELS` say what their names mean here); our own sections beside them are optional.
"""

from simulation.experiments.document import MOST_CHARACTERS, ExperimentError
from simulation.experiments.experiment import (
    MOST_BYTES,
    Experiment,
    create_run_of,
    load_experiment,
    start_experiment,
    text_of,
)
from simulation.experiments.summary import summary_of

__all__ = [
    "MOST_BYTES",
    "MOST_CHARACTERS",
    "Experiment",
    "ExperimentError",
    "create_run_of",
    "load_experiment",
    "start_experiment",
    "summary_of",
    "text_of",
]
