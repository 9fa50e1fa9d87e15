"""An experiment: one setting, played once for each of some seeds."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any

from django.db import transaction
from pydantic import Field

from marketplace.economy.economy import firm_names
from marketplace.economy.rules import Rules
from simulation import control
from simulation.engine.scenario import Scenario, ScenarioError, scenario_from
from simulation.experiments.document import MOST_CHARACTERS, Document, ExperimentError
from simulation.experiments.economy import evaluated_of, scenario_of
from simulation.experiments.seats import DEFAULT, seats_of
from simulation.models import Run
from simulation.players.briefing import Objective, without_controls
from simulation.players.llm.settings import Limits, ModelSettings
from simulation.players.registry import MODEL
from simulation.status import SLOWEST_PACE_SECONDS

LONGEST_NAME = 55  # what a run's name has room for before ", seed -9007199254740991"
LONGEST_DESCRIPTION = 2_000
MOST_SEEDS = 100
MOST_BYTES = MOST_CHARACTERS * 4
SECTIONS = ("experiment", "run", "models", "economy", "kpi", "model_settings", "limits", "scenario")


class Experiment(Rules):
    """What the runs of an experiment share, and their seeds. `players` has the scripts, `models` the models."""

    name: Annotated[str, Field(min_length=1, max_length=LONGEST_NAME)]
    description: str = ""
    seeds: tuple[int, ...] = (0,)
    scenario: Scenario = Scenario()
    players: dict[str, str]
    models: dict[str, ModelSettings]
    limits: Limits = Limits()
    pace_seconds: float = 0
    kpi: dict[str, Objective]

    def with_seeds(self, seeds: Iterable[int]) -> Experiment:
        """The same for other seeds. Raises ExperimentError if these cannot be."""
        seeds = list(seeds)
        problem = problem_of_seeds(seeds)
        if problem:
            raise ExperimentError([f"seeds: {problem}"])
        return self.model_copy(update={"seeds": tuple(seeds)})


def load_experiment(source: Path | str, *, name: str = "") -> Experiment:
    """The experiment of a file, given by its path, or of a text. `name` is for one that does not name itself.

    Raises ExperimentError, whose problems name each fault with its line.
    """
    if isinstance(source, Path):
        return load_experiment(_text_of(source), name=name or source.stem)
    document = Document(source)
    for section in document.values.keys() - set(SECTIONS):
        document.unknown((section,), "section", SECTIONS)
    document.section("run", ("seeds", "max_days", "main_agent", "pace_seconds"))
    scenario = scenario_of(document)
    firms = _firms(document, scenario)
    evaluated = evaluated_of(document, firms) if firms is not None else ""
    seats = seats_of(document, firms)
    limits = _limits(document)
    _refuse_budgets_without_prices(document, seats.models, limits)
    name, description = _heading(document, name)
    seeds, pace_seconds = _seeds(document), _pace(document)
    document.check()
    assert scenario is not None, "a scenario that cannot be was complained of"
    return Experiment(
        name=name,
        description=description,
        seeds=seeds,
        pace_seconds=pace_seconds,
        scenario=scenario.model_copy(update={"evaluated": evaluated}),
        players=seats.players,
        models=seats.models,
        limits=limits,
        kpi=seats.objectives,
    )


def _text_of(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return text_of(file.read(MOST_BYTES + 1))
    except OSError as error:
        raise ExperimentError([str(error.strerror)]) from None


def text_of(content: bytes) -> str:
    """A file's bytes as text. Raises ExperimentError if they are none, or too many."""
    if len(content) > MOST_BYTES:
        raise ExperimentError([f"an experiment has at most {MOST_CHARACTERS:,} characters"])
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ExperimentError(["this is no text in UTF-8"]) from None


def _firms(document: Document, scenario: Scenario | None) -> dict[str, str] | None:
    """The firms and their roles. Without a scenario, those that the text seats; None if that cannot be known either."""
    if scenario is None:
        roles = document.section("scenario").get("roles", {})
        tables = roles.items() if isinstance(roles, dict) else ()
        counts = {
            role: {"firms": table["firms"]} for role, table in tables if isinstance(table, dict) and "firms" in table
        }
        try:
            scenario = scenario_from({"roles": counts, "evaluated": ""})
        except ScenarioError:
            return None
    return dict(firm_names(scenario))


def _heading(document: Document, usual_name: str) -> tuple[str, str]:
    heading = document.section("experiment", ("name", "description"))
    name = heading.get("name", "") or usual_name[:LONGEST_NAME]
    if not isinstance(name, str) or not 1 <= len(name) <= LONGEST_NAME or not name.isprintable():
        document.complain(("experiment", "name"), f"must be a name of 1 to {LONGEST_NAME} characters on one line")
    description = heading.get("description", "")
    if not isinstance(description, str) or len(description) > LONGEST_DESCRIPTION:
        document.complain(("experiment", "description"), f"must be a text of at most {LONGEST_DESCRIPTION} characters")
    return name, without_controls(description)


def _seeds(document: Document) -> tuple[int, ...]:
    seeds = document.section("run").get("seeds", [0])
    problem = problem_of_seeds(seeds)
    if problem:
        document.complain(("run", "seeds"), problem)
        return ()
    return tuple(seeds)


def problem_of_seeds(seeds: Any) -> str:
    """What is wrong with a list of seeds; empty if nothing is."""
    if not isinstance(seeds, list) or not 1 <= len(seeds) <= MOST_SEEDS:
        return f"must be a list of 1 to {MOST_SEEDS} seeds, as [0, 1, 2]"
    if not all(type(seed) is int and seed in control.SEEDS for seed in seeds):
        return "must be whole numbers in the range from −2⁵³ to 2⁵³; one is out of range or none"
    if len(set(seeds)) < len(seeds):
        return "must differ: the same seed twice gives the same run twice"
    return ""


def _pace(document: Document) -> float:
    pace = document.section("run").get("pace_seconds", 0)
    if type(pace) not in (int, float) or not 0 <= pace <= SLOWEST_PACE_SECONDS:
        document.complain(("run", "pace_seconds"), f"must be 0 to {SLOWEST_PACE_SECONDS} seconds a day")
        return 0
    return float(pace)


def _limits(document: Document) -> Limits:
    values = document.section("limits", Limits.model_fields)
    return Limits.model_validate(values) if document.fits(("limits",), Limits, values) else Limits()


def _refuse_budgets_without_prices(document: Document, models: dict[str, ModelSettings], limits: Limits) -> None:
    for firm, settings in models.items():
        try:
            control.check_models({firm: MODEL}, {firm: settings}, limits)
        except control.NotPossible as error:
            level = firm if document.says("models", firm) else DEFAULT
            document.complain(("models", level), str(error))


def create_run_of(experiment: Experiment, seed: int) -> Run:
    """Makes the run of one seed, not started yet. Raises PlayersError or NotPossible."""
    return control.create_run(
        name=f"{experiment.name}, seed {seed}",
        scenario=experiment.scenario,
        seed=seed,
        players=experiment.players,
        models=experiment.models,
        limits=experiment.limits,
        pace_seconds=experiment.pace_seconds,
    )


def start_experiment(experiment: Experiment) -> list[Run]:
    """Makes and starts a run for each seed, for the site's workers to play: all of them, or none.

    Raises PlayersError or NotPossible.
    """
    with transaction.atomic():
        runs = [create_run_of(experiment, seed) for seed in experiment.seeds]
        return [control.start_run(run.pk) for run in runs]
