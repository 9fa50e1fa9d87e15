"""The plan of a study: all that its researcher decides, as validated data, before there is a row of it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Annotated, Any, Final, Self
from urllib.parse import quote

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from marketplace.economy.rules import Rules
from simulation.control import NotPossible, check_models
from simulation.engine.scenario import Scenario
from simulation.experiments.experiment import problem_of_seeds
from simulation.models import Run, Seat
from simulation.players.briefing import roles_by_firm, without_controls
from simulation.players.llm.settings import Limits, ModelSettings
from simulation.players.registry import HUMAN, MODEL, SEATED, PlayersError, check_players
from simulation.status import SLOWEST_PACE_SECONDS
from simulation.studies.models import QUESTIONS_ASKED, Study
from simulation.studies.questionnaire import MOST_QUESTIONS, Question

LONGEST_NAME: Final = 55  # what a run's name has room for before its table's number
MOST_PRACTICE_DAYS: Final = 30
MOST_WORDS: Final = 20_000
PLACEHOLDERS: Final = ("code", "label")
HTTPS: Final = re.compile(r"https://[^\s/@?#:<>\"']+(:[0-9]{1,5})?([/?#][^\s<>\"']*)?")


def one_line(text: Any) -> str:
    """A text without controls, on one line."""
    return " ".join(str(without_controls(text)).split())


def with_known_placeholders(template: str) -> str:
    """Refuses a template that names anything but {code} and {label}: it would stand there unfilled."""
    strange = [name for name in re.findall(r"\{([^{}]*)\}", template) if name not in PLACEHOLDERS]
    if strange:
        raise ValueError(f"{{{strange[0]}}} stands for nothing; {{code}} and {{label}} do")
    return template


def https_address(address: str) -> str:
    """Where participants are sent on to; nothing but https, and no login in it."""
    if address and not HTTPS.fullmatch(address):
        raise ValueError("must be an address that begins with https://, without login or spaces")
    return with_known_placeholders(address)


Words = Annotated[str, BeforeValidator(without_controls), Field(max_length=MOST_WORDS)]
Line = Annotated[str, BeforeValidator(one_line)]


class Plan(Rules):
    """What a study is to be. The fields are those of the table of the same name."""

    name: Annotated[Line, Field(min_length=1, max_length=LONGEST_NAME)]
    scenario: Scenario = Scenario()
    persons: Annotated[tuple[str, ...], Field(min_length=1)]
    players: dict[str, str] = Field(default_factory=dict)
    model_settings: dict[str, ModelSettings] = Field(default_factory=dict)
    limits: Limits = Limits()
    seeds: tuple[int, ...] = (0,)
    information: Run.Information = Run.Information.PARITY
    pace_seconds: Annotated[float, Field(ge=0, le=SLOWEST_PACE_SECONDS)] = 0
    consent: Annotated[Words, Field(min_length=1)]
    briefing: Words = ""
    quiz_pass_mark: Annotated[int, Field(ge=0, le=QUESTIONS_ASKED)] = 4
    practice_days: Annotated[int, Field(ge=0, le=MOST_PRACTICE_DAYS)] = 0
    assignment: Study.Assignment = Study.Assignment.ARRIVAL
    start: Study.Start = Study.Start.FULL
    absence: Seat.Absence = Seat.Absence.WAIT
    absence_minutes: Annotated[int, Field(ge=1, le=10_080)] = 10
    wants_rationale: bool = False
    questionnaire: Annotated[tuple[Question, ...], Field(max_length=MOST_QUESTIONS)] = ()
    completion_code: Annotated[Line, Field(max_length=200), AfterValidator(with_known_placeholders)] = "{code}"
    redirect_url: Annotated[Line, Field(max_length=1000), AfterValidator(https_address)] = ""

    @model_validator(mode="after")
    def _hangs_together(self) -> Self:
        problem = self._problem_of_seats() or problem_of_seeds(list(self.seeds))
        if problem:
            raise ValueError(problem)
        return self

    def _problem_of_seats(self) -> str:
        """What keeps these players from taking their seats; empty if nothing does."""
        if len(set(self.persons)) < len(self.persons):
            return "persons: a firm is named twice"
        outside = [firm for firm in self.persons if firm not in roles_by_firm(self.scenario)]
        if outside:
            return f"persons: there is no firm {outside[0][:40]}; the firms are {_some(roles_by_firm(self.scenario))}"
        if any(kind in (MODEL, *SEATED) for kind in self.players.values()):
            return "players: only scripts are named here"
        if self.absence == Seat.Absence.MODEL and not set(self.persons) <= self.model_settings.keys():
            return "absence: a model is to take over, but none is named for every firm that a person plays"
        try:
            kinds = check_players(self.scenario, self.kinds(set(self.persons)))
            check_models(kinds, self.model_settings, self.limits)
        except (PlayersError, NotPossible) as error:
            return str(error)
        return ""

    def kinds(self, seated: set[str]) -> dict[str, str]:
        """Firm → kind of player where persons sit at some of the firms meant for them; scripts play the others."""
        models = {firm: MODEL for firm in self.model_settings if firm not in self.persons}
        return {**self.players, **models, **dict.fromkeys(seated, HUMAN)}

    def models(self, seated: set[str]) -> dict[str, ModelSettings]:
        """How models play, or would stand in, where persons sit at some of the firms meant for them."""
        absent = set(self.persons) - seated
        return {firm: settings for firm, settings in self.model_settings.items() if firm not in absent}

    def fields(self) -> dict[str, Any]:
        """The plan as the table keeps it."""
        values: dict[str, Any] = self.model_dump(mode="json")
        return values


def plan_from(values: Mapping[str, Any]) -> Plan:
    """The plan of some values that are JSON. Raises pydantic's ValidationError."""
    return Plan.model_validate_json(json.dumps(dict(values)))


def plan_of(study: Study) -> Plan:
    """The plan that a study was made from."""
    return plan_from({name: getattr(study, name) for name in Plan.model_fields})


def filled_in(template: str, *, code: str, label: str, is_address: bool = False) -> str:
    """A completion code or an address with the participant's own code and label in it."""
    values = {"code": code, "label": label}
    for name, value in values.items():
        template = template.replace(f"{{{name}}}", quote(value, safe="") if is_address else value)
    return template


def _some(firms: dict[str, Any]) -> str:
    names = list(firms)
    return ", ".join(names[:8]) + (f", … ({len(names)} in all)" if len(names) > 8 else "")
