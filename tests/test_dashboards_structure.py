"""Pages as those meet them who do not see them: names of controls, headings in order, headers of tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html.parser import HTMLParser
from typing import Final

import pytest
from django.test import Client

from dashboards.tabs import TABS
from tests.wild_runs import wild_run

pytestmark = pytest.mark.django_db

EMPTY: Final = frozenset(("br", "col", "hr", "img", "input", "link", "meta"))
HEADINGS: Final = ("h1", "h2", "h3", "h4", "h5", "h6")
FIELDS: Final = ("input", "select", "textarea")
WITH_TEXT: Final = ("a", "button", "th", *HEADINGS)
LEADS_TO: Final = ("for", "aria-labelledby", "aria-controls", "aria-describedby")


@dataclass
class Element:
    """A tag, its attributes, the tags around it, and the text in it where that is its name."""

    tag: str
    attributes: dict[str, str | None]
    around: Sequence[str]
    text: str = ""

    @property
    def is_named(self) -> bool:
        """Whether an attribute names it, or its text."""
        return bool({"aria-label", "aria-labelledby"} & self.attributes.keys() or self.text.strip())


class Elements(HTMLParser):
    """All elements of a page in their order, without what templates hold."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[Element] = []
        self.open: list[Element] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        element = Element(tag, dict(attrs), [each.tag for each in self.open])
        if "template" not in element.around:
            self.found.append(element)
        if tag not in EMPTY:
            self.open.append(element)
        if tag == "img":
            self.handle_data(element.attributes.get("alt") or "")

    def handle_endtag(self, tag: str) -> None:
        while self.open and self.open.pop().tag != tag:
            pass

    def handle_data(self, data: str) -> None:
        for element in self.open:
            if element.tag in WITH_TEXT:
                element.text += data


def faults_of(page: str) -> list[str]:
    """What somebody who listens to a page, or walks through it by keyboard, would miss."""
    found = Elements(page).found
    return [*faults_of_ids(found), *faults_of_headings(found), *faults_of_names(found)]


def faults_of_ids(found: Sequence[Element]) -> Iterator[str]:
    """Ids that two elements share, and references to none."""
    ids = Counter(each.attributes["id"] for each in found if "id" in each.attributes)
    yield from (f"two elements have the id {one}" for one, count in ids.items() if count > 1)
    for each in found:
        for name in LEADS_TO:
            yield from (
                f"{name} leads to no {one}" for one in (each.attributes.get(name) or "").split() if not ids[one]
            )


def faults_of_headings(found: Sequence[Element]) -> Iterator[str]:
    """A page has one h1, and no heading is more than a level below the one before it."""
    levels = [HEADINGS.index(each.tag) for each in found if each.tag in HEADINGS and "dialog" not in each.around]
    if levels.count(0) != 1:
        yield f"{levels.count(0)} elements are h1"
    for before, level in zip([-1, *levels], levels, strict=False):
        if level > before + 1:
            yield f"{HEADINGS[level]} comes after h{before + 1}"


def faults_of_names(found: Sequence[Element]) -> Iterator[str]:
    """Fields without a label, controls and headers that say nothing, boxes that can be reached and have no name."""
    labelled = {each.attributes.get("for") for each in found if each.tag == "label"}
    for each in found:
        names = each.attributes
        is_label_around = "label" in each.around or names.get("id") in labelled
        if each.tag in FIELDS and names.get("type") != "hidden" and not (each.is_named or is_label_around):
            yield f"a field has no label: {names}"
        is_control = each.tag in ("a", "button") or (names.get("tabindex") == "0" and each.tag not in FIELDS)
        if is_control and "hidden" not in names and not each.is_named:
            yield f"{each.tag} has no name: {names}"
        if each.tag == "th" and ("scope" not in names or not each.is_named):
            yield f"a header says nothing, or not of what: {each.text}"


def test_faults_are_found() -> None:
    page = (
        '<h1>a</h1><h3>b</h3><input><th></th><button></button><p tabindex="0" id="a"></p><i id="a"></i><label for="z">'
    )
    assert len(faults_of(page)) == 7


def test_every_page_of_a_run_can_be_listened_to_and_walked_through(staff: Client) -> None:
    run = wild_run(calls=300)
    looks = ("", "&day=2&as=roaster_A")
    addresses = [f"/runs/{run.pk}/?tab={tab}{look}" for tab, look in zip(TABS, 3 * looks, strict=True)]
    addresses += [f"/runs/{run.pk}/?tab=books", "/", "/runs/new/", f"/runs/{run.pk}/delete/"]
    addresses += [f"/runs/{run.pk}/transfers/50/"]
    faults = {address: faults_of(staff.get(address).content.decode()) for address in addresses}
    faults["refused"] = faults_of(staff.post("/runs/new/", {"days": "x"}).content.decode())
    assert {address: found for address, found in faults.items() if found} == {}
