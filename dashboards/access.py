"""Who may look at the researchers' pages: Django staff, and nobody else."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.contrib.auth.models import AbstractBaseUser, AnonymousUser
from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import resolve_url
from django.views.decorators.cache import never_cache

View = Callable[..., HttpResponseBase]


def may_watch(user: AbstractBaseUser | AnonymousUser | None) -> bool:
    """Whether a user may see every firm's books."""
    return bool(user and user.is_active and getattr(user, "is_staff", False))


def staff_only(view: View) -> View:
    """Let staff in, send strangers to the login page, refuse others; never keep the answer in a cache."""

    @never_cache
    @wraps(view)
    def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        if may_watch(request.user):
            return view(request, *args, **kwargs)
        if request.user.is_authenticated:
            raise PermissionDenied
        return to_login(request)

    return guarded


def to_login(request: HttpRequest) -> HttpResponse:
    """The login page, from where the visitor comes back; a part of a page sends the whole page there."""
    if request.headers.get("HX-Request") == "true":
        return HttpResponse(headers={"HX-Redirect": resolve_url("admin:login")})
    back = request.get_full_path() if request.method in ("GET", "HEAD") else "/"
    return redirect_to_login(back, resolve_url("admin:login"))
