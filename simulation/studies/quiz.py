"""The comprehension quiz: questions made from the rules and a scenario's public numbers, as the briefing has them.

Pure. Whatever RULES.md section 11 calls hidden is neither asked nor told, nor can it be read off the wrong choices:
they are made from the right ones. Nothing is asked of a number that is nought: "0 USD" beside "Nothing" would be two
right answers.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from typing import Final, NamedTuple

from marketplace.economy.rules import Role, RoleRules
from simulation.engine.clock import CALLS_PER_DAY, MINUTES_PER_CALL, OPENING_MINUTE, clock_text
from simulation.engine.scenario import Scenario
from simulation.engine.tools import tools_of
from simulation.players.briefing import counted, mornings_later, number, percent, roles_by_firm

EXAMPLE_INVOICE_USD: Final = 200
EXAMPLE_DAYS_LATE: Final = 10


class QuizQuestion(NamedTuple):
    """A question, its choices, the place of the right one among them, and why it is right."""

    key: str
    text: str
    choices: tuple[str, ...]
    right: int
    explanation: str


class Subject(NamedTuple):
    """What questions are made from: a scenario, and the firm of the one who is asked."""

    scenario: Scenario
    firm: str
    role: Role
    own: RoleRules


def quiz(scenario: Scenario, firm: str) -> list[QuizQuestion]:
    """All that can be asked of a firm's player, the right choice first: ten questions or more in any scenario."""
    role = roles_by_firm(scenario)[firm]
    subject = Subject(scenario, firm, role, scenario.opening_of(firm, role))
    made = (make(subject) for make in MAKERS)
    return [question for question in made if question and len(question.choices) > 1]


def asked(pool: Iterable[QuizQuestion], how_many: int, seed: str) -> list[QuizQuestion]:
    """Some questions of the pool with their choices, all in an order that follows from the seed alone."""
    chance = random.Random(seed)
    questions = list(pool)
    chosen = chance.sample(questions, min(how_many, len(questions)))
    return [_shuffled(question, chance) for question in chosen]


def _shuffled(question: QuizQuestion, chance: random.Random) -> QuizQuestion:
    places = list(range(len(question.choices)))
    chance.shuffle(places)
    choices = tuple(question.choices[place] for place in places)
    return question._replace(choices=choices, right=places.index(question.right))


def _question(key: str, text: str, right: str, wrong: Iterable[str], explanation: str) -> QuizQuestion:
    """A question whose wrong choices differ from the right one and from each other, in any scenario."""
    choices = tuple(dict.fromkeys([right, *wrong]))
    return QuizQuestion(key, text, choices, 0, explanation)


def _cost_of_an_action(subject: Subject) -> QuizQuestion:
    minutes = MINUTES_PER_CALL
    return _question(
        "cost_of_an_action",
        "You ask for something and it is refused. How much of the day has it taken?",
        f"{minutes} minutes",
        ("Nothing", f"{minutes // 2} minutes", "The rest of the day"),
        f"Every action takes {minutes} minutes, refused or not, and looking something up too.",
    )


def _actions_a_day(subject: Subject) -> QuizQuestion:
    return _question(
        "actions_a_day",
        "For how many actions has a day time?",
        f"{CALLS_PER_DAY}",
        (f"{CALLS_PER_DAY // 2}", f"{CALLS_PER_DAY * 2}", "As many as I like"),
        f"A day has ten hours and an action takes {MINUTES_PER_CALL} minutes, so there is time for {CALLS_PER_DAY}; "
        "an answer to something that has just happened to you can come on top.",
    )


def _waiting(subject: Subject) -> QuizQuestion:
    return _question(
        "waiting",
        "You wait for the next day. When can you act again?",
        "The next morning, or as soon as something wakes me",
        (
            "The next morning, and not before, whatever happens",
            f"{MINUTES_PER_CALL} minutes later, as after any action",
            "As soon as all the other firms have acted",
        ),
        "You rest until the next morning, or until something wakes you, such as an offer on your listing.",
    )


def _storage(subject: Subject) -> QuizQuestion | None:
    cap = subject.own.storage_cap_kg
    if not cap:
        return None
    return _question(
        "storage",
        "How much can your firm store?",
        f"{number(cap)} kg of all items together, with what is being made and what is on its way to me",
        (
            f"{number(cap)} kg of each item",
            f"{number(cap)} kg of all items together, without what is on its way to me",
            "As much as I like",
        ),
        f"The cap of {number(cap)} kg is for all items together, and what you are making or have coming counts too.",
    )


def _operating_cost(subject: Subject) -> QuizQuestion | None:
    opex = subject.own.opex
    if not opex:
        return None
    return _question(
        "operating_cost",
        "You do nothing at all for a day. What does the day cost your firm?",
        f"{number(opex)} USD",
        ("Nothing", f"{number(opex * 2)} USD", f"{number(opex + 100)} USD"),
        f"The operating cost of {number(opex)} USD is charged every morning, whatever you do.",
    )


def _listing(subject: Subject) -> QuizQuestion:
    return _question(
        "listing",
        "You have listed 10 kg for sale, and roast, sell or lose them elsewhere. What of the listing?",
        "It reserved nothing: I cannot accept an offer on it without the goods",
        (
            "It reserved the goods: I cannot sell or roast them elsewhere",
            "It is closed at once, and I pay a fine to whoever made an offer",
            "It stays, and whoever accepts it gets goods from the next batch",
        ),
        "You must hold goods to list them and again to accept an offer, but a listing reserves nothing.",
    )


def _offer(subject: Subject) -> QuizQuestion:
    return _question(
        "offer",
        "When does an offer on a listing become a deal?",
        "When the seller accepts it",
        ("At once, if it meets the asking price", "The next morning", "When the buyer pays"),
        "An offer stays pending until the seller accepts it, the bidder withdraws it, or the listing closes.",
    )


def _delivery(subject: Subject) -> QuizQuestion:
    days = subject.scenario.delivery_days + subject.own.delivery_extra_days
    when = mornings_later(days)
    return _question(
        "delivery",
        "You accept an offer on your listing. When do the goods arrive at the buyer, if nothing goes wrong?",
        when,
        ("At once", mornings_later(max(1, days) + 2), "When the buyer has paid"),
        f"The goods leave you at once and arrive {when}, at {clock_text(OPENING_MINUTE)}.",
    )


def _lost_shipment(subject: Subject) -> QuizQuestion | None:
    if not subject.scenario.loss:
        return None
    return _question(
        "lost_shipment",
        "A shipment is lost. Who bears it?",
        "The seller bears its cost; the buyer gets no invoice",
        (
            "The buyer bears it; the invoice must be paid all the same",
            "Seller and buyer bear half of its cost each",
            "Nobody; it is sent again the next morning",
        ),
        "What is lost is the seller's cost. The buyer is not invoiced, and has no goods either.",
    )


def _invoice(subject: Subject) -> QuizQuestion:
    return _question(
        "invoice",
        "An invoice to you falls due and you have the cash. What happens?",
        "Nothing is paid until I pay it",
        (
            "It is paid from my cash by itself",
            "The goods go back to the seller",
            "It is paid at closing time",
        ),
        "No invoice is paid by itself: the buyer must pay it, in full.",
    )


def _payment_terms(subject: Subject) -> QuizQuestion:
    days = int(tools_of(subject.role)["make_offer"].arguments.model_fields["payment_terms_days"].default)
    return _question(
        "payment_terms",
        "You make an offer and say nothing of the days to pay. How many do you offer?",
        counted(days, "day"),
        ("None: payment at once", counted(max(1, days // 2), "day"), counted(days * 2 or 60, "day")),
        f"The usual time to pay is {counted(days, 'day')} from delivery; another can be agreed.",
    )


def _late_fee(subject: Subject) -> QuizQuestion | None:
    rate = subject.scenario.late_fee
    fee = round(EXAMPLE_INVOICE_USD * rate * EXAMPLE_DAYS_LATE, 2)
    if not fee:
        return None
    return _question(
        "late_fee",
        f"An invoice of {EXAMPLE_INVOICE_USD} USD is paid {EXAMPLE_DAYS_LATE} evenings after its due day. "
        "What of late fees?",
        f"The buyer pays {number(fee)} USD more",
        (
            f"The seller pays {number(fee)} USD",
            f"The buyer pays {number(round(fee * 10, 2))} USD more",
            "There are none",
        ),
        f"Every evening an overdue invoice grows by {percent(rate)} % of what is still owed of its principal, and who "
        "owes it pays that too.",
    )


def _returns(subject: Subject) -> QuizQuestion | None:
    days = subject.scenario.return_window_days
    if not days:
        return None
    return _question(
        "returns",
        "A buyer wants to send back goods it still holds. Until when can it?",
        f"Up to {counted(days, 'day')} after the day of the invoice, and the seller cannot refuse",
        (
            f"Up to {counted(days, 'day')} after the day of the invoice, if the seller agrees",
            f"Up to {counted(days * 2, 'day')} after the day of the invoice, and the seller cannot refuse",
            "Never: what is delivered is sold",
        ),
        f"Within {counted(days, 'day')} the seller cannot refuse; the deal's price is credited.",
    )


def _messages(subject: Subject) -> QuizQuestion:
    return _question(
        "messages",
        "A firm promises you a price in a message. What is that worth?",
        "Nothing binds but a deal, and only the two of us can read it",
        (
            "It must keep the price, and only the two of us can read it",
            "Nothing binds but a deal, and all firms can read it",
            "It is an offer that I can accept, and only the two of us can read it",
        ),
        "Any firm may write to any other; only those two can read it, and a promise binds nobody.",
    )


def _bankruptcy(subject: Subject) -> QuizQuestion:
    return _question(
        "bankruptcy",
        "Your cash is below zero when your turn comes. What happens?",
        "My firm is bankrupt for good and never acts again",
        (
            "My firm gets a loan and pays interest on it",
            "My firm must sell something before it can act again",
            "My firm rests until somebody pays an invoice",
        ),
        "A firm whose cash is below zero when its turn comes is bankrupt for good.",
    )


def _same_minute(subject: Subject) -> QuizQuestion:
    return _question(
        "same_minute",
        "Two firms act at the same minute. What does each know of the other's action?",
        "Nothing; the actions are carried out one after the other, so one can be refused",
        (
            "The second sees the first's action and can answer to it at once",
            "Both see both actions before they are carried out",
            "Nothing; only the first one's action is carried out, the other waits a day",
        ),
        "Firms that act at the same minute decide unseen by each other; an earlier action can spoil a later one.",
    )


def _yield(subject: Subject) -> QuizQuestion | None:
    """Kilograms out of a roast, of an amount within the day's cap, and one that comes out whole if there is one."""
    roasts = [(name, item.roasting) for name, item in subject.scenario.items.items() if item.roasting]
    if subject.role != "roaster" or not roasts or not subject.scenario.roast_daily_cap_kg:
        return None
    item, roasting = roasts[0]
    rate = roasting.output_per_input
    cap = subject.scenario.roast_daily_cap_kg
    within = (kg for kg in (20, 50, 40, 10) if kg <= cap)
    into = next((kg for kg in within if abs(kg * rate - round(kg * rate)) < 1e-9), cap)
    out = round(into * rate)
    return _question(
        "yield",
        f"You roast {into} kg of {roasting.green_item}. How much {item} comes of it?",
        f"{number(out)} kg",
        (f"{number(into)} kg", f"{number(max(0, 2 * out - into))} kg", f"{number(2 * into - out)} kg"),
        f"Each kg of {roasting.green_item} gives {number(rate)} kg of {item}.",
    )


def _roasting_cap(subject: Subject) -> QuizQuestion | None:
    cap = subject.scenario.roast_daily_cap_kg
    if subject.role != "roaster" or not cap:
        return None
    return _question(
        "roasting_cap",
        "How much green can you put to roast in a day?",
        f"At most {number(cap)} kg, all kinds together",
        (
            f"At most {number(cap)} kg of each kind",
            f"At most {number(cap * 2)} kg, all kinds together",
            "As much as I hold and have room for",
        ),
        f"The daily cap is {number(cap)} kg of green, all kinds together.",
    )


def _growing(subject: Subject) -> QuizQuestion | None:
    made = ((name, item.production) for name, item in subject.scenario.items.items())
    grown = [(name, production) for name, production in made if production and production.cost]
    if subject.role != "farmer" or not grown:
        return None
    item, production = grown[0]
    when = mornings_later(production.lag_days)
    return _question(
        "growing",
        f"You grow 5 kg of {item}. When do you pay, and when are they in your store?",
        f"I pay {number(production.cost * 5)} USD at once, and they are there {when}",
        (
            f"I pay {number(production.cost * 5)} USD when they are there, {when}",
            f"I pay {number(production.cost * 5)} USD at once, and they are there at once",
            "Growing costs nothing",
        ),
        f"Growing costs {number(production.cost)} USD a kg, paid in cash when it starts.",
    )


def _shelf_price(subject: Subject) -> QuizQuestion | None:
    sold = [(name, item.consumers) for name, item in subject.scenario.items.items() if item.consumers]
    if subject.role != "retailer" or not sold:
        return None
    item, consumers = sold[0]
    most = number(consumers.reservation_price)
    return _question(
        "shelf_price",
        f"From what shelf price on do consumers buy no {item} from you for certain?",
        f"Above {most} USD a kg",
        (
            f"Above {number(round(consumers.reservation_price / 2, 2))} USD a kg",
            f"Above {number(consumers.reservation_price * 2)} USD a kg",
            "At none",
        ),
        f"Nobody pays more than {most} USD a kg. A price of 0 takes the item off the shelf.",
    )


MAKERS: Final[tuple[Callable[[Subject], QuizQuestion | None], ...]] = (
    _cost_of_an_action,
    _actions_a_day,
    _waiting,
    _storage,
    _operating_cost,
    _listing,
    _offer,
    _delivery,
    _lost_shipment,
    _invoice,
    _payment_terms,
    _late_fee,
    _returns,
    _messages,
    _bankruptcy,
    _same_minute,
    _yield,
    _roasting_cap,
    _growing,
    _shelf_price,
)
