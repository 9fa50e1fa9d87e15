"""The forms that start runs: one from its fields, or an experiment's from a file, for all its seeds."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from django import forms
from django.core.exceptions import ValidationError
from django.core.files.uploadedfile import UploadedFile

from dashboards.books import MOST_FIRMS_SHOWN
from marketplace.economy.economy import firm_names
from simulation.engine.scenario import Scenario, ScenarioError, scenario_from_file
from simulation.experiments import MOST_BYTES, MOST_CHARACTERS, Experiment, ExperimentError, load_experiment, text_of
from simulation.players.registry import KINDS, Kind, kinds_for

MOST_DAYS: Final = 3650
LARGEST_SEED: Final = 2**53 - 1
LONGEST_SETTING: Final = 300

PACES: Final = (
    ("0", "Full speed"),
    ("0.1", "Ten days a second"),
    ("1", "One day a second"),
    ("5", "One day in five seconds"),
)
EXPERIMENT_PLACEHOLDER: Final = '[experiment]\nname = "trial"\n\n[models]\ndefault = "passive"'
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

    def __init__(self, data: Mapping[str, Any] | None = None) -> None:
        super().__init__(data)
        for name in ("days", "seed"):
            self.fields[name].error_messages.update(number_messages(self.fields[name]))
        self.fields["pace"].error_messages["invalid_choice"] = "The pace is one of: " + ", ".join(
            title for _, title in PACES
        )
        self.scenario, self.problems = scenario_typed(self.data.get("days"), self.data.get("settings", ""))
        for field_name, field in player_fields(self.scenario or Scenario()).items():
            self.fields[field_name] = field

    def clean_settings(self) -> str:
        """The settings as typed, refused with every problem that the scenario has with them."""
        if self.problems:
            raise ValidationError(self.problems)
        return str(self.cleaned_data["settings"])

    def clean(self) -> dict[str, Any]:
        """Everything together, with a name for a run that was given none."""
        cleaned = super().clean() or self.cleaned_data
        if not self.errors and not cleaned["name"].strip():
            cleaned["name"] = self.usual_name()
        return cleaned

    def usual_name(self) -> str:
        """`roaster_A: heuristic_roaster, seed 0`."""
        assert self.scenario is not None
        evaluated = self.scenario.evaluated
        what = f"{evaluated}: {self.players()[evaluated]}" if evaluated else self.scenario.name
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
        return {
            "name": self.cleaned_data["name"].strip(),
            "scenario": self.scenario,
            "seed": self.cleaned_data["seed"],
            "players": self.players(),
            "pace_seconds": float(self.cleaned_data["pace"]),
        }

    def player_rows(self) -> list[forms.BoundField]:
        """The fields of the players, in seating order."""
        return [self[name] for name in self.fields if name.startswith("player_")]

    def kinds(self) -> list[Kind]:
        """What may be chosen, with what it does."""
        return [kind for kind in KINDS.values() if kind.is_script]

    def presets(self) -> list[dict[str, Any]]:
        """The presets, as the fields they fill in."""
        scenario = self.scenario or Scenario()
        fields = player_fields(scenario)
        return [{"title": title, "players": preset(fields, scenario.evaluated)} for title, preset in PRESETS.items()]


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


def scenario_typed(days: Any, settings: str) -> tuple[Scenario | None, list[str]]:
    """The scenario that some days and lines of settings make, or the problems with it.

    Nonsense in the field of the days is that field's to report: here the paper's days then stand in.
    """
    lines = [line.strip() for line in settings.splitlines()]
    wanted = [line for line in lines if line and not line.startswith("#")]
    problems = problems_of_lines(wanted)
    if problems:
        return None, problems
    text = str(days or "").strip()
    in_field = [f"days = {text}"] if text.isascii() and text.isdecimal() and 1 <= int(text[:9]) <= MOST_DAYS else []
    try:
        return scenario_from_file(Path(), [*wanted, *in_field]), []
    except ScenarioError as error:
        return None, error.problems
    except RecursionError:
        return None, ["the settings are nested too deeply"]


def problems_of_lines(lines: list[str]) -> list[str]:
    """What can be said of the lines before they are read."""
    problems = [
        f"{line[:40]}…: at most {LONGEST_SETTING} characters a setting" for line in lines if len(line) > LONGEST_SETTING
    ]
    if any(line.partition("=")[0].strip() == "days" for line in lines):
        problems.append("days: the field above sets it")
    return problems


def player_fields(scenario: Scenario) -> dict[str, forms.ChoiceField]:
    """A field a firm, or a field a role where firms are too many to ask for each."""
    firms = firm_names(scenario)
    if len(firms) <= MOST_FIRMS_SHOWN:
        return {f"player_{name}": player_field(name, role) for name, role in firms}
    return {f"player_{role}": player_field(f"every {role}", role) for role in dict(firms).values()}


def player_field(title: str, role: str) -> forms.ChoiceField:
    """The field that asks who plays."""
    kinds = scripts_of(role)
    field = forms.ChoiceField(choices=[(kind, kind) for kind in kinds], initial=kinds[0], label=title)
    field.error_messages["invalid_choice"] = f"{title} can be played by: {', '.join(kinds)}"
    return field


def scripts_of(role: str) -> list[str]:
    """The kinds that can play a role by name alone, the usual one first; other kinds want settings of their own."""
    return [kind for kind in kinds_for(role) if KINDS[kind].is_script]


def all_scripts(fields: Mapping[str, forms.ChoiceField], evaluated: str) -> dict[str, str]:
    """Every firm is played by its role's first kind."""
    return {name: str(field.initial) for name, field in fields.items()}


def passive_evaluated(fields: Mapping[str, forms.ChoiceField], evaluated: str) -> dict[str, str]:
    """The evaluated firm does nothing at all, against scripts."""
    return {**all_scripts(fields, evaluated), f"player_{evaluated}": "passive"}


def all_passive(fields: Mapping[str, forms.ChoiceField], evaluated: str) -> dict[str, str]:
    """Nobody does anything: what rent and spoilage alone cost."""
    return dict.fromkeys(fields, "passive")


PRESETS: Final = {
    "All scripts": all_scripts,
    "Passive roaster": passive_evaluated,
    "All passive": all_passive,
}
