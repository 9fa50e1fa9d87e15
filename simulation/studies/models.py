"""The tables of studies: what a study is, its tables, its participants and where they stand, and their quizzes."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from django.db import models

from marketplace.economy.economy import firm_names
from simulation.engine.scenario import Scenario
from simulation.models import Run, Seat
from simulation.players.briefing import Objective
from simulation.players.llm.settings import ModelSettings
from simulation.players.registry import kinds_for
from simulation.studies.questionnaire import Question, questions_of

QUESTIONS_ASKED: Final = 6


class Study(models.Model):
    """A setting that persons play for a baseline: scenario, treatment, and all that surrounds the game."""

    class Assignment(models.TextChoices):
        PRESET = "preset", "the researcher says who plays which firm"
        ARRIVAL = "arrival", "firms are given in the order of consent"

    class Start(models.TextChoices):
        RESEARCHER = "researcher", "the researcher starts each table"
        FULL = "full", "a table starts when its last place is taken"

    name = models.CharField(max_length=55)
    scenario = models.JSONField(help_text="frozen: every run of the study is played under it")
    persons = models.JSONField(help_text="firms that persons play, in the order in which places are given")
    players = models.JSONField(default=dict, blank=True, help_text="firm → script, for firms without a person or model")
    model_settings = models.JSONField(
        default=dict, blank=True, help_text="firm → how its language model plays, or would stand in for its person"
    )
    limits = models.JSONField(default=dict, blank=True, help_text="what a run may spend on models")
    seeds = models.JSONField(help_text="whole numbers that the tables take in turn")
    information = models.CharField(
        max_length=10, choices=Run.Information, default=Run.Information.PARITY, help_text="what persons are shown"
    )
    pace_seconds = models.FloatField(default=0, help_text="wall seconds a simulated day takes at least; 0: full speed")

    consent = models.TextField(help_text="what a participant agrees to, in words")
    briefing = models.TextField(blank=True, help_text="the study's own words, after the briefing of the rules")
    quiz_pass_mark = models.PositiveSmallIntegerField(
        default=4, help_text=f"right answers of {QUESTIONS_ASKED} that are needed to go on; 0: no quiz"
    )
    practice_days = models.PositiveSmallIntegerField(default=0, help_text="days that do not count; 0: no practice")
    assignment = models.CharField(max_length=10, choices=Assignment, default=Assignment.ARRIVAL)
    start = models.CharField(max_length=12, choices=Start, default=Start.FULL)
    absence = models.CharField(max_length=10, choices=Seat.Absence, default=Seat.Absence.WAIT)
    absence_minutes = models.PositiveIntegerField(default=10, help_text="of no sign of life in an open turn")
    wants_rationale = models.BooleanField(default=False, help_text="whether every action needs a reason")
    questionnaire = models.JSONField(default=list, blank=True, help_text="kind, text, choices of each question")
    completion_code = models.CharField(
        max_length=200, blank=True, default="{code}", help_text="{code} and {label} stand for the participant's own"
    )
    redirect_url = models.CharField(
        max_length=1000, blank=True, help_text="https; where a participant goes on. {code} and {label} as above"
    )

    is_open = models.BooleanField(default=True, help_text="whether new participants may come in")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-pk"]
        verbose_name_plural = "studies"
        constraints = [
            models.CheckConstraint(
                condition=models.Q(quiz_pass_mark__lte=QUESTIONS_ASKED), name="study_quiz_can_be_passed"
            ),
            models.CheckConstraint(
                condition=models.Q(redirect_url="") | models.Q(redirect_url__startswith="https://"),
                name="study_redirects_over_https",
            ),
        ]

    def __str__(self) -> str:
        return f"study {self.pk}: {self.name}"

    def rules(self) -> Scenario:
        """The scenario that all of its runs are played under."""
        return Scenario.model_validate(self.scenario)

    def questions(self) -> tuple[Question, ...]:
        """The questions of the closing questionnaire."""
        return questions_of(self.questionnaire)

    def objective_of(self, firm: str) -> Objective:
        """What the person at a firm is asked to achieve: as its stand-in model would be, else net income."""
        settings = self.model_settings.get(firm)
        return ModelSettings.model_validate(settings).objective if settings else Objective()

    def player_labels(self) -> dict[str, str]:
        """Who plays each firm, for people."""
        labels = {}
        for firm, role in firm_names(self.rules()):
            model = self.model_settings.get(firm, {}).get("model", "")
            labels[firm] = "a person" if firm in self.persons else self.players.get(firm) or model or kinds_for(role)[0]
        return labels

    @property
    def has_begun(self) -> bool:
        """Whether anybody has agreed to it: what participants are told and play is fixed from then on."""
        return self.participants.exclude(consented_at=None).exists()


class Table(models.Model):
    """A room of a study, where participants wait for their game and from which its run is started."""

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="tables")
    number = models.PositiveIntegerField(help_text="within the study, from 1")
    seed = models.BigIntegerField()
    run = models.OneToOneField(
        Run,
        on_delete=models.SET_NULL,
        null=True,
        blank=True,
        related_name="study_table",
        help_text="once it is started",
    )
    created_at = models.DateTimeField(auto_now_add=True)
    started_at = models.DateTimeField(null=True, blank=True, help_text="stays when its run is deleted")

    class Meta:
        ordering = ["study", "number"]
        constraints = [models.UniqueConstraint(fields=["study", "number"], name="study_table_number")]

    def __str__(self) -> str:
        return f"table {self.number} of {self.study}"

    def empty_firms(self) -> list[str]:
        """The firms that still want a person."""
        taken = set(self.participants.values_list("firm", flat=True))
        return [firm for firm in self.study.persons if firm not in taken]


class Participant(models.Model):
    """One person of a study, known by a label, and how far they have come."""

    class Stage(models.TextChoices):
        WELCOME = "welcome", "invited"
        BRIEFING = "briefing", "reads the briefing"
        QUIZ = "quiz", "takes the quiz"
        PRACTICE = "practice", "practises"
        WAITING = "waiting", "in the waiting room"
        GAME = "game", "plays"
        QUESTIONNAIRE = "questionnaire", "answers the questionnaire"
        DONE = "done", "has completed"
        DECLINED = "declined", "has declined"

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="participants")
    label = models.CharField(max_length=80, help_text="what the researcher calls them; never a name")
    link_number = models.PositiveIntegerField(default=1, help_text="one more makes every link given out before void")
    is_revoked = models.BooleanField(default=False)
    firm = models.CharField(max_length=40, blank=True, help_text="preset, or given at consent; empty: not yet given")
    table = models.ForeignKey(Table, on_delete=models.SET_NULL, null=True, blank=True, related_name="participants")
    seat = models.OneToOneField(
        Seat, on_delete=models.SET_NULL, null=True, blank=True, related_name="participant", help_text="in the game"
    )
    practice_seat = models.OneToOneField(
        Seat, on_delete=models.SET_NULL, null=True, blank=True, related_name="practice_participant"
    )

    stage = models.CharField(max_length=14, choices=Stage, default=Stage.WELCOME)
    entered = models.JSONField(default=dict, blank=True, help_text="stage → when it was entered, ISO in UTC")
    consented_at = models.DateTimeField(null=True, blank=True)
    last_seen_at = models.DateTimeField(null=True, blank=True, help_text="last sign of life outside the game")
    answers = models.JSONField(default=dict, blank=True, help_text="number of the question, from 1 → answer, as text")
    completion_code = models.CharField(max_length=300, blank=True, help_text="as it was shown")
    deleted_at = models.DateTimeField(null=True, blank=True, help_text="when their personal data were deleted")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.UniqueConstraint(fields=["study", "label"], name="participant_label"),
            models.UniqueConstraint(
                fields=["table", "firm"], condition=models.Q(table__isnull=False), name="participant_place_at_table"
            ),
        ]

    def __str__(self) -> str:
        return self.label

    def entered_at(self, stage: str) -> datetime | None:
        """When a stage was entered; None if it was not, or the data were deleted."""
        written = self.entered.get(stage)
        return datetime.fromisoformat(written) if written else None

    @property
    def stage_since(self) -> datetime | None:
        """Since when the participant has been where they are."""
        return self.entered_at(self.stage) or (self.created_at if self.stage == self.Stage.WELCOME else None)


class QuizAttempt(models.Model):
    """One go at the quiz: what was asked, what was answered, how much was right."""

    participant = models.ForeignKey(Participant, on_delete=models.CASCADE, related_name="attempts")
    number = models.PositiveIntegerField(help_text="of the participant's own, from 1")
    answers = models.JSONField(help_text="key, question, answer, is_right of each question")
    right = models.PositiveSmallIntegerField()
    of = models.PositiveSmallIntegerField()
    at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["participant", "number"]
        constraints = [
            models.UniqueConstraint(fields=["participant", "number"], name="quiz_attempt_number"),
            models.CheckConstraint(condition=models.Q(right__lte=models.F("of")), name="quiz_attempt_right"),
        ]

    def __str__(self) -> str:
        return f"attempt {self.number} of {self.participant}: {self.right} of {self.of}"
