"""A played run, and a study around it, whose every text is hostile: markup, formulas, controls, endless length.

Most of it comes in where models, programs and persons hand it in, through the tools and the seats of a run that is
really played. What only providers, researchers or older versions could have written is written into the tables.
"""

from __future__ import annotations

import itertools
import json
import random
from typing import Any, Final

from django.apps import apps
from django.contrib.auth.models import User
from django.db import models
from django.utils import timezone

from marketplace.models import Firm, Invoice
from marketplace.rows import number_of
from simulation.engine.decision import WAIT, Decision
from simulation.engine.scenario import scenario_from
from simulation.models import Ask, Call, ChatSummary, Conversation, Run, Seat, Turn
from simulation.players.llm.conversation import Compaction
from simulation.players.llm.settings import Limits, ModelSettings
from simulation.seats import links, verbs
from simulation.studies import links as study_links
from simulation.studies import verbs as study_verbs
from simulation.studies.models import Participant, QuizAttempt, Study
from tests.seat_play import play, policies_of, seat_of, seated_run
from tests.study_plans import again, invited, small_study, walk_to
from tests.talk_rows import add_ask, add_call, add_messages, answer_of

ELEMENT: Final = "hostile-element"
ATTRIBUTE: Final = "hostile-attribute"
MARK: Final = "alert(1)"
ENDLESS: Final = 10_000

TEXTS: Final = (
    f"<script>{MARK}</script>",
    '=HYPERLINK("http://x","y")',
    f"<{ELEMENT} onclick={MARK}>",
    f'"><{ELEMENT} {ATTRIBUTE}="{MARK}">',
    "+1+1",
    f"' {ATTRIBUTE}='{MARK}' onload='{MARK}",
    "@SUM(1)",
    f'" {ATTRIBUTE} autofocus onfocus="{MARK}',
    "-2+3",
    "\t=1+1",
    f"</textarea></title></script><{ELEMENT}>",
    "\r=1+1",
    f"javascript:{MARK}",
    "\n@SUM(1)",
    f"\N{RIGHT-TO-LEFT OVERRIDE}yenom \N{LEFT-TO-RIGHT ISOLATE}<{ELEMENT}>{MARK}\N{RIGHT-TO-LEFT MARK}",
    " \ufeff=1+1",
    f"\x01\x0b\x1f\x7f\x85\u2028\ufffe=1+1<{ELEMENT}>",
    f"{{{{ run.name }}}}{{% now 'Y' %}}%{{x}}<extra>{MARK}</extra>",
    f'<a href="javascript:{MARK}">&lt;{ELEMENT}&gt;</a>',
    f"<{ELEMENT}>{'=' * ENDLESS}"[:ENDLESS],
)
"""Each breaks out of another place: an element, an attribute, raw text, a template, a cell, the label of a chart."""

SEATED: Final = ("farmer_A", "roaster_A", "retailer_A")
PROGRAM: Final = "roaster_B"
MODEL: Final = "retailer_B"
AFTER_WAITING: Final = (Participant.Stage.GAME, Participant.Stage.QUESTIONNAIRE, Participant.Stage.DONE)


OURS: Final = {
    "marketplace.Firm": {"name", "stock_kg", "prices"},
    "marketplace.Listing": {"item"},
    "marketplace.Deal": {"item"},
    "marketplace.Batch": {"input_item", "item"},
    "marketplace.ConsumerSale": {"item"},
    "marketplace.Transfer": {"reason", "item"},
    "simulation.Run": {
        *("evaluated", "rules_version", "players", "model_settings", "limits", "waiting_for", "lease_owner"),
    },
    "simulation.Turn": {"decided_by"},
    "simulation.DayEnd": {"stock_kg", "prices"},
    "simulation.Ask": {"decided_by", "lease_owner"},
    "studies.Study": {"persons", "players", "model_settings", "limits", "seeds"},
    "studies.Participant": {"firm", "entered"},
}
"""Columns that hold nothing but names, numbers and words that a scenario or this program has checked or made."""


def is_hostile(value: Any) -> bool:
    """Whether a column's value holds one of the texts that could break out of a page."""
    text = value if isinstance(value, str) else json.dumps(value)
    return MARK in text or ELEMENT in text


def harmless_columns() -> list[str]:
    """The columns of text, not known to be ours, in which no row is hostile."""
    rooms = [apps.get_app_config(name) for name in ("marketplace", "simulation", "studies")]
    return [
        f"{table._meta.label}.{column.name}"
        for room in rooms
        for table in room.get_models()
        for column in text_columns(table)
        if not any(map(is_hostile, table._default_manager.values_list(column.name, flat=True)))
    ]


def text_columns(table: type[models.Model]) -> list[Any]:
    """The columns of a table that may hold what somebody wrote."""
    kinds = (models.CharField, models.TextField, models.JSONField)
    ours = OURS.get(table._meta.label, set())
    columns = [column for column in table._meta.concrete_fields if isinstance(column, kinds)]
    return [column for column in columns if not column.choices and column.name not in ours]


class HostileRun:
    """The run, a second one that still waits for its persons, and a study; each hostile all over."""

    def __init__(self) -> None:
        self.chance = random.Random(3)
        self.researcher = User.objects.create_superuser("rosa", first_name=self.text(150), last_name=self.text(150))
        self.run = self._played()
        self.waiting = self._waiting()
        self._let_a_model_have_played()
        self.study, self.unbegun = self._studied(), small_study(name="unbegun")
        self._write_over_seats()
        self._write_over_study()
        self.run.refresh_from_db()

    def text(self, longest: int = ENDLESS) -> str:
        """A hostile text, cut to a length."""
        return self.chance.choice(TEXTS)[:longest]

    def token(self, firm: str, run: Run | None = None) -> str:
        """The key of a seat."""
        return links.token_of(seat_of(run or self.run, firm))

    def ways(self) -> list[str]:
        """The keys of all participants, each at another stage."""
        return [study_links.token_of(one) for one in Participant.objects.filter(study=self.study)]

    def _played(self) -> Run:
        scenario = scenario_from({"days": 3, "name": TEXTS[3], "festival": {"first_day": 1, "last_day": 1}})
        run = seated_run(*SEATED, scenario=scenario, players={PROGRAM: "remote", MODEL: "remote"})
        self._play(run)
        assert run.is_over, "the hostile run was not played to its end"
        Run.objects.filter(pk=run.pk).update(name=f"{TEXTS[3]} run"[:80], status_reason="".join(TEXTS))
        Firm.objects.filter(run=run).exclude(name__in=[*SEATED, PROGRAM]).update(player=TEXTS[2])
        return run

    def _waiting(self) -> Run:
        """A run of an assisted person and others, under way."""
        run = seated_run(*SEATED, days=2, information="assisted", players={PROGRAM: "remote"})
        self._play(run, turns=60)
        while verbs.open_turn(seat_of(run, PROGRAM)) is None:
            self._play(run, turns=1)
        Run.objects.filter(pk=run.pk).update(name=f"=1+1 {TEXTS[2]}"[:80])
        for seat in Seat.objects.filter(run=run).exclude(firm__name="retailer_A"):
            verbs.take(seat)
        return run

    def _play(self, run: Run, turns: int = 10_000) -> None:
        """Plays the scripts' trade, with hostile words in it and around it."""
        policy, numbers = policies_of(run), itertools.count()

        def decide(seat: Seat, turn: Ask) -> Decision:
            tool, arguments, _ = policy(seat, turn)
            number = next(numbers)
            if tool == WAIT.tool and number % 5:  # a script has nothing to do: it will not miss the answer
                return self._hostile_decision(seat.firm, number)
            if tool == "make_offer":
                arguments = {**arguments, "message": self.text()}
            return Decision(tool, arguments, self.text())

        play(run, decide, turns=turns)

    def _hostile_decision(self, firm: Firm, number: int) -> Decision:
        """A letter, a return, or a tool that nobody has."""
        others = Firm.objects.filter(run=firm.run_id).exclude(pk=firm.pk)
        letter = {"recipient": others[number % len(others)].name, "title": self.text(80), "body": self.text()}
        invoice = Invoice.objects.filter(debtor=firm, deal__isnull=False).order_by("pk").last()
        invoice_id = f"I{number_of(invoice.pk)}" if invoice else self.text(20)
        returned = {"invoice_id": invoice_id, "quantity_kg": 1, "reason": self.text()}
        decisions = (
            Decision("send_message", letter, self.text()),
            Decision("return_shipment", returned, self.text()),
            Decision(self.text(60), {self.text(): self.text(), "qty": [self.text()]}, self.text()),
        )
        return decisions[number % len(decisions)]

    def _let_a_model_have_played(self) -> None:
        """Turns one seat's answers into a model's, with the talk that led to them."""
        run, firm = self.run, Firm.objects.get(run=self.run, name=MODEL)
        settings = ModelSettings(model="openai/gpt-5.5").model_dump(mode="json")
        run.refresh_from_db()
        run.players[MODEL] = "model"
        run.model_settings, run.limits = {MODEL: settings}, Limits().model_dump(mode="json")
        run.save()
        for rows in (Seat, Ask, Conversation):
            rows.objects.filter(firm=firm).delete()
        tools = [{"name": self.text(60), "description": TEXTS[0], "parameters": {"type": "object"}}]
        words = {"system": "".join(TEXTS), "tools": json.dumps(tools), "compaction": Compaction(*TEXTS[2:4]).as_json}
        Conversation.objects.create(pk=firm.pk, run=run, firm=firm, **words)
        turns = list(Turn.objects.filter(firm=firm)[:40])
        asks = [self._talk(turn) for turn in turns]
        for number, (first, until) in enumerate([(1, 4), (1, 7)], 1):
            row = {"run": run, "firm": firm, "number": number, "first": first, "until": until}
            ChatSummary.objects.create(**row, ask=asks[number], text=TEXTS[0] + self.text())

    def _talk(self, turn: Turn) -> Ask:
        """How one turn came about, with a call that failed and one that did not."""
        given = json.dumps({"result": {self.text(): self.text()}, "observation": {"woken_by": [self.text()]}})
        ask = add_ask(turn.run, turn, given=given, trouble=TEXTS[3], flags=[TEXTS[0]])
        names: dict[str, Any] = {
            "model_asked": self.text(120),
            "model_answered": self.text(200),
            "finish_reason": self.text(40),
        }
        add_call(ask, **names, outcome=Call.Outcome.FAILED, error=self.text())
        add_call(ask, **names, raw=self.text())
        add_messages(ask, {"role": "user", "content": self.text()}, answer_of(ask), {"role": self.text()})
        return ask

    def _studied(self) -> Study:
        """A study with a participant at every stage."""
        questions = [{"kind": "text", "text": "Why?"}]
        study = small_study(days=1, practice_days=1, quiz_pass_mark=1, start="researcher", questionnaire=questions)
        after = list(AFTER_WAITING)
        before = [stage for stage in Participant.Stage if stage not in after]
        for one, stage in zip(invited(study, *before), before, strict=True):
            if stage == Participant.Stage.DECLINED:
                study_verbs.decline(one)
            else:
                walk_to(one, stage)
        for one, stage in zip(invited(study, *after), after, strict=True):
            self._walk_on(one, stage)
        return study

    def _walk_on(self, participant: Participant, stage: str) -> None:
        """To a stage that the researcher must open."""
        table = walk_to(participant, Participant.Stage.WAITING).table
        assert table
        study_verbs.start_table(table)
        if stage != Participant.Stage.GAME:
            walk_to(participant, Participant.Stage.QUESTIONNAIRE)
        if stage == Participant.Stage.DONE:
            study_verbs.hand_in(again(participant), {1: self.text()})

    def _write_over_seats(self) -> None:
        """What only a researcher, or the person at a seat, could have written."""
        queue = [Decision(text[:60], {text: text}, text)._asdict() for text in TEXTS]
        texts = {"label": TEXTS[3], "queue_stopped": TEXTS[7], "nudge": TEXTS[2] * 4, "notes": "".join(TEXTS)}
        Seat.objects.update(queue=queue, nudged_at=timezone.now(), **texts)

    def _write_over_study(self) -> None:
        """What a researcher wrote, and a participant answered."""
        questions = [
            {"kind": "text", "text": TEXTS[0], "choices": []},
            {"kind": "choice", "text": TEXTS[3], "choices": list(TEXTS[:6])},
            {"kind": "scale", "text": TEXTS[-1][:500], "choices": [TEXTS[2], TEXTS[5]]},
        ]
        words = {
            "name": TEXTS[3],
            "completion_code": TEXTS[7],
            "redirect_url": f"https://x/?javascript:{MARK}&{{label}}",
        }
        scenario = {**self.study.scenario, "name": TEXTS[0]}
        words |= dict.fromkeys(("consent", "briefing"), "\n\n".join(TEXTS))
        Study.objects.update(**words, scenario=scenario, questionnaire=questions)
        for number, one in enumerate(Participant.objects.all()):
            one.label, one.completion_code = f"{TEXTS[number]}{TEXTS[3]}"[:80], TEXTS[number] + TEXTS[0]
            one.answers = {"1": TEXTS[number], "2": TEXTS[1], "3": "".join(TEXTS)}
            one.save()
        for attempt in QuizAttempt.objects.all():
            attempt.answers = [{**answer, "question": TEXTS[3], "answer": TEXTS[0]} for answer in attempt.answers]
            attempt.save()
