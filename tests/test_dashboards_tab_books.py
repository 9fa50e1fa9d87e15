"""The tab Firm: statements as of a day, and the transfers behind every number of them."""

from __future__ import annotations

import re
from html import unescape
from typing import Any

import pytest
from django.http import QueryDict
from django.test import Client
from pytest_django import DjangoAssertNumQueries

from dashboards.tabs import books
from dashboards.tabs.books_debts import DEBTS_SHOWN
from dashboards.tabs.books_ledger import question_in, sign_of_account
from dashboards.tabs.books_sums import BEFORE, DAY, START, Cell
from dashboards.tabs.look import Look
from dashboards.tabs.pages import ROWS_PER_PAGE
from marketplace.admin.filters import accounts_of
from marketplace.economy.money import micros, usd
from marketplace.models import Firm, Invoice, Transfer
from simulation.models import Run, Turn
from tests.rows import SCRIPT, LittleRun
from tests.small_runs import make_run
from tests.wild_runs import wild_run

pytestmark = pytest.mark.django_db

SESSION_AND_USER = 2
RUN_AND_FIRMS = 2


def look_at(run: Run, until: int, firm: str = "", knower: str = "", *, after: int = -1, **asked: str) -> Look:
    """A look at a run as the page's endpoints make it."""
    query = QueryDict(mutable=True)
    query.update({name: value for name, value in {"firm": firm, **asked}.items() if value})
    firms = list(Firm.objects.filter(run=run).order_by("pk"))
    known = next((each for each in firms if each.name == knower), None)
    return Look(run, firms, until, after, known, query)


def context_of(run: Run, until: int, firm: str = "", knower: str = "", **asked: str) -> dict[str, Any]:
    """What the tab shows."""
    return books.context(look_at(run, until, firm, knower, after=-1, **asked))


def amounts(rows: list[Any], title: str) -> list[float | None]:
    """The numbers of a line of a statement, in USD."""
    (row,) = [row for row in rows if row.title == title]
    return [cell and usd(cell.amount_micros) for cell in row.cells]


def cells_in(context: dict[str, Any]) -> list[Cell]:
    """Every number on the tab that leads to transfers."""
    rows = [*context["income"], *context["balance"], *context["cash"]]
    cells = [cell for row in rows for cell in row.cells if cell]
    cells += [stock.cost for stock in context["stock"]]
    for debts in context["debts"]:
        cells += [debt.owed for debt, _, _ in debts["rows"] if debt.owed.invoice]
        cells.append(debts["side"].total)
    return cells


def sum_by_hand(transfers: list[Transfer], cell: Cell, until: int) -> int:
    """What the transfers behind a number come to, added up one after the other."""
    accounts = accounts_of(cell.account)
    total = 0
    for one in transfers:
        is_then = {DAY: one.day == until, START: one.day <= until, BEFORE: one.day < until}[cell.within]
        is_meant = (
            cell.reason in ("", one.reason)
            and cell.goods in ("", one.item)
            and (not cell.invoice or one.invoice_id == one.pk - one.number + cell.invoice)
        )
        if is_then and is_meant:
            total += one.amount_micros * ((one.debit in accounts) - (one.credit in accounts))
    return total * sign_of_account(cell.account)


# Statements of a little run, reckoned by hand


def test_the_income_statement_tells_the_day_and_all_days_until_then() -> None:
    run = LittleRun().run
    income = context_of(run, 1)["income"]
    assert amounts(income, "revenue") == [92, 92]
    assert amounts(income, "cost of goods sold") == [58.8, 58.8]
    assert amounts(income, "rent and utilities") == [30, 60]
    assert amounts(income, "net income") == [3.2, -26.8]
    assert amounts(context_of(run, 0)["income"], "net income") == [-30, -30]


def test_the_balance_sheet_tells_the_evening_before_the_change_and_the_evening() -> None:
    run = LittleRun().run
    balance = context_of(run, 1)["balance"]
    # Paid on Day 0: 30.00 of rent and 12.345678 of labour. On Day 1 92.00 came in, and 30.00 of rent went.
    assert amounts(balance, "cash") == [957.654322, 62, 1019.654322]
    assert amounts(balance, "goods in transit") == [58.8, -58.8, 0]
    assert amounts(balance, "equity") == [1176.4 - 30, 3.2, 1149.6]
    assert amounts(context_of(run, 0)["balance"], "cash") == [None, 957.654322, 957.654322]


def test_cash_is_told_by_reason() -> None:
    cash = context_of(LittleRun().run, 1)["cash"]
    assert [row.title for row in cash] == [
        "opening cash",
        "payment received",
        "roasting labour",
        "daily operating cost",
        "change in cash",
    ]
    assert amounts(cash, "payment received") == [92, 92]
    assert amounts(cash, "daily operating cost") == [-30, -60]
    assert amounts(cash, "change in cash") == [62, 1019.654322]


def test_stock_stands_at_its_weighted_average_cost() -> None:
    run = LittleRun().run
    (stock,) = context_of(run, 1)["stock"]
    # 30 kg at 5.88, of which 10 kg were sold; the little run's row says that 6 kg are left of what cost 117.60.
    assert (stock.item, stock.quantity_kg, usd(stock.cost.amount_micros)) == ("roasted_coffee_kg", 6, 117.6)
    assert stock.average == "19.6000"


def test_an_invoice_is_open_on_the_evenings_before_it_is_paid() -> None:
    little = LittleRun()
    Transfer.objects.filter(reason__in=("invoice paid", "payment received")).update(day=2, minute=2 * 1440 + 600)
    Invoice.objects.update(settled_minute=2 * 1440 + 600)
    Run.objects.filter(pk=little.run.pk).update(day=2)
    little.run.refresh_from_db()
    owed, owing = context_of(little.run, 1, "roaster_A")["debts"]
    ((debt, name, _),) = owed["rows"]
    assert (debt.label, name, debt.about, debt.due_day) == ("I1", "retailer_A", "10 kg roasted coffee", 31)
    assert usd(debt.owed.amount_micros) == 92
    assert owing["rows"] == []
    ((debt, name, _),) = context_of(little.run, 1, "retailer_A")["debts"][1]["rows"]
    assert (debt.label, name, usd(debt.owed.amount_micros)) == ("I1", "roaster_A", 92)
    assert context_of(little.run, 2, "roaster_A")["debts"][0]["rows"] == []
    assert context_of(little.run, 0, "roaster_A")["debts"][0]["rows"] == []


# Played runs: every number against sums made one transfer at a time


def test_every_number_is_the_sum_of_the_transfers_it_leads_to() -> None:
    run = wild_run()
    checked = 0
    for firm in Firm.objects.filter(run=run, name__endswith="_A"):
        transfers = list(Transfer.objects.filter(firm=firm))
        for until in (0, 6, run.day):
            for cell in cells_in(context_of(run, until, firm.name, debts="all")):
                by_hand = sum_by_hand(transfers, cell, until)
                assert cell.amount_micros == by_hand, f"{firm} on Day {until}: {cell}"
                asked = QueryDict(mutable=True)
                asked.update({name: str(value) for name, value in cell._asdict().items() if value})
                question = question_in(asked)
                assert question.answer(firm, until).amount_micros == by_hand
                effects = [question.effect(row) for row in question.transfers(firm, until)]
                assert sum(effects) == by_hand
                assert all(effects)
                checked += 1
    assert checked > 300


def test_every_evening_agrees_with_what_the_engine_kept() -> None:
    run = wild_run()
    for firm in Firm.objects.filter(run=run):
        for until in range(run.day + 1):
            context = context_of(run, until, firm.name)
            # The end of the last day is the firm's own row, which keeps fewer figures.
            assert len(context["checks"]) >= (9 if until < run.day else 4)
            assert context["disagreeing"] == []
            assert context["identity"].gap_micros == 0


def test_stock_and_debts_add_up_to_the_balance_sheet() -> None:
    run = wild_run()
    owed_in_all = 0
    for firm in Firm.objects.filter(run=run):
        for until in range(run.day + 1):
            context = context_of(run, until, firm.name)
            balance = {row.title: row.cells[-1].amount_micros for row in context["balance"]}
            assert sum(stock.cost.amount_micros for stock in context["stock"]) == balance["inventory"]
            for debts in context["debts"]:
                assert debts["side"].total.amount_micros == balance[debts["side"].account], (firm, until)
                owed_in_all += debts["side"].invoices
    assert owed_in_all > 100


def test_an_open_invoice_at_the_end_is_owed_as_its_own_row_says() -> None:
    run = wild_run()
    checked = 0
    for firm in Firm.objects.filter(run=run):
        for debts in context_of(run, run.day, firm.name, debts="all")["debts"]:
            for debt, _, _ in debts["rows"]:
                row = Invoice.objects.get(pk=run.pk * 10**9 + debt.number)
                owed = row.principal_micros - row.credited_micros + row.fees_micros
                assert debt.owed.amount_micros == owed
                assert debt.is_written_off == (row.status == "written off")
                checked += 1
    assert checked > 10


def text_of(html: str) -> str:
    """What a reader sees, without spaces."""
    return re.sub(r"<[^>]+>|\s", "", unescape(html))


def test_a_click_on_any_number_shows_transfers_that_add_up_to_it(staff: Client) -> None:
    run = wild_run()
    page = staff.get(f"/runs/{run.pk}/tabs/books/?day=6&firm=roaster_A").content.decode()
    links = re.findall(r'<a class="books-number[^>]*? href="([^"]*)"[^>]*>(.*?)</a>', page)
    assert len(links) > 40
    for address, number in links:
        query = unescape(address).partition("?")[2].partition("#")[0]
        ledger = staff.get(f"/runs/{run.pk}/tabs/books/?{query}").content.decode()
        answer = re.search(r'<p class="books-answer"><strong>(.*?) USD</strong>', ledger)
        assert answer
        assert text_of(answer[1]) == text_of(number), address


def test_pages_of_the_ledger_hold_every_transfer_once_in_both_directions(staff: Client) -> None:
    run = wild_run()
    firm = Firm.objects.get(run=run, name="roaster_A")
    everything = [row.number for row in Transfer.objects.filter(firm=firm).order_by("-pk")]
    assert len(everything) > 2 * ROWS_PER_PAGE

    def page(**asked: int) -> Any:
        words = {name: str(number) for name, number in asked.items()}
        return context_of(run, run.day, "roaster_A", within=START, **words)["ledger"]

    back, here = [], page()
    while True:
        back += [entry.number for entry in here.rows]
        if not here.earlier:
            break
        here = page(before=here.earlier)
    assert back == everything
    forth = [entry.number for entry in here.rows]
    while here.later:
        here = page(since=here.later)
        forth = [entry.number for entry in here.rows] + forth
    assert forth == everything
    assert not page().later


# Who sees what


def test_a_firm_that_looks_sees_its_own_books_whatever_is_asked() -> None:
    run = LittleRun().run
    assert context_of(run, 1)["firm"].name == "roaster_A"
    assert context_of(run, 1, "retailer_A")["firm"].name == "retailer_A"
    seen = context_of(run, 1, "roaster_A", knower="retailer_A")
    assert seen["firm"].name == "retailer_A"
    assert seen["choices"] == []
    figure = books.figures(look_at(run, 1, "roaster_A", knower="retailer_A"))["income_by_day"]
    assert figure["data"][0]["y"] == [0]  # retailer_A sold nothing on Day 0, and Day 1 is not over


def test_a_firm_that_looks_is_led_to_its_own_turns_alone(staff: Client) -> None:
    run = wild_run()
    own = {turn.number for turn in Turn.objects.filter(run=run, firm__name="roaster_A")}
    linked = set()
    for reason in ("payment received", "invoice paid", "goods shipped", "return credited"):
        address = f"/runs/{run.pk}/tabs/books/?as=roaster_A&within=start&reason={reason}"
        html = staff.get(address).content.decode()
        linked |= {int(number) for number in re.findall(rf"/runs/{run.pk}/turns/(\d+)/", html)}
        assert "?as=roaster_A" in html
    assert linked
    assert linked <= own


@pytest.mark.parametrize(
    "query",
    [
        "firm=nobody",
        "account=slush_fund",
        "within=forever",
        "before=x",
        "since=-1",
        "invoice=1e3",
        f"reason={'x' * 41}",
        "goods=%00",
        "day=x",
        "as=nobody",
    ],
)
def test_a_question_that_makes_no_sense_is_refused(staff: Client, query: str) -> None:
    run = LittleRun().run
    assert staff.get(f"/runs/{run.pk}/tabs/books/?{query}").status_code == 400


def test_hostile_words_are_text_in_the_tab(staff: Client) -> None:
    run = LittleRun().run
    Transfer.objects.filter(reason="consumer sales").update(reason=SCRIPT[:30], item=SCRIPT)
    Firm.objects.update(player=SCRIPT)
    for query in ("firm=retailer_A", f"firm=retailer_A&reason={SCRIPT[:30]}&goods={SCRIPT}&account=cash"):
        html = staff.get(f"/runs/{run.pk}/tabs/books/?{query}").content.decode()
        assert "<script" not in html
        assert "&lt;script&gt;" in html


def test_a_run_that_has_not_begun_shows_empty_books(staff: Client) -> None:
    run = make_run()
    html = staff.get(f"/runs/{run.pk}/tabs/books/").content.decode()
    assert "The store is empty." in html
    assert "Nothing open." in html
    assert "No transfer on Day 0" in html


# Charts


def trace(figure: dict[str, Any], key: str) -> dict[str, Any]:
    (found,) = [one for one in figure["data"] if one["meta"]["key"] == key]
    return dict(found)


def test_income_by_day_draws_what_each_day_earned_and_cost() -> None:
    little = LittleRun()
    Run.objects.filter(pk=little.run.pk).update(status=Run.Status.FINISHED)
    little.run.refresh_from_db()
    figure = books.figures(look_at(little.run, 1))["income_by_day"]
    assert trace(figure, "revenue")["x"] == [0, 1]
    assert trace(figure, "revenue")["y"] == [0, 92]
    assert trace(figure, "cost")["y"] == [0, -58.8]
    assert trace(figure, "operating")["y"] == [-30, -30]
    assert trace(figure, "net_income")["y"] == [-30, 3.2]


def test_the_balance_sheet_over_days_draws_each_evening() -> None:
    little = LittleRun()
    Run.objects.filter(pk=little.run.pk).update(status=Run.Status.FINISHED)
    little.run.refresh_from_db()
    figure = books.figures(look_at(little.run, 1))["balance_over_days"]
    assert trace(figure, "cash")["y"] == [957.654322, 1019.654322]
    assert trace(figure, "transit")["y"] == [58.8, 0]
    assert trace(figure, "equity")["y"] == [1146.4, 1149.6]
    owing = books.figures(look_at(little.run, 1, "retailer_A"))["balance_over_days"]
    assert trace(owing, "payables")["y"] == [0, 0]  # received and paid on the same day


def test_a_day_that_is_not_over_is_not_drawn_and_later_days_can_be_asked_for_alone() -> None:
    little = LittleRun()
    assert trace(books.figures(look_at(little.run, 1))["income_by_day"], "revenue")["x"] == [0]
    Run.objects.filter(pk=little.run.pk).update(status=Run.Status.FINISHED)
    little.run.refresh_from_db()
    later = books.figures(look_at(little.run, 1, after=0))
    assert trace(later["income_by_day"], "net_income")["x"] == [1]
    assert trace(later["balance_over_days"], "cash")["y"] == [1019.654322]  # with all that was before


def test_the_bars_add_up_to_the_lines() -> None:
    run = wild_run()
    for firm in Firm.objects.filter(run=run):
        figures = books.figures(look_at(run, run.day, firm.name))
        for name, key in (("income_by_day", "net_income"), ("balance_over_days", "equity")):
            *bars, line = figures[name]["data"]
            assert line["meta"]["key"] == key
            assert len(line["x"]) == run.days
            for index, amount in enumerate(line["y"]):
                assert micros(sum(bar["y"][index] for bar in bars)) == micros(amount)


# What it costs


def test_the_tab_costs_so_many_queries_however_much_there_is(
    staff: Client, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    run = wild_run()
    assert context_of(run, 12, "farmer_A")["debts"][0]["rows"]
    # sums, evening, invoices, their balances, the ledger's sum and page
    with django_assert_num_queries(SESSION_AND_USER + RUN_AND_FIRMS + 6):
        staff.get(f"/runs/{run.pk}/tabs/books/?day=12&firm=farmer_A&account=equity&within=start")
    with django_assert_num_queries(SESSION_AND_USER + RUN_AND_FIRMS + 1):
        staff.get(f"/runs/{run.pk}/tabs/books/figures.json?firm=farmer_A")


def test_many_debts_are_folded_until_asked_for() -> None:
    little = LittleRun()
    paid = Invoice.objects.get()
    rows = [
        {"pk": paid.pk + number, "status": "open", "paid_micros": 0, "settled_minute": None} for number in range(1, 31)
    ]
    kept = {
        field.attname: getattr(paid, field.attname) for field in Invoice._meta.concrete_fields if field.attname != "id"
    }
    Invoice.objects.bulk_create(Invoice(**{**kept, **row}) for row in rows)
    Transfer.objects.bulk_create(
        Transfer(
            pk=little.key(1000 + number),
            run=little.run,
            firm_id=paid.issuer_id,
            day=1,
            minute=1980,
            debit="receivables",
            credit="revenue",
            amount_micros=92_000_000,
            reason="delivery invoiced",
            quantity_kg=10,
            invoice_id=paid.pk + number,
        )
        for number in range(1, 31)
    )
    folded = context_of(little.run, 1, "roaster_A")["debts"][0]
    opened = context_of(little.run, 1, "roaster_A", debts="all")["debts"][0]
    assert (len(folded["rows"]), folded["side"].left_out) == (DEBTS_SHOWN, 5)
    assert (len(opened["rows"]), opened["side"].left_out) == (30, 0)
    assert folded["side"].total == opened["side"].total
    assert usd(folded["side"].total.amount_micros) == 30 * 92
