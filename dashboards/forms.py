"""The forms that start runs: one from its fields, or an experiment's from a file, for all its seeds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from django import forms
from django.core.exceptions import ValidationError
from django.core.files.uploadedfile import UploadedFile

from dashboards.books import MOST_FIRMS_SHOWN
from dashboards.scenario_lines import LONGEST_LINE, lines_of
from marketplace.economy.economy import firm_names
from simulation.engine.scenario import Scenario, ScenarioError, scenario_from_file
from simulation.experiments import MOST_BYTES, MOST_CHARACTERS, Experiment, ExperimentError, load_experiment, text_of
from simulation.models import Run
from simulation.players.llm.settings import Limits, ModelSettings
from simulation.players.registry import HUMAN, KINDS, MODEL, SEATED, Kind, kinds_for

MOST_DAYS: Final = 3650
LARGEST_SEED: Final = 2**53 - 1

PACES: Final = (
    ("0", "Full speed"),
    ("0.1", "Ten days a second"),
    ("1", "One day a second"),
    ("5", "One day in five seconds"),
)
EXPERIMENT_PLACEHOLDER: Final = '[experiment]\nname = "trial"\n\n[models]\ndefault = "passive"'
CLONE: Final = "as:"
"""How a player's choice begins that is the model of a firm of the run that is cloned."""
HINT_KEPT: Final = "This run’s scenario cannot be written in lines, so the new run takes it over as it is."
HINT_SETTINGS: Final = "One a line, as late_fee = 0.002 or roles.roaster.opex = 40. Empty: the paper’s scenario."


class NewRunForm(forms.Form):
    """What a run is made of. The fields of the players follow from the scenario that is typed in."""

    name = forms.CharField(
        max_length=80,
        required=False,
        help_text="Empty: named after the evaluated firm’s player and the seed.",
        widget=forms.TextInput(attrs={"autocomplete": "off", "placeholder": "roaster_A: heuristic_roaster, seed 0"}),
    )
    days = forms.IntegerField(min_value=1, max_value=MOST_DAYS, initial=90, help_text="1 to 3,650.")
    seed = forms.IntegerField(
        min_value=0, max_value=LARGEST_SEED, initial=0, help_text="Same seed and same decisions: same run."
    )
    pace = forms.ChoiceField(choices=PACES, initial="1", help_text="How fast simulated days pass at most.")
    settings = forms.CharField(
        required=False,
        max_length=10_000,
        help_text=HINT_SETTINGS,
        widget=forms.Textarea(attrs={"rows": 4, "spellcheck": "false", "placeholder": "late_fee = 0.002"}),
    )

    budget_usd = forms.FloatField(
        required=False,
        min_value=0,
        max_value=1_000_000,
        label="Budget, USD",
        help_text="For all its models. Empty: none.",
    )
    day_budget_usd = forms.FloatField(
        required=False,
        min_value=0,
        max_value=1_000_000,
        label="A day’s budget, USD",
        help_text="For each simulated day.",
    )

    def __init__(self, data: Mapping[str, Any] | None = None, source: Run | None = None) -> None:
        """`source` is the run that is cloned: what the form does not ask for is taken from it."""
        super().__init__(data, initial=initial_of(source) if source else None)
        self.source = source
        self.models = models_of(source) if source else {}
        if not self.models:
            del self.fields["budget_usd"], self.fields["day_budget_usd"]
        for name in ("days", "seed"):
            self.fields[name].error_messages.update(number_messages(self.fields[name]))
        self.fields["pace"].error_messages |= choice_messages("The pace is one of", [title for _, title in PACES])
        self.kept = kept_scenario(source) if source else None
        if self.kept:
            self.fields["settings"].disabled = True
            self.fields["settings"].help_text = HINT_KEPT
        self.scenario, self.problems = self._scenario(self["days"].value(), self["settings"].value() or "")
        self.fields |= player_fields(self.scenario or Scenario(), self.models, source.players if source else {})

    def _scenario(self, days: Any, settings: str) -> tuple[Scenario | None, list[str]]:
        """The scenario that the fields make, or the problems with it."""
        return (with_days(self.kept, days), []) if self.kept else scenario_typed(days, settings)

    def clean_settings(self) -> str:
        """The settings as typed, refused with every problem that the scenario has with them."""
        if self.problems:
            raise ValidationError(self.problems)
        return str(self.cleaned_data["settings"])

    def clean(self) -> dict[str, Any]:
        """Everything together, with a name for a run that was given none."""
        cleaned = super().clean() or self.cleaned_data
        if (cleaned.get("day_budget_usd") or 0) > (cleaned.get("budget_usd") or float("inf")):
            self.add_error("day_budget_usd", "At most the budget of the whole run, please.")
        if not self.errors and not cleaned["name"].strip():
            cleaned["name"] = self.usual_name()
        return cleaned

    def usual_name(self) -> str:
        """`roaster_A: heuristic_roaster, seed 0`."""
        assert self.scenario is not None
        evaluated = self.scenario.evaluated
        player = self.players().get(evaluated, "")
        who = self.models[player.removeprefix(CLONE)].model if is_model(player) else player
        what = f"{evaluated}: {who}" if evaluated else self.scenario.name
        return f"{what}, seed {self.cleaned_data['seed']}"[:80]

    def players(self) -> dict[str, str]:
        """Firm → player, from the fields of the firms, or of the roles where there are too many firms."""
        assert self.scenario is not None
        answers = self.cleaned_data
        return {
            name: answers.get(f"player_{name}") or answers[f"player_{role}"] for name, role in firm_names(self.scenario)
        }

    def run(self) -> dict[str, Any]:
        """The arguments of `simulation.control.create_run`."""
        players = self.players()
        models = {firm: self.models[player.removeprefix(CLONE)] for firm, player in players.items() if is_model(player)}
        arguments = {
            "name": self.cleaned_data["name"].strip(),
            "scenario": self.scenario,
            "seed": self.cleaned_data["seed"],
            "players": {firm: player for firm, player in players.items() if not is_model(player)},
            "models": models,
            "pace_seconds": float(self.cleaned_data["pace"]),
        }
        if self.source is None:
            return arguments
        kept = {"information": self.source.information, "is_practice": self.source.is_practice}
        return {**arguments, **kept, "limits": self.limits()}

    def limits(self) -> Limits:
        """The limits of the run that is cloned, with the budgets of the form."""
        assert self.source is not None
        budgets = {name: self.cleaned_data.get(name) for name in ("budget_usd", "day_budget_usd")}
        return Limits.model_validate({**self.source.limits, **budgets})

    def player_rows(self) -> list[forms.BoundField]:
        """The fields of the players, in seating order."""
        return [self[name] for name in self.fields if name.startswith("player_")]

    def kinds(self) -> list[Kind]:
        """What may be chosen, with what it does."""
        return [kind for kind in KINDS.values() if kind.is_script or kind.name in SEATED]

    def presets(self) -> list[dict[str, Any]]:
        """The presets, as the fields they fill in; without those for which the form lacks a field."""
        scenario = self.scenario or Scenario()
        fields = player_fields(scenario, {}, {})
        presets = {title: preset(fields, scenario.evaluated) for title, preset in PRESETS.items()}
        return [
            {"title": title, "fields": filled}
            for title, filled in presets.items()
            if filled.keys() <= fields.keys() or ("settings" in filled and not self.kept)
        ]


class ExperimentForm(forms.Form):
    """An experiment as a file or as its text; what a refused file holds is put where it can be corrected."""

    file = forms.FileField(
        required=False,
        help_text="TOML, as in the folder experiments/.",
        widget=forms.FileInput(attrs={"accept": ".toml,text/plain"}),
    )
    text = forms.CharField(
        required=False,
        strip=False,  # line numbers stay
        max_length=MOST_CHARACTERS,
        label="Or its text",
        widget=forms.Textarea(attrs={"rows": 12, "spellcheck": "false", "placeholder": EXPERIMENT_PLACEHOLDER}),
    )

    def __init__(self, data: Mapping[str, Any] | None = None, files: Mapping[str, Any] | None = None) -> None:
        super().__init__(data, files)  # type: ignore[arg-type]  # a plain mapping will do
        self.experiment: Experiment | None = None

    def clean(self) -> dict[str, Any]:
        """Reads the experiment; every fault stands at the text, with its line."""
        cleaned = super().clean() or self.cleaned_data
        if self.errors:
            return cleaned
        file, text = cleaned["file"], cleaned["text"]
        if bool(file) == bool(text.strip()):
            self.add_error("file", "Either a file or a text, please." if file else "Choose a file, or paste its text.")
            return cleaned
        try:
            self.experiment = load_experiment(self._text_in(file) if file else text, name=self._name_of(file))
        except ExperimentError as error:
            self.add_error("text", ValidationError(error.problems))
        return cleaned

    def _text_in(self, file: UploadedFile[Any]) -> str:
        """An upload's text, which the page then shows in the field of the text: no browser chooses a file again."""
        text = text_of(file.read(MOST_BYTES + 1))
        self.data = {**self.data, "text": text}
        return text

    def _name_of(self, file: UploadedFile[Any] | None) -> str:
        return Path(file.name or "").stem if file else ""


def number_messages(field: forms.Field) -> dict[str, str]:
    """One sentence for everything that can be wrong with a number: what is allowed."""
    assert isinstance(field, forms.IntegerField)
    sentence = f"A whole number from {field.min_value:,} to {field.max_value:,}, please."
    return dict.fromkeys(("invalid", "min_value", "max_value", "required"), sentence)


def choice_messages(start: str, allowed: Iterable[str]) -> dict[str, str]:
    """One sentence for a choice that is none, or is missing: what is allowed."""
    return dict.fromkeys(("invalid_choice", "required"), f"{start}: {', '.join(allowed)}")


def scenario_typed(days: Any, settings: str) -> tuple[Scenario | None, list[str]]:
    """The scenario that some days and lines of settings make, or the problems with it.

    Nonsense in the field of the days is that field's to report: here the paper's days then stand in.
    """
    lines = [line.strip() for line in settings.splitlines()]
    wanted = [line for line in lines if line and not line.startswith("#")]
    problems = problems_of_lines(wanted)
    if problems:
        return None, problems
    count = days_in(days)
    in_field = [f"days = {count}"] if count else []
    try:
        return scenario_from_file(Path(), [*wanted, *in_field]), []
    except ScenarioError as error:
        return None, error.problems
    except RecursionError:
        return None, ["the settings are nested too deeply"]


def problems_of_lines(lines: list[str]) -> list[str]:
    """What can be said of the lines before they are read."""
    problems = [
        f"{line[:40]}…: at most {LONGEST_LINE} characters a setting" for line in lines if len(line) > LONGEST_LINE
    ]
    if any(line.partition("=")[0].strip() == "days" for line in lines):
        problems.append("days: the field above sets it")
    return problems


def with_days(scenario: Scenario, days: Any) -> Scenario:
    """The scenario for other days; nonsense in the field of the days is that field's to report."""
    count = days_in(days)
    return scenario.model_copy(update={"days": count}) if count else scenario


def days_in(typed: Any) -> int | None:
    """The days that the field of them takes for what was typed, "7.0" and "٣" among it; None for what it refuses."""
    try:
        count: int | None = NewRunForm.base_fields["days"].clean(typed)
    except ValidationError:
        return None
    return count


def player_fields(
    scenario: Scenario, models: Mapping[str, ModelSettings], players: Mapping[str, str]
) -> dict[str, forms.Field]:
    """A field a firm, or a field a role where firms are too many to ask for each.

    `models` may be chosen for any firm; `players` says who plays which firm at first.
    """
    firms = firm_names(scenario)
    if len(firms) <= MOST_FIRMS_SHOWN:
        return {
            f"player_{name}": player_field(name, role, models, first_of(name, models, players)) for name, role in firms
        }
    return {f"player_{role}": player_field(f"every {role}", role, models, "") for role in dict(firms).values()}


def first_of(firm: str, models: Mapping[str, ModelSettings], players: Mapping[str, str]) -> str:
    """Who plays a firm of the run that is cloned, as the choice of its field; empty for another firm."""
    return f"{CLONE}{firm}" if players.get(firm) == MODEL and firm in models else players.get(firm, "")


def player_field(title: str, role: str, models: Mapping[str, ModelSettings], first: str) -> forms.ChoiceField:
    """The field that asks who plays. Scripts and seats need no more than a name; a model is one that is known."""
    kinds = [*kinds_for(role), *(kind for kind in SEATED if role in KINDS[kind].roles)]
    choices = [(kind, kind) for kind in kinds]
    choices += [(f"{CLONE}{firm}", f"{settings.model}, as {firm} had it") for firm, settings in models.items()]
    initial = first if first in dict(choices) else kinds[0]
    field = forms.ChoiceField(choices=choices, initial=initial, label=title)
    field.error_messages |= choice_messages(f"{title} can be played by", [title for _, title in choices])
    return field


def is_model(player: str) -> bool:
    """Whether a choice is a model of the run that is cloned."""
    return player.startswith(CLONE)


def models_of(run: Run) -> dict[str, ModelSettings]:
    """How models played the firms of a run, by firm."""
    return {firm: ModelSettings.model_validate(settings) for firm, settings in run.model_settings.items()}


def kept_scenario(run: Run) -> Scenario | None:
    """The scenario of a run if no lines of settings make it."""
    scenario = Scenario.model_validate(run.scenario)
    return scenario if lines_of(scenario) is None else None


def initial_of(run: Run) -> dict[str, Any]:
    """What the form of a clone begins with."""
    pace = f"{run.pace_seconds:g}"
    return {
        "name": f"{run.name[:72]}, again",
        "days": run.days,
        "seed": run.seed,
        "pace": pace if pace in dict(PACES) else "1",
        "settings": "\n".join(lines_of(Scenario.model_validate(run.scenario)) or []),
        "budget_usd": run.limits.get("budget_usd"),
        "day_budget_usd": run.limits.get("day_budget_usd"),
    }


def all_scripts(fields: Mapping[str, forms.Field], evaluated: str) -> dict[str, str]:
    """Every firm is played by its role's first kind."""
    return {name: str(field.initial) for name, field in fields.items()}


def person_evaluated(fields: Mapping[str, forms.Field], evaluated: str) -> dict[str, str]:
    """A person plays the evaluated firm, by a link, against scripts."""
    return {**all_scripts(fields, evaluated), f"player_{evaluated}": HUMAN}


def passive_evaluated(fields: Mapping[str, forms.Field], evaluated: str) -> dict[str, str]:
    """The evaluated firm does nothing at all, against scripts."""
    return {**all_scripts(fields, evaluated), f"player_{evaluated}": "passive"}


def all_passive(fields: Mapping[str, forms.Field], evaluated: str) -> dict[str, str]:
    """Nobody does anything: what rent and spoilage alone cost."""
    return dict.fromkeys(fields, "passive")


def papers_settings(fields: Mapping[str, forms.Field], evaluated: str) -> dict[str, str]:
    """The paper's scenario for its 90 days, scripts in all seats; the seed stays."""
    return {"settings": "", "days": str(Scenario().days), **all_scripts(player_fields(Scenario(), {}, {}), "")}


PRESETS: Final = {
    "All scripts": all_scripts,
    "You against scripts": person_evaluated,
    "Passive roaster": passive_evaluated,
    "All passive": all_passive,
    "The paper’s settings": papers_settings,
}
