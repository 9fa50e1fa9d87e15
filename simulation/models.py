"""The tables of time and players: runs, turns, the books at each day's end, and the log of events."""

from __future__ import annotations

from django.db import models

from marketplace.models import choices
from marketplace.rows import RunRow, link, run_link


class Run(models.Model):
    """One game: scenario, seed and decisions, from which all else follows; and how its playing goes."""

    class Information(models.TextChoices):
        PARITY = "parity", "as a model: looking costs time"
        ASSISTED = "assisted", "panels are live and free"

    class Status(models.TextChoices):
        DRAFT = "draft"
        RUNNING = "running"
        WAITING = "waiting", "waiting for a player"
        PAUSED = "paused"
        FINISHED = "finished"
        STOPPED = "stopped"
        FAILED = "failed"

    class PausedBy(models.TextChoices):
        PERSON = "person"
        BUDGET = "budget"
        PROVIDER = "provider"
        PLAYER = "player", "the one who plays"

    name = models.CharField(max_length=80)
    scenario = models.JSONField(help_text="frozen: this run is played under it to its end")
    seed = models.BigIntegerField()
    days = models.PositiveIntegerField()
    evaluated = models.CharField(max_length=40)
    rules_version = models.CharField(max_length=20)
    players = models.JSONField(help_text="firm → kind of player")
    model_settings = models.JSONField(default=dict, blank=True, help_text="firm → how its language model plays")
    limits = models.JSONField(default=dict, blank=True, help_text="what may be spent on models, and how long to retry")
    pace_seconds = models.FloatField(default=0, help_text="wall seconds a simulated day takes at least; 0: full speed")
    information = models.CharField(
        max_length=10, choices=Information, default=Information.PARITY, help_text="what people at its seats are shown"
    )
    is_practice = models.BooleanField(default=False, help_text="played to learn; counts in no result")

    status = models.CharField(max_length=10, choices=Status, default=Status.DRAFT, db_index=True)
    status_reason = models.TextField(blank=True)
    paused_by = models.CharField(max_length=10, choices=PausedBy, blank=True)
    resume_at = models.DateTimeField(null=True, blank=True, help_text="when a run paused by a provider tries again")
    waiting_for = models.JSONField(default=list, blank=True)
    stop_after_day = models.PositiveIntegerField(null=True, blank=True, help_text="pauses when this day is over")
    status_since = models.DateTimeField(auto_now_add=True)

    step = models.PositiveIntegerField(default=0, help_text="steps applied and saved")
    minute = models.PositiveIntegerField(default=0)
    day = models.PositiveIntegerField(default=0)
    turns = models.PositiveIntegerField(default=0)
    events = models.PositiveIntegerField(default=0)

    created_at = models.DateTimeField(auto_now_add=True)
    started_at = models.DateTimeField(null=True, blank=True)
    ended_at = models.DateTimeField(null=True, blank=True)

    lease_owner = models.CharField(max_length=60, blank=True)
    lease_until = models.DateTimeField(null=True, blank=True)
    not_before = models.DateTimeField(null=True, blank=True, help_text="when the next day is due, for a paced run")

    class Meta:
        ordering = ["-pk"]

    def __str__(self) -> str:
        return f"run {self.pk}: {self.name}"

    def player_labels(self) -> dict[str, str]:
        """Who plays each firm, for people: the model's name where a language model does."""
        return {
            firm: self.model_settings[firm]["model"] if kind == "model" else kind for firm, kind in self.players.items()
        }

    @property
    def is_moving(self) -> bool:
        """Whether it is being played, or waits for nothing but a player."""
        return self.status in (self.Status.RUNNING, self.Status.WAITING)

    @property
    def is_held_up(self) -> bool:
        """Whether it rests without anybody's wish: a budget or a provider has paused it."""
        return self.status == self.Status.PAUSED and self.paused_by in (self.PausedBy.BUDGET, self.PausedBy.PROVIDER)

    @property
    def is_over(self) -> bool:
        """Whether it has ended, whatever the way."""
        return self.status in (self.Status.FINISHED, self.Status.STOPPED, self.Status.FAILED)

    @property
    def is_closed(self) -> bool:
        """Whether it has ended for good; one that failed may be let go on, and its firms are to learn no more of it."""
        return self.status in (self.Status.FINISHED, self.Status.STOPPED)


class Turn(RunRow):
    """One firm's answer to one wake: what it decided, why, and what came of it."""

    prefix = "turn "

    run = run_link()
    firm = link("marketplace.Firm", "turns")
    step = models.PositiveIntegerField()
    minute = models.PositiveIntegerField()
    day = models.PositiveIntegerField()
    tool = models.CharField(max_length=60, blank=True, help_text="empty: no tool call, which counts as waiting")
    arguments = models.TextField(help_text="JSON, as the player sent it")
    rationale = models.TextField(blank=True)
    accepted = models.BooleanField(help_text="whether the call did what it asked, or was refused")
    result = models.TextField(help_text="JSON, as the player got it")
    decided_by = models.CharField(max_length=20)

    class Meta:
        indexes = [
            # A firm's conversation, or one of its days.
            models.Index(fields=["firm", "day"], name="turn_firm_day"),
        ]


class DayEnd(RunRow):
    """A firm's books after one evening."""

    prefix = "evening "

    run = run_link()
    firm = link("marketplace.Firm", "day_ends", index=True)
    day = models.PositiveIntegerField()
    cash_micros = models.BigIntegerField()
    inventory_micros = models.BigIntegerField()
    work_in_progress_micros = models.BigIntegerField()
    goods_in_transit_micros = models.BigIntegerField()
    receivables_micros = models.BigIntegerField()
    payables_micros = models.BigIntegerField()
    equity_micros = models.BigIntegerField()
    net_income_micros = models.BigIntegerField(help_text="since the run began")
    revenue_micros = models.BigIntegerField(help_text="since the run began")
    stock_kg = models.JSONField()
    prices = models.JSONField()


class Event(RunRow):
    """A line of the tape. Numbers of a run have no gaps, so a reader knows what it lacks."""

    prefix = "event "

    KINDS = choices(
        "batch_landed",
        "batch_started",
        "bankrupt",
        "consumer_sale",
        "day_ended",
        "deal_made",
        "invoice_paid",
        "invoice_written_off",
        "listing_posted",
        "message_sent",
        "offer_made",
        "offer_rejected",
        "offer_withdrawn",
        "price_set",
        "run_ended",
        "shipment_delayed",
        "shipment_delivered",
        "shipment_lost",
        "shipment_returned",
        "shipment_turned_back",
        "spoiled",
    )

    run = run_link()
    minute = models.PositiveIntegerField()
    day = models.PositiveIntegerField()
    kind = models.CharField(max_length=24, choices=KINDS)
    firm = link("marketplace.Firm", "events", null=True)
    other = link("marketplace.Firm", null=True)
    data = models.JSONField()


class Seat(models.Model):
    """A firm's chair, where it is played from outside by a link: by a person at a browser or a program over HTTP."""

    class Driver(models.TextChoices):
        OWNER = "owner", "whoever holds the link"
        SCRIPT = "script"
        MODEL = "model"

    class Absence(models.TextChoices):
        WAIT = "wait", "everybody waits"
        DEFAULT = "default", "the firm waits for the next day"
        SCRIPT = "script", "a script takes over"
        MODEL = "model", "a language model takes over"

    run = models.ForeignKey("simulation.Run", on_delete=models.CASCADE, related_name="seats")
    firm = models.OneToOneField("marketplace.Firm", on_delete=models.CASCADE, related_name="seat", db_constraint=False)
    label = models.CharField(max_length=80, blank=True, help_text="what the one who plays is called; never a name")
    link_number = models.PositiveIntegerField(default=1, help_text="one more makes every link given out before void")
    is_revoked = models.BooleanField(default=False)
    taken_at = models.DateTimeField(null=True, blank=True)

    driver = models.CharField(max_length=10, choices=Driver, default=Driver.OWNER)
    driver_since = models.DateTimeField(auto_now_add=True)
    may_take_back = models.BooleanField(
        default=False, help_text="whether whoever holds the link may end the stand-in: their absence brought it"
    )
    absence = models.CharField(max_length=10, choices=Absence, default=Absence.WAIT)
    absence_minutes = models.PositiveIntegerField(default=10, help_text="of no sign of life in an open turn")
    extended_until = models.DateTimeField(null=True, blank=True, help_text="until when absence has no consequence")
    wants_rationale = models.BooleanField(default=False, help_text="whether every action needs a reason")

    queue = models.JSONField(default=list, blank=True, help_text="actions to come: tool, arguments, rationale")
    queue_stopped = models.CharField(max_length=200, blank=True, help_text="why the queue waits")
    panels = models.TextField(blank=True, help_text="JSON: what an assisted seat is shown for free")
    notes = models.TextField(blank=True)
    nudge = models.CharField(max_length=200, blank=True)
    nudged_at = models.DateTimeField(null=True, blank=True)
    last_seen_at = models.DateTimeField(null=True, blank=True)
    last_active_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["pk"]

    def __str__(self) -> str:
        return f"seat of {self.firm}"

    @property
    def is_over(self) -> bool:
        """Whether nothing is left to play: the run is closed, or the firm is bankrupt for good and the run goes on."""
        return self.run.is_closed or self.firm.bankrupt_day is not None


class Spell(models.Model):
    """A stretch of wall time at a seat in one state: what a person's minutes went into."""

    class State(models.TextChoices):
        ACTIVE = "active"
        IDLE = "idle"
        WAITING = "waiting", "waiting for others"
        PAUSED = "paused"
        DISCONNECTED = "disconnected"

    seat = models.ForeignKey(Seat, on_delete=models.CASCADE, related_name="spells")
    state = models.CharField(max_length=12, choices=State)
    day = models.PositiveIntegerField(help_text="of the run, as the spell began")
    began_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["pk"]

    def __str__(self) -> str:
        return f"{self.state} since {self.began_at:%H:%M:%S}"


class Conversation(RunRow):
    """What every request for a firm begins with: its model's system prompt and tools, fixed when it is first asked."""

    run = run_link()
    firm = models.OneToOneField(
        "marketplace.Firm", on_delete=models.CASCADE, related_name="conversation", db_constraint=False
    )
    system = models.TextField()
    tools = models.TextField(help_text="JSON")
    compaction = models.TextField(blank=True, help_text="JSON: the words in which summaries are asked for and given")


class Ask(RunRow):
    """A turn put to a player outside the engine, until its answer is applied; keyed as the turn it will be."""

    prefix = "ask "

    run = run_link()
    firm = link("marketplace.Firm", "asks")
    step = models.PositiveIntegerField()
    minute = models.PositiveIntegerField()
    day = models.PositiveIntegerField()
    firm_turn = models.PositiveIntegerField(default=0, help_text="the firm's own turns up to and with this one")
    given = models.TextField(help_text="JSON: the result of the last call, and the observation if the firm was woken")
    created_at = models.DateTimeField(auto_now_add=True)

    answered_at = models.DateTimeField(null=True, blank=True)
    tool = models.CharField(max_length=60, blank=True)
    arguments = models.TextField(blank=True)
    rationale = models.TextField(blank=True)
    decided_by = models.CharField(max_length=20, blank=True, help_text="empty: the firm's kind of player")
    flags = models.JSONField(default=list, blank=True)

    attempts = models.PositiveIntegerField(default=0)
    trouble_since = models.DateTimeField(null=True, blank=True, help_text="since when no attempt has succeeded")
    trouble = models.TextField(blank=True)
    not_before = models.DateTimeField(null=True, blank=True)
    lease_owner = models.CharField(max_length=60, blank=True)
    lease_until = models.DateTimeField(null=True, blank=True)
    reserved_micros = models.BigIntegerField(default=0, help_text="the most the call under way can cost")


class Call(models.Model):
    """One request to a provider: what it cost, how long it took, what came back. Written whatever became of it."""

    class Purpose(models.TextChoices):
        DECIDE = "decide"
        SUMMARISE = "summarise"

    class Outcome(models.TextChoices):
        USED = "used"
        UNUSED = "unused", "answered too late to be used"
        FAILED = "failed"

    run = models.ForeignKey("simulation.Run", on_delete=models.CASCADE, related_name="calls")
    firm = link("marketplace.Firm", "model_calls")
    ask = link("simulation.Ask", "calls", index=True)
    day = models.PositiveIntegerField()
    purpose = models.CharField(max_length=10, choices=Purpose)
    outcome = models.CharField(max_length=10, choices=Outcome)
    attempt = models.PositiveIntegerField()
    created_at = models.DateTimeField(auto_now_add=True)
    latency_ms = models.PositiveIntegerField()
    model_asked = models.CharField(max_length=120)
    model_answered = models.CharField(max_length=200, blank=True)
    input_tokens = models.PositiveIntegerField(default=0)
    output_tokens = models.PositiveIntegerField(default=0)
    cached_tokens = models.PositiveIntegerField(default=0)
    reasoning_tokens = models.PositiveIntegerField(default=0)
    cost_micros = models.BigIntegerField(null=True, blank=True, help_text="empty: not known")
    most_micros = models.BigIntegerField(null=True, blank=True, help_text="the most it can have cost, for the budgets")
    finish_reason = models.CharField(max_length=40, blank=True)
    error = models.TextField(blank=True)
    raw = models.TextField(blank=True, help_text="JSON, as the provider sent it")
    messages_before = models.PositiveIntegerField(help_text="how many messages the conversation had")
    summaries_before = models.PositiveIntegerField(help_text="how many summaries it had")

    class Meta:
        ordering = ["pk"]

    def __str__(self) -> str:
        return f"call {self.pk}"


class ChatMessage(models.Model):
    """One message of a firm's conversation; never changed, so that the beginning of a request stays the same."""

    run = models.ForeignKey("simulation.Run", on_delete=models.CASCADE, related_name="+", db_index=False)
    firm = link("marketplace.Firm", "chat_messages")
    number = models.PositiveIntegerField()
    ask = link("simulation.Ask", "chat_messages")
    day = models.PositiveIntegerField()
    content = models.TextField(help_text="JSON, as it is sent")

    class Meta:
        ordering = ["firm", "number"]
        constraints = [models.UniqueConstraint(fields=["firm", "number"], name="chat_message_number")]

    def __str__(self) -> str:
        return f"message {self.number} of {self.firm}"


class ChatSummary(models.Model):
    """A summary that stands, from then on, for the messages from `first` to before `until` of a firm's conversation."""

    run = models.ForeignKey("simulation.Run", on_delete=models.CASCADE, related_name="+", db_index=False)
    firm = link("marketplace.Firm", "chat_summaries")
    number = models.PositiveIntegerField()
    ask = link("simulation.Ask")
    first = models.PositiveIntegerField()
    until = models.PositiveIntegerField()
    text = models.TextField()

    class Meta:
        ordering = ["firm", "number"]
        constraints = [models.UniqueConstraint(fields=["firm", "number"], name="chat_summary_number")]
        verbose_name_plural = "chat summaries"

    def __str__(self) -> str:
        return f"summary {self.number} of {self.firm}"
