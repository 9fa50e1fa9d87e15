"""Whatever models, programs, persons and providers write stays text: in every page, label, column and cell there is."""

from __future__ import annotations

import csv
import io
import json
import re
import zipfile
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from html.parser import HTMLParser
from typing import Any, Final, NamedTuple

import pytest
from django.apps import apps
from django.db import transaction
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver, reverse

from dashboards.monitor.actions import DEEDS
from dashboards.sign_in import sign_in_path
from dashboards.study.pages import STUDY_VERBS
from dashboards.study.people import PARTICIPANT_VERBS
from dashboards.tabs import TABS
from dashboards.verbs import VERBS as RUN_VERBS
from marketplace.models import Transfer
from marketplace.rows import number_of
from simulation.models import Ask, Call, Event, Run, Seat, Turn
from simulation.studies.models import Participant, Table
from tests.hostile import ATTRIBUTE, ELEMENT, MARK, PROGRAM, TEXTS, HostileRun, harmless_columns

pytestmark = [
    pytest.mark.django_db,
    # The test client reads at once what Daphne sends piece by piece.
    pytest.mark.filterwarnings("ignore:StreamingHttpResponse must consume asynchronous iterators"),
]

ROWS: Final = 6
"""How many rows of a kind are visited; many more would say nothing new."""

NOT_FOUND_HERE: Final = {"admin:autocomplete", "admin:view_on_site", "admin:catch_all", "dashboards:seat_api:nowhere"}
"""Addresses that lead nowhere by their nature."""


LEAVING: Final = {"dashboards:sign_out", "admin:logout"}
"""Addresses at which a visit would be over."""

PARAMETERS: Final = (
    *("account", "as", "before", "after", "day", "debts", "find", "firm", "flow", "from", "group", "of", "p", "page"),
    *("pair", "part", "player", "preset", "q", "sort", "status", "tab", "text", "to", "within", "o", "run__id__exact"),
)
"""What pages are asked for after the question mark."""


class Address(NamedTuple):
    """A pattern of the resolver: what it is called, and what stands in it."""

    name: str
    route: str
    parameters: tuple[str, ...]


Arguments = list[dict[str, Any]]


def addresses(resolver: Any = None, name: str = "", route: str = "") -> Iterator[Address]:
    """Every pattern that the resolver knows."""
    for pattern in (resolver or get_resolver()).url_patterns:
        whole = route + str(pattern.pattern)
        if isinstance(pattern, URLResolver):
            inner = f"{name}{pattern.namespace}:" if pattern.namespace else name
            yield from addresses(pattern, inner, whole)
        elif isinstance(pattern, URLPattern):
            yield Address(name + name_of(pattern), whole, tuple(re.findall(r"<(?:\w+:)?(\w+)>", whole)))


def name_of(pattern: URLPattern) -> str:
    """The name of a pattern; of one without, its function's."""
    nameless = {"<path:object_id>/": "object", "(?P<url>.*)$": "catch_all"}
    return pattern.name or nameless.get(str(pattern.pattern)) or str(pattern.callback.__name__)


@pytest.fixture(scope="module")
def hostile(django_db_setup: None, django_db_blocker: Any) -> Iterator[HostileRun]:
    """One run for all tests of this file: to play it takes longer than to read it."""
    with django_db_blocker.unblock(), transaction.atomic():
        yield HostileRun()
        transaction.set_rollback(True)


@pytest.fixture
def visitor(hostile: HostileRun) -> Client:
    """A researcher who may see everything."""
    client = Client(raise_request_exception=False, headers={"Authorization": f"Bearer {program_token(hostile)}"})
    client.force_login(hostile.researcher)
    return client


def program_token(hostile: HostileRun) -> str:
    return hostile.token(PROGRAM, hostile.waiting)


def rows(table: type[Any], run: Run, parameter: str = "number", **wanted: Any) -> Arguments:
    """Some rows of a run, spread over all of it."""
    keys = list(table._default_manager.filter(run=run, **wanted).order_by("pk").values_list("pk", flat=True))
    return [{"run_id": run.pk, parameter: number_of(key)} for key in keys[:: max(1, len(keys) // ROWS)]]


def with_all(arguments: Arguments, **values: Iterable[Any]) -> Arguments:
    """Each with each value of one more argument."""
    for name, choices in values.items():
        arguments = [{**one, name: value} for one in arguments for value in list(choices)]
    return arguments


def runs(hostile: HostileRun) -> Arguments:
    return [{"run_id": hostile.run.pk}, {"run_id": hostile.waiting.pk}]


def seat_keys(hostile: HostileRun) -> Arguments:
    """A seat whose run is over, one that is played, one that nobody has taken, and none."""
    waiting = [hostile.token(firm, hostile.waiting) for firm in ("roaster_A", "farmer_A", "retailer_A")]
    return [{"token": token} for token in (hostile.token("roaster_A"), *waiting, TEXTS[5][:80])]


def ways(hostile: HostileRun) -> Arguments:
    return [{"token": token} for token in [*hostile.ways(), TEXTS[5][:80]]]


def figures(hostile: HostileRun) -> Arguments:
    """Every figure of every tab, as the tabs themselves name them."""
    client = Client()
    client.force_login(hostile.researcher)
    found = []
    for arguments in with_all(runs(hostile)[:1], tab=TABS):
        told = client.get(reverse("dashboards:tab_figures", kwargs=arguments)).json()
        found += [{**arguments, "figure": name} for name in told]
    return found


def people(hostile: HostileRun) -> Arguments:
    study = hostile.study.pk
    return [{"study_id": study, "participant_id": one.pk} for one in Participant.objects.filter(study_id=study)]


def seats(hostile: HostileRun) -> Arguments:
    found = Seat.objects.filter(run__in=[hostile.run, hostile.waiting])
    return [{"run_id": seat.run_id, "seat_id": seat.pk} for seat in found]


WAYS_IN: Final[dict[tuple[str, tuple[str, ...]], Callable[[HostileRun], Arguments]]] = {
    ("dashboards", ("run_id",)): runs,
    ("dashboards", ("run_id", "tab")): lambda one: with_all(runs(one), tab=TABS),
    ("dashboards", ("run_id", "tab", "figure")): figures,
    ("dashboards", ("run_id", "call_id")): lambda one: [
        {"run_id": one.run.pk, "call_id": call.pk} for call in Call.objects.filter(run=one.run)[: 2 * ROWS]
    ],
    ("dashboards:trail", ("run_id", "number")): lambda one: rows(Transfer, one.run),
    ("dashboards:turn", ("run_id", "number")): lambda one: rows(Turn, one.run) + rows(Turn, one.run, accepted=False),
    ("dashboards:given", ("run_id", "number")): lambda one: rows(Ask, one.run),
    ("dashboards:event_turn", ("run_id", "number")): lambda one: rows(Event, one.run),
    ("dashboards", ("run_id", "firm")): lambda one: with_all(runs(one), firm=one.run.players),
    ("dashboards", ("run_id", "firm", "day")): lambda one: with_all(runs(one), firm=one.run.players, day=[0, 1]),
    ("dashboards", ("run_id", "verb")): lambda one: with_all(runs(one), verb=RUN_VERBS),
    ("dashboards", ("key", "token")): lambda one: [
        {"key": TEXTS[5], "token": TEXTS[3].replace("/", "")},
        dict(zip(("key", "token"), sign_in_path(one.researcher).split("/")[2:4], strict=True)),
    ],
    ("dashboards:monitor", ("run_id",)): runs,
    ("dashboards:monitor", ("run_id", "seat_id")): seats,
    ("dashboards:monitor", ("run_id", "seat_id", "verb")): lambda one: with_all(seats(one), verb=DEEDS),
    ("dashboards:monitor", ("study_id",)): lambda one: [{"study_id": one.study.pk}],
    ("dashboards:study", ("token",)): ways,
    ("dashboards:study", ("study_id",)): lambda one: [{"study_id": study.pk} for study in (one.study, one.unbegun)],
    ("dashboards:study", ("study_id", "verb")): lambda one: with_all([{"study_id": one.study.pk}], verb=STUDY_VERBS),
    ("dashboards:study", ("study_id", "table_id")): lambda one: [
        {"study_id": one.study.pk, "table_id": table.pk} for table in Table.objects.filter(study=one.study)
    ],
    ("dashboards:study", ("study_id", "participant_id")): people,
    ("dashboards:study", ("study_id", "participant_id", "verb")): lambda one: with_all(
        people(one), verb=PARTICIPANT_VERBS
    ),
    ("dashboards:seat", ("token",)): seat_keys,
    ("dashboards:seat", ("token", "day")): lambda one: with_all(seat_keys(one), day=[0, 1, 2]),
    ("dashboards:seat", ("token", "change")): lambda one: with_all(
        seat_keys(one), change=["add", "remove", "sooner", "start", "stop"]
    ),
    ("dashboards:seat_api", ("number",)): lambda one: [{"number": 1}, {"number": 10**6}],
    ("admin", ("app_label",)): lambda one: [{"app_label": name} for name in ("marketplace", "simulation", "studies")],
    ("admin", ("content_type_id", "object_id")): lambda one: [{"content_type_id": "1", "object_id": TEXTS[3]}],
    ("admin", ("url",)): lambda one: [{"url": TEXTS[3]}],
    ("admin", ("id",)): lambda one: [{"id": one.researcher.pk}],
}
"""What to fill into addresses: by their name, or by the room that they lie in; and by what stands in them."""


def arguments_for(address: Address, hostile: HostileRun) -> Arguments | None:
    """All that is to be filled into an address; None where nobody has said what."""
    if not address.parameters:
        return [{}]
    room = address.name.rpartition(":")[0]
    if room == "admin" and address.parameters == ("object_id",):
        return objects_of(address)
    for where in (address.name, room):
        if (where, address.parameters) in WAYS_IN:
            return WAYS_IN[where, address.parameters](hostile)
    return None


def objects_of(address: Address) -> Arguments:
    """The rows of an admin's table, and one that there cannot be."""
    app, model = address.route.split("/")[1:3]
    keys = apps.get_model(app, model)._default_manager.order_by("pk").values_list("pk", flat=True)
    chosen = list(keys[:: max(1, len(keys) // ROWS)])
    return [{"object_id": key} for key in [*chosen, TEXTS[3]]]


def path_of(address: Address, arguments: dict[str, Any]) -> str:
    """An address filled in."""
    if address.name.endswith((":object", ":catch_all", ":nowhere", "favicon")):
        path = re.sub(r"<path:object_id>", str(arguments.get("object_id", "")), address.route)
        return "/" + path.replace("(?P<url>.*)$", "nowhere").replace("^", "")
    return reverse(address.name, kwargs=arguments)


class Visit(NamedTuple):
    """A page that was fetched, or to which a form was sent."""

    address: Address
    path: str
    response: Any  # as the test client patches it

    @property
    def kind(self) -> str:
        return str(self.response.headers.get("Content-Type", "").partition(";")[0])

    @property
    def content(self) -> bytes:
        return b"".join(self.response)

    def __str__(self) -> str:
        return f"{self.address.name} ({self.path[:120]})"


def visits(hostile: HostileRun, client: Client, most: int | None = None) -> Iterator[Visit]:
    """Every page there is; or so many of each kind."""
    for address in addresses():
        if address.name in LEAVING:
            continue
        for arguments in (arguments_for(address, hostile) or [])[:most]:
            path = path_of(address, arguments)
            yield Visit(address, path, client.get(path))


class Reader(HTMLParser):
    """Reads a page as a browser would, and notes what came out of a text."""

    def __init__(self) -> None:
        super().__init__()
        self.problems: list[str] = []
        self.fields: set[str] = set()
        self.is_code = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.is_code = tag == "style" or (tag == "script" and given.get("type") != "application/json")
        if tag in ("input", "textarea", "select"):
            self.fields.add(given.get("name") or "")
        if tag == ELEMENT:
            self.problems.append(f"the element <{tag}> came out of a text")
        self.problems += [f"the attribute {name} came out of a text" for name in given if is_alive(name)]
        self.problems += [
            f"{name} of <{tag}> runs a script"
            for name, value in attrs
            if name in ("href", "src", "action", "formaction", "hx-get", "hx-post") and is_script(value or "")
        ]

    def handle_endtag(self, tag: str) -> None:
        self.is_code = False

    def handle_data(self, data: str) -> None:
        if self.is_code and MARK in data:
            self.problems.append("a script or style holds a text")


def is_alive(name: str) -> bool:
    """Whether an attribute came out of a text, or would run one."""
    return name.startswith(("on", "hx-on", ATTRIBUTE)) or ELEMENT in name or MARK in name


def is_script(value: str) -> bool:
    """Whether an address is none but code."""
    return re.sub(r"[\x00-\x20]", "", value).lower().startswith(("javascript:", "data:text", "vbscript:"))


def fields_in(visit: Visit) -> set[str]:
    """The names of all that can be filled in on a page."""
    reader = Reader()
    if visit.kind == "text/html":
        reader.feed(visit.content.decode())
    return reader.fields - {"", "csrfmiddlewaretoken"}


def problems_of_html(text: str) -> list[str]:
    """What a page made of a text that is not text."""
    reader = Reader()
    reader.feed(text)
    reader.close()
    return reader.problems


def problems_of_csv(text: str) -> list[str]:
    """Cells that a spreadsheet would not take for data."""
    cells = [cell for row in csv.reader(io.StringIO(text, newline="")) for cell in row]
    return [f"the cell {cell[:60]!r} is a formula" for cell in cells if is_formula(cell)]


def is_formula(cell: str) -> bool:
    """Whether a spreadsheet would reckon with a cell. Numbers may be negative."""
    if re.fullmatch(r"-?[0-9]+(\.[0-9]+)?(e[+-]?[0-9]+)?", cell):
        return False
    return cell.lstrip(" \ufeff").startswith(("=", "+", "-", "@", "\t", "\r", "\n"))


def problems_of_zip(content: bytes) -> list[str]:
    """Those of each file of an archive."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return [problem for name in archive.namelist() for problem in problems_of_csv(archive.read(name).decode())]


def problems_of_json(text: str) -> list[str]:
    """Of pieces of a page that come as JSON, those of each piece; of a figure, labels with live markup."""
    value = json.loads(text)
    if not isinstance(value, dict):
        return []
    pieces = [problem for piece in value.get("pieces", {}).values() for problem in problems_of_html(piece)]
    figures = [figure for figure in value.values() if isinstance(figure, dict) and "layout" in figure]
    return pieces + [problem for figure in figures for problem in problems_of_figure(figure)]


def problems_of_figure(figure: Any) -> list[str]:
    """Labels in which plotly.js, which reads a little HTML, would find some that is not ours."""
    return [f"the label {text[:60]!r} is markup" for text in strings_in(figure) if is_markup(text)]


def is_markup(text: str) -> bool:
    """Whether a label holds more than the few marks that our own labels are made with."""
    return "<" in re.sub(r"<br>|<extra></extra>|</?b>", "", text) or bool(MARK in text and "%{" in text)


def strings_in(value: Any) -> Iterator[str]:
    """All texts of a figure."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for one in [*value, *value.values()]:
            yield from strings_in(one)
    elif isinstance(value, list):
        for one in value:
            yield from strings_in(one)


READERS: Final[dict[str, Callable[[bytes], list[str]]]] = {
    "text/html": lambda content: problems_of_html(content.decode()),
    "text/csv": lambda content: problems_of_csv(content.decode()),
    "application/json": lambda content: problems_of_json(content.decode()),
    "application/zip": problems_of_zip,
    "text/plain": lambda content: [],
    "text/javascript": lambda content: [],
    "image/svg+xml": lambda content: [],
}


def problems_with(visit: Visit) -> list[str]:
    """Everything that is wrong with a page, in sentences."""
    problems = []
    if visit.response.status_code >= 500:
        problems.append(f"answers {visit.response.status_code}")
    if visit.response.headers.get("X-Content-Type-Options") != "nosniff":
        problems.append("lets a browser guess what it is")
    if visit.response.status_code in (204, 301, 302) or visit.response.status_code >= 500:
        return [f"{visit}: {problem}" for problem in problems]
    content = visit.content  # a stream, which can be read once
    if visit.kind not in READERS and content:
        problems.append(f"is of a kind that is not examined: {visit.kind}")
    elif content:
        problems += READERS[visit.kind](content)
    return [f"{visit}: {problem}" for problem in problems]


def test_the_run_is_hostile_in_every_column_that_is_not_known_to_be_ours(hostile: HostileRun) -> None:
    assert harmless_columns() == []
    assert Event.objects.filter(run=hostile.run, kind="shipment_returned").exists()


def test_the_test_would_see_what_it_looks_for() -> None:
    assert problems_of_html(f"<p>{TEXTS[0]}</p>") == ["a script or style holds a text"]
    assert problems_of_html(f"<p>{TEXTS[2]}</p>")
    assert problems_of_html(f'<p title="{TEXTS[3]}">')
    assert problems_of_html(f"<p title='{TEXTS[5]}'>")
    assert problems_of_html(f'<p title="{TEXTS[7]}">')
    assert problems_of_html(f"<textarea>{TEXTS[10]}</textarea>")
    assert problems_of_html(f"<script>let a = '{MARK}'</script>")
    assert problems_of_html(f'<a href="{TEXTS[12]}">')
    assert problems_of_csv("a,=1+1\r\n")
    assert not problems_of_csv("a,-1.5,'=1+1,b=1\r\n")
    assert problems_of_figure({"data": [{"name": TEXTS[0]}]})
    assert not problems_of_figure({"layout": {"title": "a<br>b &lt;c&gt;"}})


def test_every_address_of_the_site_is_known_to_these_tests(hostile: HostileRun) -> None:
    unknown = [
        f"{address.name} has the address {address.route}, into which WAYS_IN does not say what to fill"
        for address in addresses()
        if not arguments_for(address, hostile)
    ]
    assert unknown == []


def test_no_page_label_cell_or_column_takes_a_text_for_anything_else(hostile: HostileRun, visitor: Client) -> None:
    problems: list[str] = []
    answers: dict[str, set[int]] = defaultdict(set)
    shown = set()
    for visit in visits(hostile, visitor):
        problems += problems_with(visit)
        answers[visit.address.name].add(visit.response.status_code)
        if visit.kind != "application/zip" and MARK.encode() in visit.content:
            shown.add(visit.address.name)
    assert not problems, "\n".join(problems)
    assert unseen(answers) == []
    assert shown >= SHOWING, "these pages show no hostile text, so they prove nothing"


def unseen(answers: dict[str, set[int]]) -> list[str]:
    """Addresses that never led anywhere, so that nothing was seen there."""
    led_nowhere = (
        name for name, codes in answers.items() if not codes & {200, 302, 405} and name not in NOT_FOUND_HERE
    )
    return sorted(name for name in led_nowhere if not name.endswith(("_add", "_delete")))


SHOWING: Final = {
    *(f"dashboards:{name}" for name in ("runs", "run", "tape", "tab", "turn", "call", "conversation")),
    *(f"dashboards:{name}" for name in ("call_json", "calls_csv", "given", "run_delete")),
    *(f"dashboards:seat:{name}" for name in ("page", "parts", "day")),
    *(f"dashboards:study:{name}" for name in ("list", "study", "preview", "way", "edit")),
    *(f"dashboards:monitor:{name}" for name in ("seats", "study")),
    *(f"admin:simulation_{table}_change" for table in ("run", "turn", "event", "ask", "call", "chatmessage")),
    *(f"admin:simulation_{table}_changelist" for table in ("run", "turn", "ask", "call")),
    *(f"admin:marketplace_{table}_change" for table in ("message", "offer")),
    *(f"admin:studies_{table}_change" for table in ("study", "participant", "quizattempt")),
}


def test_no_form_that_is_sent_makes_anything_but_text_of_what_was_typed(hostile: HostileRun, visitor: Client) -> None:
    """Every field that any page has is sent to every address."""
    pages = [visit for visit in visits(hostile, visitor, most=1) if not visit.address.name.startswith("admin:")]
    fields = set().union(*map(fields_in, pages), {"turn", "tool", "notes", "step", "labels", "rationale"})
    assert {"name", "consent", "labels"} <= fields
    problems = []
    for text in (TEXTS[3], "".join(TEXTS)):
        for visit in pages:
            response = visitor.post(visit.path, dict.fromkeys(fields, text), follow=True)
            problems += problems_with(visit._replace(response=response))
    assert not problems, "\n".join(problems)


def test_no_question_after_an_address_comes_back_as_anything_but_text(hostile: HostileRun, visitor: Client) -> None:
    problems = []
    for address in addresses():
        if address.name in LEAVING or (address.name.startswith("admin:") and not address.name.endswith("_changelist")):
            continue
        for arguments in (arguments_for(address, hostile) or [])[
            : len(TABS) if address.name == "dashboards:tab" else 1
        ]:
            path = path_of(address, arguments)
            for parameter in PARAMETERS if address.name in ASKED else PARAMETERS[-2:]:
                response = visitor.get(path, {parameter: TEXTS[3] + TEXTS[16]})
                problems += problems_with(Visit(address, f"{path}?{parameter}=…", response))
    assert not problems, "\n".join(problems)


ASKED: Final = {f"dashboards:{name}" for name in ("runs", "run", "tape", "tab", "tab_figures", "tape_csv", "run_new")}
"""Pages that read much after the question mark. The others are asked little: nothing they would know."""
