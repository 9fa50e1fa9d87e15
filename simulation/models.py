"""The tables of time and players: runs, turns, the books at each day's end, and the log of events."""

from __future__ import annotations

from django.db import models

from marketplace.models import choices
from marketplace.rows import RunRow, link, run_link


class Run(models.Model):
    """One game: scenario, seed and decisions, from which all else follows; and how its playing goes."""

    class Status(models.TextChoices):
        DRAFT = "draft"
        RUNNING = "running"
        WAITING = "waiting", "waiting for a player"
        PAUSED = "paused"
        FINISHED = "finished"
        STOPPED = "stopped"
        FAILED = "failed"

    name = models.CharField(max_length=80)
    scenario = models.JSONField(help_text="frozen: this run is played under it to its end")
    seed = models.BigIntegerField()
    days = models.PositiveIntegerField()
    evaluated = models.CharField(max_length=40)
    rules_version = models.CharField(max_length=20)
    players = models.JSONField(help_text="firm → player")
    pace_seconds = models.FloatField(default=0, help_text="wall seconds a simulated day takes at least; 0: full speed")

    status = models.CharField(max_length=10, choices=Status, default=Status.DRAFT, db_index=True)
    status_reason = models.TextField(blank=True)
    waiting_for = models.JSONField(default=list, blank=True)
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

    @property
    def is_over(self) -> bool:
        """Whether it has ended, whatever the way."""
        return self.status in (self.Status.FINISHED, self.Status.STOPPED, self.Status.FAILED)


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
