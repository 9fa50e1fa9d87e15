"""Moving a run forward: load, ask, apply, save, announce. The only writer of a run's rows.

One worker at a time holds a run, by a lease in its row; whatever it has not committed when it dies is played again, to
the same end, by whoever takes the run next. Nothing here waits for a person or keeps a transaction open while it asks.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from django.db import InterfaceError, OperationalError, transaction
from django.utils import timezone

from simulation import announce, asking
from simulation.asking import Answered
from simulation.engine.scenario import Scenario
from simulation.engine.world import World
from simulation.lease import LEASE, holder_name, is_free
from simulation.models import Run
from simulation.players.base import Player
from simulation.players.registry import scripts_for
from simulation.seats import calling, clocks, seating
from simulation.store import Decided, OtherRules, Projection, rebuild

log = logging.getLogger(__name__)

GAMES_KEPT = 8
NO_ANSWERS: Mapping[str, Answered] = {}


class LeaseLost(Exception):
    """The run is no longer ours to write: paused, cancelled, or taken by another worker after ours went silent."""


@dataclass
class Game:
    """A run in a worker's hands: its world, its scripts, and what it has not saved yet."""

    run_id: int
    created_at: datetime
    world: World
    projection: Projection
    players: dict[str, Player]
    kinds: dict[str, str]
    saved_step: int = 0
    unsaved: list[Decided] = field(default_factory=list)

    def is_of(self, run: Run) -> bool:
        """Whether this is where the run's row says the run is."""
        return (self.created_at, self.saved_step, self.kinds) == (run.created_at, run.step, run.players)

    def outside(self) -> list[str]:
        """The firms of the open step that no script plays."""
        step = self.world.open_step()
        return [name for name in step.firms if name not in self.players] if step else []

    def play_step(self, answers: Mapping[str, Answered] = NO_ANSWERS) -> None:
        """Asks the scripts of the open step, adds the others' answers, and applies what all decided."""
        world = self.world
        step = world.open_step()
        assert step is not None
        decisions = {
            name: answers[name].decision if name in answers else self.players[name].decide(world.view(name))
            for name in step.firms
        }
        by = self.kinds | {name: answer.by for name, answer in answers.items() if answer.by}
        self.unsaved += [Decided(outcome, by[outcome.firm]) for outcome in world.apply(decisions)]
        world.open_step()


def new_game(run: Run, scenario: Scenario) -> Game:
    """A run's beginning: books opened, first morning passed, first step open."""
    world = World(scenario, run.seed)
    world.open_step()
    projection = Projection(run.pk, world, run.player_labels())
    return Game(run.pk, run.created_at, world, projection, scripts_for(scenario, run.players), run.players)


def load_game(run: Run) -> Game:
    """A run as of its last commit. The scripts see again what they saw, so that they remember what they knew."""
    players: dict[str, Player] = {}

    def show(world: World) -> None:
        if not players:
            players.update(scripts_for(world.scenario, run.players))
        step = world.open_step()
        assert step is not None
        for name in players.keys() & set(step.firms):
            players[name].decide(world.view(name))

    world, _ = rebuild(run, show)
    projection = Projection(run.pk, world, run.player_labels())
    projection.skip_saved()
    players = players or scripts_for(world.scenario, run.players)
    return Game(run.pk, run.created_at, world, projection, players, run.players, world.steps)


def take_lease(run_id: int, holder: str) -> Run | None:
    """Takes a running run to play it, if it is due and nobody else has it."""
    now = timezone.now()
    with transaction.atomic():
        run = Run.objects.select_for_update().defer("scenario").filter(pk=run_id, status=Run.Status.RUNNING).first()
        if run is None or not is_free(run, now):
            return None
        run.lease_owner, run.lease_until = holder, now + LEASE
        run.save(update_fields=["lease_owner", "lease_until"])
    return run


def seconds_until_due(run_id: int) -> float | None:
    """In how many seconds a run that rests between two days is due; None where it is not that which it waits for."""
    now = timezone.now()
    resting = Run.objects.filter(pk=run_id, status=Run.Status.RUNNING, lease_owner="", not_before__gt=now)
    due = resting.values_list("not_before", flat=True).first()
    return (due - now).total_seconds() if due else None


def commit(game: Game, holder: str, *, release: bool) -> Run:
    """Saves what was played since the last commit, in one transaction, and tells those who watch.

    Raises LeaseLost, with nothing written, when the run is no longer this holder's to move.
    """
    world, now = game.world, timezone.now()
    with transaction.atomic():
        run = Run.objects.select_for_update().defer("scenario").get(pk=game.run_id)
        if run.lease_owner != holder or run.status != Run.Status.RUNNING or run.step != game.saved_step:
            raise LeaseLost(f"run {run.pk} is {run.status}, held by {run.lease_owner or 'nobody'} at step {run.step}")
        if game.unsaved:
            game.projection.save(game.unsaved)
        is_new_day = world.day != run.day
        is_news = is_new_day or world.ended is not None
        note_progress(run, world)
        run.waiting_for = game.outside()
        asking.open_asks(run, world, run.waiting_for)
        run.lease_until = now + LEASE
        seating.show_panels(run, world)
        if world.ended:
            end_run(run, world)
        elif run.stop_after_day is not None and world.day > run.stop_after_day:
            rest_after_day(run, now)
        if release or world.ended:
            run.lease_owner, run.lease_until = "", None
            run.not_before = next_day_due(run, now) if is_new_day else None
        run.save()
        if run.status != Run.Status.RUNNING:
            clocks.settle_run(run, now)
        elif run.waiting_for and run.lease_until is None:
            calling.call_players(run)
        announce.progress(run, is_news=is_news)
    game.saved_step, game.unsaved = world.steps, []
    return run


def next_day_due(run: Run, now: datetime) -> datetime | None:
    """When a day that has just begun may be played; at once where people play, who set their own pace."""
    if not run.pace_seconds or seating.has_seats(run):
        return None
    return now + timedelta(seconds=run.pace_seconds)


def note_progress(run: Run, world: World) -> None:
    """Copies onto the run's row where its world stands."""
    run.step, run.minute, run.day = world.steps, world.minute, world.day
    run.turns, run.events = world.turns, len(world.economy.events)


def end_run(run: Run, world: World) -> None:
    """The run has come to its last evening, or its evaluated firm has gone bankrupt."""
    run.status = run.Status.FINISHED if world.ended == "finished" else run.Status.STOPPED
    run.status_reason = "" if run.status == run.Status.FINISHED else f"{run.evaluated} went bankrupt on day {world.day}"
    run.ended_at = run.status_since = timezone.now()


def rest_after_day(run: Run, now: datetime) -> None:
    """A person let the run go on for one day, which is over."""
    run.status, run.status_reason, run.status_since = run.Status.PAUSED, f"stepped to day {run.day}", now
    run.paused_by, run.stop_after_day = run.PausedBy.PERSON, None


class Shelf:
    """Games between two tasks, so that a worker need not replay a run each time it is handed it."""

    def __init__(self) -> None:
        self._games: dict[int, Game] = {}
        self._lock = threading.Lock()

    def take(self, run: Run) -> Game:
        """The run's game: from the shelf if it is as far as the run's row says, else replayed."""
        with self._lock:
            game = self._games.pop(run.pk, None)
        return game if game and game.is_of(run) else load_game(run)

    def put(self, game: Game) -> None:
        """Keeps a game whose last step is committed; the longest unused makes room."""
        with self._lock:
            self._games[game.run_id] = game
            while len(self._games) > GAMES_KEPT:
                self._games.pop(next(iter(self._games)))


shelf = Shelf()


def advance(run_id: int, *, seconds: float) -> float | None:
    """Plays a run on for about that long: a paced run for one day.

    Safe to call at any time, twice, or for a run that is over. Returns in how many seconds it wants to be called
    again, None if it does not.
    """
    holder = holder_name()
    run = take_lease(run_id, holder)
    if run is None:
        return seconds_until_due(run_id)
    try:
        game = shelf.take(run)
        one_day = run.pace_seconds > 0 or run.stop_after_day is not None
        run = play(game, holder, seconds=seconds, commit_every=0.25, one_day=one_day)
    except LeaseLost as lost:
        log.info("left run %s alone: %s", run_id, lost)
        return None
    except OtherRules as error:
        fail_run(run_id, holder, str(error))
        return None
    except Exception as error:
        if is_passing(error):
            raise
        log.exception("run %s failed", run_id)
        fail_run(run_id, holder, f"{type(error).__name__}: {error}")
        return None
    if not run.is_over:
        shelf.put(game)
    return wants_to_go_on(run)


def wants_to_go_on(run: Run) -> float | None:
    """In how many seconds a run that has just been played is to be played on; None: not by itself."""
    if run.status != run.Status.RUNNING:
        return None
    # The last answer may have come while this worker still held the run.
    if run.waiting_for and asking.waiting_asks(run).exists():
        return None
    return run.pace_seconds if run.not_before else 0


def is_passing(error: Exception) -> bool:
    """Whether the trouble is the database's and not the run's: the run's lease expires and the sweep tries again."""
    return isinstance(error, OperationalError | InterfaceError)


def play(
    game: Game,
    holder: str,
    *,
    seconds: float,
    commit_every: float,
    one_day: bool = False,
    on_step: Callable[[World], None] = lambda world: None,
) -> Run:
    """Plays and commits steps until time is up, the day is over or the run is; the last commit gives the lease up."""
    began = committed = time.monotonic()
    first_day = game.world.day
    while True:
        outside = game.outside()
        answers = asking.answers_of(game.run_id, game.world) if outside and not game.unsaved else NO_ANSWERS
        if len(answers) < len(outside):
            return commit(game, holder, release=True)
        game.play_step(answers)
        on_step(game.world)
        now = time.monotonic()
        is_last = game.world.ended or now - began >= seconds or (one_day and game.world.day > first_day)
        if is_last:
            return commit(game, holder, release=True)
        if now - committed >= commit_every:
            commit(game, holder, release=False)
            committed = now


def fail_run(run_id: int, holder: str, reason: str) -> None:
    """Marks a run that cannot go on, with the reason, unless somebody else has it by now."""
    with transaction.atomic():
        run = Run.objects.select_for_update().get(pk=run_id)
        if run.lease_owner != holder:
            return
        run.status, run.status_reason = run.Status.FAILED, reason[:2000]
        run.lease_owner, run.lease_until = "", None
        run.ended_at = run.status_since = timezone.now()
        run.save()
        clocks.settle_run(run, run.status_since)
        announce.progress(run)


def create_rows(run: Run, game: Game) -> None:
    """Writes a new run's first rows: the opening books and the first morning. Wants a transaction around it."""
    game.projection.save([])
    note_progress(run, game.world)
    run.save()
