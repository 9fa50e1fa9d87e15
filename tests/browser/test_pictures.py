"""A picture of every page in both themes, in `var/pictures/`, for people to look at: what CI keeps of a build.

Each page is also heard: one that complains in the browser's console, or draws nothing, fails.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from playwright.sync_api import Page, ViewportSize

from dashboards.sign_in import sign_in_path
from marketplace.models import Transfer
from marketplace.rows import number_of
from simulation import control
from simulation.engine.decision import Decision
from simulation.engine.scenario import scenario_from
from simulation.lease import holder_name
from simulation.models import Call, Run, Seat, Turn
from simulation.players.llm.settings import Limits
from simulation.runner import load_game, play
from simulation.seats import links, verbs
from simulation.studies import links as study_links
from simulation.studies.models import Participant
from tests.browser.conftest import DRAWN, Site, in_thread
from tests.seat_play import answer_open_turn, policies_of, seat_of, seated_run
from tests.seat_play import play as play_seats
from tests.study_plans import invited, small_study, walk_to
from tests.talk_rows import make_model_run, play_day

pytestmark = pytest.mark.browser

# Beside the code and not in the folder of the tests' data, which goes with them.
FOLDER: Final = Path(settings.BASE_DIR) / "var" / "pictures"
SIZE: Final[ViewportSize] = {"width": 1440, "height": 900}
PHONE: Final[ViewportSize] = {"width": 390, "height": 844}
TALL: Final[ViewportSize] = {"width": 1280, "height": 1400}

Picture = Callable[..., None]


@pytest.fixture
def picture(site: Site, page: Page, complaints: list[str]) -> Picture:
    """Opens a path, presses some keys, and takes the pictures `<name>-light.png` and `<name>-dark.png`."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    page.set_viewport_size(SIZE)

    def take(name: str, path: str, *keys: str) -> None:
        page.emulate_media(color_scheme="light", reduced_motion="reduce")
        page.goto(site.address + path)
        page.wait_for_function(DRAWN)
        for key in keys:
            page.keyboard.press(key)
        page.screenshot(path=FOLDER / f"{name}-light.png", animations="disabled")
        page.emulate_media(color_scheme="dark")
        page.wait_for_function(DRAWN)
        page.screenshot(path=FOLDER / f"{name}-dark.png", animations="disabled")
        assert complaints == [], name

    return take


def played(days: int) -> Run:
    """A run of scripts, played to its end."""
    scenario = scenario_from({"days": days})
    run = control.create_run(name="Roaster focal, scripts", scenario=scenario, seed=0, players={}, pace_seconds=0)
    holder = holder_name()
    return play(load_game(control.start_run(run.pk, holder)), holder, seconds=float("inf"), commit_every=10)


def talked() -> Run:
    """A run in which a model plays: some days of it, a call at each turn."""
    run = make_model_run(days=30, name="A model as roaster_A", limits=Limits(budget_usd=3))
    for day in range(6):
        play_day(run, day, turns=4, cost_micros=200_000 + 40_000 * day, at_seconds=60 * day)
    return run


def test_pictures_of_what_a_researcher_sees(site: Site, visitor: Page, picture: Picture) -> None:
    run, talk = played(90), talked()
    transfer = Transfer.objects.filter(run=run, reason="payment received").order_by("-pk")[0]
    turn = Turn.objects.filter(run=run, tool="make_offer", accepted=True)[5]
    call = Call.objects.filter(run=talk)[2]
    own = f"/runs/{run.pk}/"
    for tab in ("overview", "market", "messages", "behaviour", "books", "tape"):
        picture(f"run-{tab}", f"{own}?tab={tab}")
    visitor.set_viewport_size(TALL)
    picture("run-market-tall", f"{own}?tab=market")
    visitor.set_viewport_size(SIZE)
    picture("run-as-of-day-45", f"{own}?tab=market&day=45")
    picture("run-as-roaster-a-knew-it", f"{own}?tab=market&day=45&as=roaster_A")
    picture("turn", f"{own}turns/{number_of(turn.pk)}/")
    picture("trail", f"{own}transfers/{number_of(transfer.pk)}/")
    picture("delete", f"{own}delete/")
    picture("run-of-a-model", f"/runs/{talk.pk}/")
    picture("call", f"/runs/{talk.pk}/calls/{call.pk}/")
    picture("conversation", f"/runs/{talk.pk}/firms/roaster_A/")
    picture("spend", f"/runs/{talk.pk}/spend/")
    picture("runs", "/")
    picture("new-run", "/runs/new/")
    picture("admin", "/admin/")
    picture("admin-deals", f"/admin/marketplace/deal/?run__id__exact={run.pk}")


def test_pictures_of_what_a_person_at_a_seat_sees(site: Site, visitor: Page, picture: Picture) -> None:
    run, over = seated_run("roaster_A", days=10), seated_run("roaster_A", days=2)
    seat, ended = (Seat.objects.get(run=one) for one in (run, over))
    picture("seat-welcome", seat_path(seat))
    in_thread(lambda: verbs.take(seat))
    policy = policies_of(run)
    in_thread(lambda: play_seats(run, policy, turns=60))
    in_thread(lambda: play_seats(over, policies_of(over)))
    picture("seat-console", seat_path(seat))
    picture("seat-console-form", seat_path(seat), "2")
    picture("seat-briefing", f"{seat_path(seat)}briefing/")
    picture("seat-over", seat_path(ended))
    picture("seats-of-a-run", f"/runs/{run.pk}/seats/")
    visitor.set_viewport_size(PHONE)
    picture("seat-console-phone", seat_path(seat))


def test_pictures_of_a_person_who_waits_and_is_woken(site: Site, page: Page, picture: Picture) -> None:
    run = seated_run("roaster_A", "farmer_A", days=5)
    seat = seat_of(run, "roaster_A")
    in_thread(lambda: verbs.take(seat))
    in_thread(lambda: answer_open_turn(run, "roaster_A"))
    picture("seat-waiting", seat_path(seat))
    letter = {"recipient": "roaster_A", "title": "Green coffee", "body": "30 kg at 3.40 if you take it today."}
    in_thread(lambda: answer_open_turn(run, "farmer_A", Decision("view_listings", {})))
    in_thread(lambda: answer_open_turn(run, "farmer_A", Decision("send_message", letter)))
    picture("seat-woken", seat_path(seat))


def seat_path(seat: Seat) -> str:
    return f"/seat/{links.token_of(seat)}/"


def test_pictures_of_a_study(site: Site, visitor: Page, picture: Picture) -> None:
    questions = [{"kind": "text", "text": "What was your plan?"}, {"kind": "scale", "text": "How hard was it?"}]
    study = small_study(
        name="Roasters by hand", start="researcher", days=10, practice_days=1, quiz_pass_mark=4, questionnaire=questions
    )
    stages = [Participant.Stage.WELCOME, Participant.Stage.BRIEFING, Participant.Stage.QUIZ, Participant.Stage.WAITING]
    people = invited(study, *(f"P{number:02}" for number in range(1, 8)))
    for one, stage in zip(people, stages, strict=False):
        walk_to(one, stage)
        picture(f"study-{stage.value}", f"/study/{study_links.token_of(one)}/")
    picture("studies", "/studies/")
    picture("study", f"/studies/{study.pk}/")
    picture("study-new", "/studies/new/")
    picture("study-preview", f"/studies/{study.pk}/preview/")
    picture("study-monitor", f"/studies/{study.pk}/monitor/")


def test_pictures_of_the_door(site: Site, page: Page, picture: Picture) -> None:
    picture("sign-in-link", sign_in_path(User.objects.create_user("rosa", is_staff=True)))
    picture("sign-in-password", "/admin/login/")
