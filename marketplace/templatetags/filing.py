"""Tags of the admin site's templates: its drawers in groups, and the newest runs on its first page."""

from __future__ import annotations

from typing import Any, Final

from django import template
from django.apps import apps

register = template.Library()

GROUPS: Final = {
    "Runs": ("Run", "Firm"),
    "Books": ("Transfer", "Invoice", "DayEnd"),
    "Market": ("Listing", "Offer", "Deal", "Message"),
    "Goods": ("Batch", "ConsumerSale"),
    "What happened": ("Turn", "Event"),
    "Models": ("Ask", "Call", "Conversation", "ChatMessage", "ChatSummary"),
    "People": ("User", "Group"),
}
"""Title of a group → the models in it, in order."""


@register.simple_tag
def drawer_groups(app_list: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The admin's list of apps, regrouped by what a reader looks for; models of no group stay with their app."""
    models = {model["object_name"]: model for app in app_list for model in app["models"]}
    groups = [
        {"name": title, "models": [models[name] for name in names if name in models]} for title, names in GROUPS.items()
    ]
    grouped = {name for names in GROUPS.values() for name in names}
    others = [
        {**app, "models": [model for model in app["models"] if model["object_name"] not in grouped]} for app in app_list
    ]
    return [group for group in [*groups, *others] if group["models"]]


@register.simple_tag
def newest_runs(most: int) -> list[Any]:
    """The runs that were created last."""
    return list(apps.get_model("simulation.Run").objects.order_by("-pk")[:most])
