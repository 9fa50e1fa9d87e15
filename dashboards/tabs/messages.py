"""The tab Messages of a run's page: who writes to whom, what two firms wrote to each other, and a search."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, Final

from django.core.exceptions import BadRequest

from dashboards.asked import number_in
from dashboards.books import shown_firms
from dashboards.figures import Figure
from dashboards.tabs.behaviour_figures import heat_map, matrix_layout
from dashboards.tabs.look import Look, Tab
from dashboards.tabs.messages_marks import in_context, marked
from dashboards.tabs.messages_rows import PAGE, Mail, Pair, Thread, pattern_of

MOST_CHARACTERS: Final = 200


def context(look: Look) -> dict[str, Any]:
    """Threads and one of them, or what a search found. Five queries, three where nobody has written."""
    mail = Mail(look)
    threads = mail.threads()
    words = words_asked(look.asked.get("find", ""))
    before = number_in(look.asked, "before")
    shared: dict[str, Any] = {"threads": threads, "find": words, "most_characters": MOST_CHARACTERS}
    if words:
        return shared | hits_of(mail, words, before)
    thread = thread_asked(look, threads)
    return shared | ({"thread": thread} | page_of(mail, thread, before) if thread else {})


def hits_of(mail: Mail, words: str, before: int) -> dict[str, Any]:
    """What a search found: each text with the words marked in its title and around the first of them in its body."""
    pattern = pattern_of(words)
    texts, earlier = mail.found(words, before)
    hits = [(text, marked(text.title, pattern), in_context(text.body, pattern)) for text in texts]
    return {"hits": hits, "earlier": earlier, "is_first": not before}


def page_of(mail: Mail, thread: Thread, before: int) -> dict[str, Any]:
    """A page of a thread, oldest first.

    Pages begin at whole fifties, and the newest one has up to two: so a text that comes in does not push one out.
    """
    end = min(before, thread.length) if before else thread.length
    start = max(0, end - PAGE) if before else max(0, thread.length // PAGE - 1) * PAGE
    return {
        "texts": mail.thread(thread.pair, start, end),
        "first": start + 1,
        "last": end,
        "earlier": start,
        "later": min(end + PAGE, thread.length) if end < thread.length else 0,
        "is_newest": end == thread.length,
    }


def words_asked(text: str) -> str:
    """What is looked for: as it was typed, without the space around it."""
    words = text.strip()
    if len(words) > MOST_CHARACTERS:
        raise BadRequest(f"find has more than {MOST_CHARACTERS} characters")
    if "\0" in words:
        raise BadRequest("find holds a null byte, which no text of a run does")
    return words


def thread_asked(look: Look, threads: Sequence[Thread]) -> Thread | None:
    """The thread of the pair that is asked for, empty if they have not written.

    Where none is asked for it is the one that began first: the same whatever is written while one reads.
    """
    text = look.asked.get("pair", "")
    if not text:
        return min(threads, key=lambda thread: thread.first, default=None)
    pair = pair_asked(look, text)
    return next((thread for thread in threads if thread.pair == pair), Thread(pair))


def pair_asked(look: Look, text: str) -> Pair:
    """Two firms of the run, in seating order."""
    asked = text.split(",")
    names = [firm.name for firm in look.firms if firm.name in asked]
    if len(asked) != 2 or len(names) != 2:
        raise BadRequest("pair is not the names of two firms of this run with a comma between them")
    return names[0], names[1]


def figures(look: Look) -> dict[str, Figure]:
    """Who writes to whom, of every day after one. One query."""
    firms = [firm.name for firm in shown_firms(look.firms, look.run.evaluated)]
    letters = Mail(replace(look, until=look.run.days)).letters_by_day()
    return {"who_writes_to_whom": who_writes_to_whom(letters, firms, look.after)}


def who_writes_to_whom(letters: Iterable[tuple[int, str, str]], firms: Sequence[str], after: int) -> Figure:
    """How many letters each firm sent to each other: a row a sender, a column a recipient."""
    place = {firm: index for index, firm in enumerate(firms)}
    counts = Counter(
        (day, place[sender] * len(firms) + place[recipient])
        for day, sender, recipient in letters
        if sender in place and recipient in place
    )
    return {
        "data": [heat_map("letters", firms, firms, counts, after)],
        "layout": matrix_layout("Who writes to whom: letters", "To", "From"),
    }


TAB = Tab("messages", "Messages", context, figures)
