"""Signing in with a link that works once: for the first minutes of an installation, and for a lost password.

The link holds a token over the user's password and last login, so using it makes it worthless, and so does logging in
in any other way. Opening it changes nothing, since programs open links too: the visitor presses a button.
"""

from __future__ import annotations

from typing import Any

from django.contrib.auth import login
from django.contrib.auth.models import User
from django.contrib.auth.tokens import PasswordResetTokenGenerator
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.http import urlsafe_base64_decode, urlsafe_base64_encode
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

MODEL_BACKEND = "django.contrib.auth.backends.ModelBackend"


class SignInTokens(PasswordResetTokenGenerator):
    """Tokens for links to sign in; one for resetting a password is none, and the other way round."""

    key_salt = "dashboards.sign_in.SignInTokens"

    def _make_hash_value(self, user: Any, timestamp: int) -> str:
        # To the microsecond: Django's own leaves it out, and two logins of one second would look the same.
        last_login = user.last_login.isoformat() if user.last_login else ""
        return f"{user.pk}{user.password}{last_login}{timestamp}{user.is_active}{user.is_staff}"


tokens = SignInTokens()


def sign_in_path(user: User) -> str:
    """The path of a new link for a user; valid once, and for as long as links to reset a password are."""
    key = urlsafe_base64_encode(str(user.pk).encode())
    return reverse("dashboards:sign_in", args=[key, tokens.make_token(user)])


def user_of_link(key: str, token: str, *, lock: bool = False) -> User | None:
    """The user a link is for, or None if it is used, old or made up."""
    users = User.objects.select_for_update() if lock else User.objects.all()
    user = users.filter(pk=number_of_key(key), is_active=True, is_staff=True).first()
    return user if user and tokens.check_token(user, token) else None


def number_of_key(key: str) -> int:
    """The user's number in a link, 0 for nonsense."""
    try:
        text = urlsafe_base64_decode(key).decode("ascii")
    except ValueError:
        return 0
    return int(text) if text.isdecimal() and len(text) <= 18 else 0


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def sign_in(request: HttpRequest, key: str, token: str) -> HttpResponse:
    """A page with a button; pressing it signs in, and uses the link up."""
    if request.method == "POST":
        return use_link(request, key, token)
    user = user_of_link(key, token)
    return render(request, "dashboards/sign_in.html", {"person": user}, status=200 if user else 410)


def use_link(request: HttpRequest, key: str, token: str) -> HttpResponse:
    """Sign in, unless another visitor of the same link was quicker."""
    with transaction.atomic():
        user = user_of_link(key, token, lock=True)
        if user:
            login(request, user, backend=MODEL_BACKEND)
    if user:
        return redirect("dashboards:runs")
    return render(request, "dashboards/sign_in.html", {"person": None}, status=410)
