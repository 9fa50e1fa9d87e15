"""Messages between two firms (RULES.md section 11)."""

from __future__ import annotations

from dataclasses import dataclass

from marketplace.economy.economy import Economy, Refused
from marketplace.economy.firm import Firm
from marketplace.economy.trading import ordinal


@dataclass(slots=True, eq=False)
class Message:
    """A letter: title, body, and the listing or offer it speaks of."""

    number: int
    sender: Firm
    recipient: Firm
    title: str
    body: str
    listing: int
    offer: int
    minute: int
    turn: int
    read_minute: int | None = None

    @property
    def id(self) -> str:
        return f"M{self.number}"


def send_message(
    economy: Economy, sender: Firm, recipient: Firm, title: str, body: str, *, listing: int, offer: int
) -> Message:
    """Puts a letter in another firm's box, live or bankrupt, and wakes it."""
    if recipient is sender:
        raise Refused("recipient must be another firm")
    message = Message(
        len(economy.messages) + 1, sender, recipient, title, body, listing, offer, economy.minute, economy.turn
    )
    economy.messages.append(message)
    sender.mail.append(message)
    recipient.mail.append(message)
    recipient.unread[message] = None
    recipient.unread_from[sender.name] += 1
    economy.changed[message] = None
    economy.tell("message_sent", sender, recipient, message=message.id, title=title, body=body)
    economy.wake(recipient, f"message {message.id} from {sender.name}")
    return message


def find_message(economy: Economy, firm: Firm, message_id: str) -> Message:
    """The message with that id among those the firm sent or received; to it no other exists."""
    number = ordinal(message_id, "M")
    if 1 <= number <= len(economy.messages):
        message = economy.messages[number - 1]
        if firm is message.sender or firm is message.recipient:
            return message
    raise Refused(f"{firm.name} sent and received no message {message_id!a}; view_messages lists those it did")


def read_message(economy: Economy, firm: Firm, message: Message) -> None:
    """Marks a received letter read; reading one's own, or one again, changes nothing."""
    if message in firm.unread:
        del firm.unread[message]
        firm.unread_from[message.sender.name] -= 1
        message.read_minute = economy.minute
        economy.changed[message] = None
