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
from simulation.engine.decision import Decision
from simulation.engine.scenario import Scenario
from simulation.engine.world import World
from simulation.lease import LEASE, holder_name, is_free
from simulation.models import Run
from simulation.players.base import Player
from simulation.players.registry import scripts_for
from simulation.store import Decided, OtherRules, Projection, rebuild

log = logging.getLogger(__name__)

GAMES_KEPT = 8
NO_ANSWERS: Mapping[str, Decision] = {}


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

    def play_step(self, answers: Mapping[str, Decision] = NO_ANSWERS) -> None:
        """Asks the scripts of the open step, adds the others' answers, and applies what all decided."""
        world = self.world
        step = world.open_step()
        assert step is not None
        decisions = {
            name: answers[name] if name in answers else self.players[name].decide(world.view(name))
            for name in step.firms
        }
        self.unsaved += [Decided(outcome, self.kinds[outcome.firm]) for outcome in world.apply(decisions)]
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
        run = Run.objects.select_for_update().filter(pk=run_id, status=Run.Status.RUNNING).first()
        if run is None or not is_free(run, now):
            return None
        run.lease_owner, run.lease_until = holder, now + LEASE
        run.save(update_fields=["lease_owner", "lease_until"])
    return run


def commit(game: Game, holder: str, *, release: bool) -> Run:
    """Saves what was played since the last commit, in one transaction, and tells those who watch.

    Raises LeaseLost, with nothing written, when the run is no longer this holder's to move.
    """
    world, now = game.world, timezone.now()
    with transaction.atomic():
        run = Run.objects.select_for_update().get(pk=game.run_id)
        if run.lease_owner != holder or run.status != Run.Status.RUNNING or run.step != game.saved_step:
            raise LeaseLost(f"run {run.pk} is {run.status}, held by {run.lease_owner or 'nobody'} at step {run.step}")
        if game.unsaved:
            game.projection.save(game.unsaved)
        is_news = world.day != run.day or world.ended is not None
        note_progress(run, world)
        run.waiting_for = game.outside()
        asking.open_asks(run, world, run.waiting_for)
        run.lease_until = now + LEASE
        if world.ended:
            end_run(run, world)
        if release or world.ended:
            run.lease_owner, run.lease_until = "", None
            run.not_before = now + timedelta(seconds=run.pace_seconds) if run.pace_seconds else None
        run.save()
        if run.waiting_for and run.lease_until is None:
            asking.call_models(run)
        announce.progress(run, is_news=is_news)
    game.saved_step, game.unsaved = world.steps, []
    return run


def note_progress(run: Run, world: World) -> None:
    """Copies onto the run's row where its world stands."""
    run.step, run.minute, run.day = world.steps, world.minute, world.day
    run.turns, run.events = world.turns, len(world.economy.events)


def end_run(run: Run, world: World) -> None:
    """The run has come to its last evening, or its evaluated firm has gone bankrupt."""
    run.status = run.Status.FINISHED if world.ended == "finished" else run.Status.STOPPED
    run.status_reason = "" if run.status == run.Status.FINISHED else f"{run.evaluated} went bankrupt on day {world.day}"
    run.ended_at = run.status_since = timezone.now()


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
        return None
    try:
        game = shelf.take(run)
        run = play(game, holder, seconds=seconds, commit_every=0.25, one_day=run.pace_seconds > 0)
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
    if run.is_over:
        return None
    shelf.put(game)
    if not run.waiting_for:
        return run.pace_seconds
    # The last answer may have come while this worker still held the run.
    return None if asking.waiting_asks(run).exists() else 0


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
        answers = asking.answers_of(game.run_id, game.world) if outside else NO_ANSWERS
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
        announce.progress(run)


def create_rows(run: Run, game: Game) -> None:
    """Writes a new run's first rows: the opening books and the first morning. Wants a transaction around it."""
    game.projection.save([])
    note_progress(run, game.world)
    run.save()
