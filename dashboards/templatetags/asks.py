"""Addresses within the run's page: the look one has, with some of its parameters changed."""

from __future__ import annotations

from typing import Any

from django import template
from django.urls import reverse
from django.utils.safestring import SafeString, mark_safe

from dashboards.tabs.look import Look

register = template.Library()


@register.simple_tag(takes_context=True)
def asks(context: dict[str, Any], **changes: Any) -> SafeString:
    """The address of this look at the open tab with some parameters changed; an empty value drops one."""
    look: Look = context["look"]
    query = look.asked.copy()
    for name, value in changes.items():
        query.pop(name, None)
        if value not in ("", None):
            query[name] = str(value)
    if "tab" not in changes:
        query["tab"] = context["tab"].name
    address = f"{reverse('dashboards:run', args=[look.run.pk])}?{query.urlencode()}"
    return mark_safe(address.replace("&", "&amp;"))  # noqa: S308 - percent-encoded by urlencode
