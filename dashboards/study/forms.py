"""The researcher's forms: a study with all that surrounds its game, new participants, and the word that deletes."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from statistics import mode
from typing import Any, Final, NamedTuple

from django import forms
from django.core.exceptions import ValidationError
from pydantic import ValidationError as PlanError

from dashboards.forms import HINT_SETTINGS, MOST_DAYS, PACES, number_messages, scenario_typed
from marketplace.economy.economy import firm_names
from marketplace.economy.rules import ROLES
from simulation.engine.scenario import Scenario, problems_of
from simulation.experiments.seats import UnknownModel, player_named
from simulation.models import Run, Seat
from simulation.players.registry import MODEL, kinds_for
from simulation.studies.models import QUESTIONS_ASKED, Participant, Study
from simulation.studies.plan import LONGEST_NAME, MOST_PRACTICE_DAYS, MOST_WORDS, Plan, plan_from
from simulation.studies.questionnaire import QuestionnaireError, lines_of, questions_from_lines
from simulation.studies.verbs import MOST_PARTICIPANTS, NewParticipant, numbered

CONSENT: Final = (
    "You take part in a study of how people run a firm. You will run a small coffee firm for some simulated weeks, and "
    "trade with other firms.\n\n"
    "- Taking part is voluntary. You may stop at any time by closing the page, without giving a reason.\n"
    "- We keep what you decide, the reasons you write, how long it takes, and your answers to our questions. We keep "
    "no name and no address; you are known to us by a label.\n"
    "- You may ask us to delete what is yours."
)

QUESTIONS: Final = """scale | How well did you understand the rules? | not at all; completely
scale | How hard was it to play? | very easy; very hard
text? | How did you decide what to do?"""

QUESTIONS_HINT: Final = (
    "One a line: kind | question | answers. Kinds: text, number, choice (answers a; b; c), scale from 1 to 7 "
    "(its two ends). A ? after the kind lets it be left out."
)
MODEL_HINT: Final = (
    "A published name, as claude-sonnet-4-6, or provider/name. It plays the firms above, or stands in where a model is "
    "to take over."
)

# Where a plan's field is typed in the form, if under another name.
TYPED_AS: Final = {"scenario": "settings", "players": "others_roaster", "model_settings": "model", "limits": "budget"}

# Fields of a plan that are typed as they are kept.
TYPED_ALIKE: Final = (
    "name",
    "persons",
    "seeds",
    "information",
    "assignment",
    "start",
    "absence",
    "absence_minutes",
    "consent",
    "briefing",
    "quiz_pass_mark",
    "practice_days",
    "wants_rationale",
    "questionnaire",
    "completion_code",
    "redirect_url",
)


def area(rows: int, placeholder: str = "", *, is_code: bool = False) -> forms.Textarea:
    """A field of several lines."""
    attributes: dict[str, Any] = {"rows": rows, "placeholder": placeholder}
    return forms.Textarea(attrs={**attributes, "spellcheck": "false"} if is_code else {**attributes, "class": "prose"})


class StudyForm(forms.Form):
    """A study: what is played, by whom, and what a participant passes through before and after."""

    name = forms.CharField(
        max_length=LONGEST_NAME,
        help_text="For you; no participant sees it.",
        widget=forms.TextInput({"autocomplete": "off"}),
    )
    days = forms.IntegerField(min_value=1, max_value=MOST_DAYS, initial=90, help_text="Simulated days of the game.")
    settings = forms.CharField(
        required=False, max_length=10_000, help_text=HINT_SETTINGS, widget=area(4, "late_fee = 0.002", is_code=True)
    )
    persons = forms.CharField(
        max_length=2000,
        initial="roaster_A",
        label="Firms that persons play",
        help_text="In the order in which places are given, as roaster_A, roaster_B.",
        widget=forms.TextInput({"autocomplete": "off", "spellcheck": "false"}),
    )
    exceptions = forms.CharField(
        required=False,
        max_length=20_000,
        label="Single firms otherwise",
        help_text="One a line, as farmer_B = passive. The word model means the language model below.",
        widget=area(3, "farmer_B = passive", is_code=True),
    )
    model = forms.CharField(
        required=False,
        max_length=120,
        label="Language model",
        help_text=MODEL_HINT,
        widget=forms.TextInput({"autocomplete": "off", "spellcheck": "false", "placeholder": "claude-sonnet-4-6"}),
    )
    model_settings = forms.CharField(
        required=False,
        max_length=10_000,
        label="Its settings",
        help_text="TOML, as in an experiment’s [model_settings]. Empty: as usual.",
        widget=area(3, "temperature = 0.7", is_code=True),
    )
    budget = forms.FloatField(
        required=False, min_value=0, max_value=1_000_000, label="Budget of a run, USD", help_text="Empty: no limit."
    )
    seeds = forms.CharField(
        max_length=3000, initial="0", help_text="Whole numbers, as 0, 1, 2. The tables take them in turn."
    )
    information = forms.ChoiceField(choices=Run.Information.choices, initial="parity", label="What persons are shown")
    pace = forms.ChoiceField(choices=PACES, initial="0", help_text="How fast simulated days pass at most.")
    wants_rationale = forms.BooleanField(required=False, label="Every action needs a reason")

    assignment = forms.ChoiceField(choices=Study.Assignment.choices, initial="arrival", label="Who plays which firm")
    start = forms.ChoiceField(choices=Study.Start.choices, initial="full", label="When a table starts")
    absence = forms.ChoiceField(choices=Seat.Absence.choices, initial="wait", label="When a person is away")
    absence_minutes = forms.IntegerField(
        min_value=1,
        max_value=10_080,
        initial=10,
        label="After minutes",
        help_text="Of no sign of life in an open turn.",
    )

    consent = forms.CharField(
        max_length=MOST_WORDS,
        initial=CONSENT,
        label="Consent text",
        help_text="Lines that begin with - make a list.",
        widget=area(9),
    )
    briefing = forms.CharField(
        required=False,
        max_length=MOST_WORDS,
        label="Your own words after the briefing",
        help_text="The briefing itself is a model’s, made from the scenario.",
        widget=area(4),
    )
    quiz_pass_mark = forms.IntegerField(
        min_value=0,
        max_value=QUESTIONS_ASKED,
        initial=4,
        label="Quiz: right answers needed",
        help_text=f"Of {QUESTIONS_ASKED}. 0: no quiz.",
    )
    practice_days = forms.IntegerField(
        min_value=0, max_value=MOST_PRACTICE_DAYS, initial=0, label="Days of practice", help_text="0: none."
    )
    questionnaire = forms.CharField(
        required=False,
        max_length=40_000,
        initial=QUESTIONS,
        label="Closing questions",
        help_text=QUESTIONS_HINT,
        widget=area(6, is_code=True),
    )
    completion_code = forms.CharField(
        required=False,
        max_length=200,
        initial="{code}",
        label="Completion code",
        help_text="{code} becomes eight random figures and letters, {label} the participant’s label.",
        widget=forms.TextInput({"autocomplete": "off", "spellcheck": "false"}),
    )
    redirect_url = forms.CharField(
        required=False,
        max_length=1000,
        label="Or an address to go on to",
        help_text="https://…, with {code} or {label} where the other site wants them. Empty: the code is shown.",
        widget=forms.TextInput({"autocomplete": "off", "spellcheck": "false", "inputmode": "url"}),
    )

    def __init__(self, data: Mapping[str, Any] | None = None, initial: Mapping[str, Any] | None = None) -> None:
        super().__init__(data, initial=dict(initial or {}))
        for role in ROLES:
            self.fields[f"others_{role}"] = others_field(role)
        for name in ("days", "absence_minutes", "quiz_pass_mark", "practice_days"):
            self.fields[name].error_messages.update(number_messages(self.fields[name]))
        self.scenario, self.problems = scenario_typed(self.data.get("days"), self.data.get("settings", ""))
        self.plan: Plan | None = None

    def others(self) -> list[forms.BoundField]:
        """The fields of those whom no person plays."""
        return [self[f"others_{role}"] for role in ROLES]

    def clean_settings(self) -> str:
        """The settings as typed, refused with every problem that the scenario has with them."""
        if self.problems:
            raise ValidationError(self.problems)
        return str(self.cleaned_data["settings"])

    def clean_seeds(self) -> list[int]:
        """The seeds as numbers."""
        parts = [part for part in re.split(r"[\s,;]+", self.cleaned_data["seeds"]) if part]
        if not all(re.fullmatch(r"[-−]?[0-9]{1,17}", part) for part in parts):
            raise ValidationError("Whole numbers, please, as 0, 1, 2.")
        return [int(part.replace("−", "-")) for part in parts]

    def clean_persons(self) -> list[str]:
        """The firms by name."""
        return [part for part in re.split(r"[\s,;]+", self.cleaned_data["persons"]) if part]

    def clean_exceptions(self) -> dict[str, str]:
        """Firm → player, refused with every line that names none."""
        roles = dict(firm_names(self.scenario)) if self.scenario else {}
        players: dict[str, str] = {}
        problems = []
        for line in filter(None, map(str.strip, self.cleaned_data["exceptions"].splitlines())):
            firm, _, kind = (part.strip() for part in line.partition("="))
            if firm not in roles:
                problems.append(f"{line[:60]}: there is no firm {firm[:40]}; write it as farmer_B = passive.")
            elif firm in players or firm in self.cleaned_data.get("persons", ()):
                problems.append(f"{firm} is named twice, here or among the firms that persons play.")
            elif kind not in (kinds := (*kinds_for(roles[firm]), MODEL)):
                problems.append(f"{firm} can be played by: {', '.join(kinds)}.")
            players[firm] = kind
        if problems and self.scenario:
            raise ValidationError(problems)
        return players

    def clean_model(self) -> dict[str, Any]:
        """What the name of a model stands for, as settings."""
        name = self.cleaned_data["model"].strip()
        if not name:
            return {}
        try:
            named = player_named(name)
        except UnknownModel as error:
            raise ValidationError(str(error)) from None
        if not named.model:
            raise ValidationError(f"{name} is a script; choose it above, in the place of a model.")
        return {"model": named.model, **({"reasoning": named.reasoning} if named.reasoning else {})}

    def clean_model_settings(self) -> dict[str, Any]:
        """The table that the lines make."""
        try:
            return tomllib.loads(self.cleaned_data["model_settings"])
        except (ValueError, RecursionError) as error:
            raise ValidationError(f"This is not TOML: {error}") from None

    def clean_questionnaire(self) -> list[dict[str, Any]]:
        """The questions, refused with every line that is none."""
        try:
            questions = questions_from_lines(self.cleaned_data["questionnaire"])
        except QuestionnaireError as error:
            raise ValidationError([f"Line {line}: {problem}" for line, problem in error.problems.items()]) from None
        return [question.model_dump(mode="json") for question in questions]

    def clean(self) -> dict[str, Any]:
        """Everything together, as a plan."""
        cleaned = super().clean() or self.cleaned_data
        if self.errors:
            return cleaned
        if self._wants_model(cleaned) and not cleaned["model"]:
            self.add_error("model", "Name the model that is to play.")
            return cleaned
        try:
            self.plan = plan_from(self.values(cleaned))
        except PlanError as error:
            self._complain(error)
        return cleaned

    def _wants_model(self, cleaned: Mapping[str, Any]) -> bool:
        kinds = [*(cleaned[f"others_{role}"] for role in ROLES), *cleaned["exceptions"].values()]
        return cleaned["absence"] == Seat.Absence.MODEL or MODEL in kinds

    def _complain(self, error: PlanError) -> None:
        """Puts each problem at the field where it was typed."""
        for problem in problems_of(error):
            path, _, words = problem.partition(":")
            plan_field = path.split(".")[0]
            field = TYPED_AS.get(plan_field, plan_field)
            if field in self.fields:
                self.add_error(field, words.strip() or problem)
            else:
                self.add_error(None, problem)

    def values(self, cleaned: Mapping[str, Any]) -> dict[str, Any]:
        """The plan's values as JSON."""
        assert self.scenario is not None
        return {
            **{name: cleaned[name] for name in TYPED_ALIKE},
            **self.players(cleaned),
            "scenario": self.scenario.model_dump(mode="json"),
            "limits": {"budget_usd": cleaned["budget"]},
            "pace_seconds": float(cleaned["pace"]),
        }

    def players(self, cleaned: Mapping[str, Any]) -> dict[str, Any]:
        """Who plays the firms without a person, and how models play them, or stand in where that is asked."""
        assert self.scenario is not None
        settings = {**cleaned["model"], **cleaned["model_settings"]}
        players, models = {}, {}
        for firm, role in firm_names(self.scenario):
            kind = cleaned["exceptions"].get(firm) or cleaned[f"others_{role}"]
            is_person = firm in cleaned["persons"]
            if cleaned["absence"] == Seat.Absence.MODEL if is_person else kind == MODEL:
                models[firm] = settings
            elif not is_person:
                players[firm] = kind
        return {"players": players, "model_settings": models}


def others_field(role: str) -> forms.ChoiceField:
    """Who plays the firms of a role that no person plays."""
    scripts = kinds_for(role)
    choices = [*((kind, kind) for kind in scripts), (MODEL, "the language model below")]
    return forms.ChoiceField(choices=choices, initial=scripts[0], label=f"Other {role}s")


class Preset(NamedTuple):
    """A usual study: its title, and the fields it fills in."""

    title: str
    fields: dict[str, str]


SCRIPTS: Final = {f"others_{role}": kinds_for(role)[0] for role in ROLES}
PRESETS: Final = {
    "one": Preset(
        "One person as roaster_A against scripts",
        {**SCRIPTS, "persons": "roaster_A", "model": "", "days": "90", "start": "full", "seeds": "0"},
    ),
    "two": Preset(
        "Two roasters, both persons",
        {**SCRIPTS, "persons": "roaster_A, roaster_B", "model": "", "days": "90", "start": "full", "seeds": "0"},
    ),
    "paper": Preset(
        "The paper’s setting, a person as roaster_A",
        {
            **dict.fromkeys(SCRIPTS, MODEL),
            "persons": "roaster_A",
            "model": "claude-sonnet-4-6",
            "days": "90",
            "start": "full",
            "seeds": "0, 1, 2",
        },
    ),
}


def typed(plan: Plan) -> dict[str, Any]:
    """A plan as it would have been typed."""
    values = plan.model_dump(mode="json")
    model = next(iter(plan.model_settings.values()), None)
    settings = model.model_dump(mode="json", exclude_defaults=True, exclude={"model"}) if model else {}
    return {
        **values,
        **SCRIPTS,
        **others_typed(plan),
        "days": plan.scenario.days,
        "settings": "\n".join(changed_settings(plan.scenario)),
        "persons": ", ".join(plan.persons),
        "seeds": ", ".join(map(str, plan.seeds)),
        "pace": next((value for value, _ in PACES if float(value) == plan.pace_seconds), "0"),
        "model": model.model if model else "",
        "model_settings": "\n".join(f"{path} = {text}" for path, text in flat(settings, "")),
        "budget": values["limits"]["budget_usd"],
        "questionnaire": lines_of(plan.questionnaire),
    }


def others_typed(plan: Plan) -> dict[str, str]:
    """The players of a plan: of each role the most frequent one, and the firms that have another."""
    kinds: dict[str, dict[str, str]] = {}
    for firm, role in firm_names(plan.scenario):
        if firm not in plan.persons:
            kind = MODEL if firm in plan.model_settings else plan.players.get(firm, kinds_for(role)[0])
            kinds.setdefault(role, {})[firm] = kind
    usual = {role: mode(firms.values()) for role, firms in kinds.items()}
    exceptions = [
        f"{firm} = {kind}" for role, firms in kinds.items() for firm, kind in firms.items() if kind != usual[role]
    ]
    return {**{f"others_{role}": kind for role, kind in usual.items()}, "exceptions": "\n".join(exceptions)}


def changed_settings(scenario: Scenario) -> list[str]:
    """The lines that make a scenario of the paper's: a value a line, days aside."""
    usual = dict(flat(Scenario().model_dump(mode="json"), ""))
    return [
        f"{path} = {text}"
        for path, text in flat(scenario.model_dump(mode="json"), "")
        if usual.get(path) != text and path != "days"
    ]


def flat(values: Mapping[str, Any], path: str) -> Iterator[tuple[str, str]]:
    """Nested values as dotted paths and TOML; a table that is only replaced as a whole is written as a whole."""
    for key, value in values.items():
        name = f"{path}.{key}" if path else key
        if isinstance(value, dict) and key not in ("stock", "prices"):
            yield from flat(value, name)
        elif value is not None:
            yield name, toml_of(value)


def toml_of(value: Any) -> str:
    """A value of JSON as TOML writes it."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key} = {toml_of(part)}" for key, part in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(toml_of, value)) + "]"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        escaped = "".join(f"\\u{ord(one):04x}" if ord(one) < 32 else one for one in value.replace("\\", "\\\\"))
        return '"' + escaped.replace('"', '\\"') + '"'
    return str(value)


class InviteForm(forms.Form):
    """New participants: their labels, or how many."""

    labels = forms.CharField(
        required=False,
        max_length=100_000,
        widget=area(4, "N01\nN02", is_code=True),
        help_text="One a line; never a name. Where roles are preset, a firm may follow: N01, roaster_A.",
    )
    how_many = forms.IntegerField(
        required=False,
        min_value=1,
        max_value=MOST_PARTICIPANTS,
        label="Or how many",
        help_text="They are labelled P1, P2, …",
    )

    def clean(self) -> dict[str, Any]:
        """Either the one or the other."""
        cleaned = super().clean() or self.cleaned_data
        if not self.errors and bool(cleaned["labels"].strip()) == bool(cleaned["how_many"]):
            self.add_error("labels", "Write labels, or a number: one of the two.")
        return cleaned

    def newcomers(self, study: Study) -> list[NewParticipant]:
        """Whom the form invites."""
        if self.cleaned_data["how_many"]:
            return numbered(study, self.cleaned_data["how_many"])
        lines = [line.strip() for line in self.cleaned_data["labels"].splitlines() if line.strip()]
        return [newcomer_of(line, study) for line in lines]


def newcomer_of(line: str, study: Study) -> NewParticipant:
    """A label, and after its last comma a firm that persons play, if there is one."""
    label, comma, firm = line.rpartition(",")
    is_preset = comma and study.assignment == Study.Assignment.PRESET
    return NewParticipant(label, firm.strip()) if is_preset else NewParticipant(line)


class DeleteForm(forms.Form):
    """The participant's label, typed again, and whether the whole game goes too."""

    typed = forms.CharField(max_length=100, widget=forms.TextInput({"autocomplete": "off"}))
    with_run = forms.BooleanField(
        required=False, label="Delete the whole run of their game too, the others’ part with it"
    )

    def __init__(self, participant: Participant, data: Mapping[str, Any] | None = None) -> None:
        super().__init__(data)
        self.participant = participant
        self.fields["typed"].label = f"The participant’s label, or their number, {participant.pk}"

    def clean_typed(self) -> str:
        """Refuses any other label."""
        if self.cleaned_data["typed"] not in (self.participant.label, str(self.participant.pk)):
            raise ValidationError(f"That is neither this participant’s label nor their number, {self.participant.pk}.")
        return str(self.cleaned_data["typed"])
