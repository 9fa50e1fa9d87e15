"""The form that starts a run: what it makes, and what it says of values that cannot be."""

import tomllib
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from dashboards.forms import ExperimentForm, NewRunForm
from dashboards.scenario_lines import changes
from simulation.control import create_run
from simulation.engine.scenario import scenario_from
from simulation.models import Run
from simulation.players.llm.settings import Limits, ModelSettings
from simulation.players.registry import KINDS, kinds_for

PLAYERS = {
    f"player_{role}_{letter}": kinds_for(role)[0] for role in ("farmer", "roaster", "retailer") for letter in "AB"
}
GOOD = {"name": "Trial", "days": "30", "seed": "7", "pace": "0.1", "settings": "", **PLAYERS}


def form(**changes: str) -> NewRunForm:
    return NewRunForm({**GOOD, **changes})


def test_a_good_form_describes_a_run() -> None:
    good = form(player_roaster_A="passive", settings="late_fee = 0.002\n\n# a remark\nroles.roaster.opex=40")
    assert good.is_valid(), good.errors
    run = good.run()
    assert (run["name"], run["seed"], run["pace_seconds"]) == ("Trial", 7, 0.1)
    assert run["scenario"].days == 30
    assert run["scenario"].late_fee == 0.002
    assert run["scenario"].roles["roaster"].opex == 40
    assert run["players"]["roaster_A"] == "passive"
    assert run["players"]["roaster_B"] == "heuristic_roaster"


def test_a_run_without_a_name_is_named_after_its_player_and_seed() -> None:
    unnamed = form(name="  ")
    assert unnamed.is_valid()
    assert unnamed.run()["name"] == "roaster_A: heuristic_roaster, seed 7"


@pytest.mark.parametrize(
    ("field", "value", "says"),
    [
        ("days", "0", "A whole number from 1 to 3,650"),
        ("days", "3651", "A whole number from 1 to 3,650"),
        ("days", "", "A whole number from 1 to 3,650"),
        ("days", "ninety", "A whole number from 1 to 3,650"),
        ("days", "1.5", "A whole number from 1 to 3,650"),
        ("days", "9" * 5000, "A whole number from 1 to 3,650"),
        ("seed", "-1", "A whole number from 0 to 9,007,199,254,740,991"),
        ("seed", "9007199254740992", "A whole number from 0 to 9,007,199,254,740,991"),
        ("seed", "nan", "A whole number from 0"),
        ("pace", "0.5", "The pace is one of: Full speed, Ten days a second"),
        ("pace", "", "The pace is one of: Full speed, Ten days a second"),
        ("name", "x" * 81, "80 characters"),
        ("name", "a\0b", "Null characters"),
        ("player_roaster_A", "gpt", "roaster_A can be played by: heuristic_roaster, passive"),
        ("player_farmer_A", "heuristic_roaster", "farmer_A can be played by: "),
        ("player_farmer_A", "", "farmer_A can be played by: "),
        ("settings", "late_fee", "a setting is written key=value"),
        ("settings", "late_fee = 2", "late_fee: "),
        ("settings", "latefee = 0.1", "latefee: unknown key"),
        ("settings", "late_fee = nan", "late_fee: "),
        ("settings", "evaluated = nobody", "evaluated firm nobody does not exist; the firms are farmer_A"),
        ("settings", "roles.farmer.firms = 0\nroles.roaster.firms = 0\nroles.retailer.firms = 0", "seat no firm"),
        ("settings", "days = 5", "days: the field above sets it"),
        ("settings", "name = " + "x" * 400, "at most 300 characters a setting"),
        ("settings", "x" * 10_001, "10000 characters"),
        ("settings", "late_fee = " + "[" * 280, "late_fee: "),
        ("settings", ".".join("a" * 140) + " = 1", "a: unknown key"),
    ],
)
def test_a_bad_value_is_refused_at_its_field_and_says_what_is_allowed(field: str, value: str, says: str) -> None:
    bad = form(**{field: value})
    assert not bad.is_valid()
    assert says in " ".join(map(str, bad.errors[field]))


@pytest.mark.parametrize("typed", ["3", " 3 ", "03", "3.0", "٣", "３"])
def test_a_run_has_the_days_that_its_field_takes_however_they_are_typed(typed: str) -> None:
    taken = form(days=typed)
    assert taken.is_valid()
    assert (taken.cleaned_data["days"], taken.run()["scenario"].days) == (3, 3)


def test_every_problem_of_the_settings_is_named() -> None:
    bad = form(settings="late_fee = 2\nspoilage = -1\nnonsense = 3")
    assert not bad.is_valid()
    assert len(bad.errors["settings"]) == 3


def test_the_scenario_decides_which_firms_have_players() -> None:
    names = [field.name for field in form(settings="roles.farmer.firms = 3\nroles.retailer.firms = 1").player_rows()]
    assert names == [
        f"player_{firm}" for firm in ("farmer_A", "farmer_B", "farmer_C", "roaster_A", "roaster_B", "retailer_A")
    ]


def test_too_many_firms_to_ask_for_each_are_asked_for_by_role() -> None:
    many = form(
        settings="roles.farmer.firms = 100",
        **{f"player_{role}": "passive" for role in ("farmer", "roaster", "retailer")},
    )
    assert many.is_valid(), many.errors
    assert set(many.run()["players"].values()) == {"passive"}
    assert len(many.run()["players"]) == 104


def test_presets_fill_in_every_player() -> None:
    presets = {preset["title"]: preset["fields"] for preset in NewRunForm().presets()}
    assert presets["All scripts"] == PLAYERS
    assert presets["Passive roaster"] == {**PLAYERS, "player_roaster_A": "passive"}
    assert set(presets["All passive"].values()) == {"passive"}
    assert presets["You against scripts"] == {**PLAYERS, "player_roaster_A": "human"}
    assert presets["The paper’s settings"] == {**PLAYERS, "days": "90", "settings": ""}


def test_a_preset_that_the_form_has_no_field_for_is_not_offered() -> None:
    titles = {preset["title"] for preset in form(settings="roles.farmer.firms = 100").presets()}
    assert titles == {"All scripts", "All passive", "The paper’s settings"}
    unwatched = {preset["title"] for preset in form(settings='evaluated = ""').presets()}
    assert unwatched == titles


def test_the_form_makes_and_starts_a_run_and_goes_to_its_page(staff: Client) -> None:
    answer = staff.post("/runs/new/", GOOD)
    run = Run.objects.get()
    assert answer.headers["location"] == f"/runs/{run.pk}/"
    assert (run.name, run.seed, run.days, run.pace_seconds, run.status) == ("Trial", 7, 30, 0.1, "running")


def test_a_refused_form_keeps_all_that_was_typed(staff: Client) -> None:
    answer = staff.post("/runs/new/", {**GOOD, "days": "0", "name": "<My run>", "settings": "late_fee = 2"})
    page = answer.content.decode()
    assert answer.status_code == 200
    assert not Run.objects.exists()
    for text in ('value="&lt;My run&gt;"', 'value="0"', "late_fee = 2</textarea>", "What you typed is still here"):
        assert text in page


def test_the_players_follow_from_settings_while_they_are_typed(staff: Client) -> None:
    page = staff.post("/runs/new/players/", {**GOOD, "settings": "roles.farmer.firms = 3"}).content.decode()
    assert 'name="player_farmer_C"' in page
    assert not Run.objects.exists()


def test_a_kind_that_wants_settings_of_its_own_is_not_offered() -> None:
    assert "roaster" in KINDS["model"].roles
    assert not form(player_roaster_A="model").is_valid()


@pytest.mark.parametrize("sent", [{}, {"days": ["1", "2"]}, {"settings": "\ud83e"}])
def test_a_form_that_no_page_sent_is_refused(staff: Client, sent: dict[str, Any]) -> None:
    if sent.get("settings"):
        body = b"settings=%ED%A0%BE&days=30"
        answer = staff.post("/runs/new/", body, content_type="application/x-www-form-urlencoded")
    else:
        answer = staff.post("/runs/new/", sent)
    assert answer.status_code == 200
    assert "The run was not started" in answer.content.decode()


# Cloning a run


def cloned(staff: Client, run: Run, **changes: str) -> Run:
    """The run that comes of sending the form of a clone as it opens, but for some changes."""
    form = staff.get(f"/runs/new/?of={run.pk}").context["form"]
    data = {name: form[name].value() for name in form.fields}
    answer = staff.post(f"/runs/new/?of={run.pk}", {**{name: value or "" for name, value in data.items()}, **changes})
    assert answer.status_code == 302, answer.context["form"].errors
    return Run.objects.order_by("pk").last() or run


def settings_of(run: Run) -> dict[str, Any]:
    """All that a run is played by."""
    names = (
        "scenario",
        "seed",
        "days",
        "evaluated",
        "players",
        "model_settings",
        "limits",
        "information",
        "is_practice",
    )
    return {name: getattr(run, name) for name in names}


SCENARIOS: list[dict[str, Any]] = [
    {},
    {"days": 12, "late_fee": 0.002, "name": "my own <market>"},
    {"roles": {"farmer": {"firms": 3, "opex": 1.25}}, "evaluated": "farmer_C"},
    {"firms": {"roaster_B": {"storage_cap_kg": 7}}},
    {"festival": None},
]


@pytest.mark.parametrize("values", SCENARIOS)
def test_a_clone_is_played_by_the_same_settings(staff: Client, values: dict[str, Any]) -> None:
    scenario = scenario_from(values)
    run = create_run(name="First", scenario=scenario, seed=41, players={"roaster_A": "passive"}, pace_seconds=0.1)
    clone = cloned(staff, run)
    assert settings_of(clone) == settings_of(run)
    assert (clone.name, clone.pace_seconds, clone.status) == ("First, again", 0.1, "running")


def test_a_clone_takes_over_models_and_limits_and_all_can_be_changed(staff: Client) -> None:
    prices = {"input": 3.0, "output": 15.0}
    models = {"roaster_A": ModelSettings.model_validate({"model": "claude-sonnet-4-6", "prices": prices})}
    limits = Limits(budget_usd=50, day_budget_usd=2, retry_seconds=60)
    run = create_run(name="Costly", scenario=scenario_from({}), seed=1, players={}, models=models, limits=limits)
    assert settings_of(cloned(staff, run)) == settings_of(run)
    changes = {
        "seed": "9",
        "days": "5",
        "budget_usd": "20",
        "player_roaster_A": "passive",
        "player_farmer_B": "as:roaster_A",
    }
    changed = cloned(staff, run, **changes)
    assert (changed.seed, changed.days, changed.scenario["days"]) == (9, 5, 5)
    assert (changed.players["roaster_A"], changed.players["farmer_B"]) == ("passive", "model")
    assert changed.model_settings == {"farmer_B": run.model_settings["roaster_A"]}
    assert changed.limits == {**run.limits, "budget_usd": 20.0}


def test_a_scenario_that_lines_cannot_say_is_kept_as_it_is(staff: Client) -> None:
    run = create_run(name="Plain", scenario=scenario_from({"festival": None}), seed=1, players={})
    page = staff.get(f"/runs/new/?of={run.pk}").content.decode()
    assert "cannot be written in lines" in page
    assert "The paper’s settings" not in page
    clone = cloned(staff, run, days="8", settings="late_fee = 0.5")  # the field is closed: what it says is not heard
    assert clone.scenario == {**run.scenario, "days": 8}


def test_a_clones_budget_of_a_day_is_within_the_runs(staff: Client) -> None:
    prices = {"input": 3.0, "output": 15.0}
    models = {"roaster_A": ModelSettings.model_validate({"model": "claude-sonnet-4-6", "prices": prices})}
    run = create_run(name="Costly", scenario=scenario_from({}), seed=1, players={}, models=models)
    sent = {**GOOD, "player_roaster_A": "as:roaster_A", "budget_usd": "1", "day_budget_usd": "2"}
    page = staff.post(f"/runs/new/?of={run.pk}", sent).content.decode()
    assert "At most the budget of the whole run" in page
    assert Run.objects.count() == 1


@pytest.mark.parametrize(("of", "status"), [("999", 404), ("x", 400), ("-1", 400), ("", 200)])
def test_only_a_run_that_is_there_is_cloned(staff: Client, of: str, status: int) -> None:
    assert staff.get(f"/runs/new/?of={of}").status_code == status


def test_a_run_of_other_rules_is_not_cloned(staff: Client) -> None:
    run = create_run(name="Old", scenario=scenario_from({}), seed=1, players={})
    Run.objects.update(rules_version="0")
    assert staff.get(f"/runs/new/?of={run.pk}").status_code == 404


@pytest.mark.parametrize(
    "values", [{}, {"stock": {"a b": 1, "c": None}}, {"list": [1, 2.5, "x"]}, {"text": 'say "hi" \\ 1'}]
)
def test_lines_of_settings_are_toml(values: dict[str, Any]) -> None:
    lines = list(changes({}, values))
    read = tomllib.loads("\n".join(lines))
    assert read == ({"stock": {"a b": 1}} if "stock" in values else values)


def test_a_person_may_be_given_a_seat(staff: Client) -> None:
    answer = staff.post("/runs/new/", {**GOOD, "player_roaster_A": "human"})
    assert answer.status_code == 302
    run = Run.objects.get()
    assert run.players["roaster_A"] == "human"
    assert [seat.firm.name for seat in run.seats.all()] == ["roaster_A"]


# An experiment from a file.

EXPERIMENT = """[experiment]
name = "trial"
[run]
seeds = [3, 4]
max_days = 5
[models]
default = "passive"
roaster_A = "claude-sonnet-4-6"
"""


def upload(text: str, name: str = "trial.toml") -> SimpleUploadedFile:
    """A file as a browser sends it."""
    return SimpleUploadedFile(name, text.encode())


@pytest.mark.parametrize("sent", [{"text": EXPERIMENT.replace("\n", "\r\n")}, {"file": upload(EXPERIMENT)}])
def test_an_experiment_starts_a_run_for_each_seed_and_goes_to_the_list(staff: Client, sent: dict[str, Any]) -> None:
    answer = staff.post("/runs/new/experiment/", sent)
    assert answer.headers["location"] == "/"
    runs = Run.objects.order_by("pk")
    assert [(run.name, run.days, run.status) for run in runs] == [
        ("trial, seed 3", 5, "running"), ("trial, seed 4", 5, "running"),
    ]  # fmt: skip
    assert runs[0].players == {**dict.fromkeys(runs[0].players, "passive"), "roaster_A": "model"}
    assert "Started: trial, seed 3, trial, seed 4" in staff.get("/").content.decode()


@pytest.mark.parametrize("is_upload", [False, True])
def test_a_refused_experiment_names_its_lines_and_stays_on_the_page(staff: Client, is_upload: bool) -> None:
    wrong = "\n\n" + EXPERIMENT.replace("passive", "<gpt-9>") + "[economy]\nlate_fe = 1\n"
    answer = staff.post("/runs/new/experiment/", {"file": upload(wrong)} if is_upload else {"text": wrong})
    page = answer.content.decode()
    assert answer.status_code == 200
    assert not Run.objects.exists()
    assert "<li>line 9: models.default: unknown model; known are claude-sonnet-4-6" in page
    assert "<li>line 12: economy.late_fe: unknown key, perhaps late_fee_per_day is meant" in page
    assert "\n\n\n[experiment]\nname = &quot;trial&quot;" in page  # browsers drop the first line end, Django adds one
    assert "default = &quot;&lt;gpt-9&gt;&quot;" in page


def test_a_file_without_a_name_of_its_own_gives_the_files_name() -> None:
    form = ExperimentForm({}, {"file": upload('[models]\ndefault = "passive"', "all idle.toml")})
    assert form.is_valid(), form.errors
    assert form.experiment
    assert form.experiment.name == "all idle"


@pytest.mark.parametrize(
    ("text", "file", "field", "says"),
    [
        ("", None, "file", "Choose a file, or paste its text."),
        (EXPERIMENT, upload(EXPERIMENT), "file", "Either a file or a text, please."),
        ("", SimpleUploadedFile("x.toml", b"\xff\xfe"), "text", "this is no text in UTF-8"),
        ("", SimpleUploadedFile("x.toml", b"#" * 100_000), "text", "at most 20,000 characters"),
        ("", SimpleUploadedFile("x.toml", b""), "file", "empty"),
        ("a = ", None, "text", "line 1, its end: this is not TOML"),
        ("x" * 20_001, None, "text", "20000 characters"),
        ("a\0", None, "text", "Null characters"),
    ],
)
def test_an_experiment_that_cannot_be_read_is_said_so_at_its_field(text: str, file: Any, field: str, says: str) -> None:
    form = ExperimentForm({"text": text}, {"file": file} if file else {})
    assert not form.is_valid()
    assert says in " ".join(map(str, form.errors[field]))


def test_only_staff_may_start_an_experiment(client: Client, db: None) -> None:
    assert client.post("/runs/new/experiment/", {"text": EXPERIMENT}).status_code == 302
    client.force_login(User.objects.create_user("visitor"))
    assert client.post("/runs/new/experiment/", {"text": EXPERIMENT}).status_code == 403
    assert not Run.objects.exists()


def test_an_experiment_is_only_started_by_being_sent(staff: Client) -> None:
    assert staff.get("/runs/new/experiment/").status_code == 405
    assert 'action="/runs/new/experiment/"' in staff.get("/runs/new/").content.decode()
