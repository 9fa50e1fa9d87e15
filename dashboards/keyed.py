"""Pages that a link opens, which is a key: whoever holds it may, while it is valid. No login, no address kept."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.http import HttpRequest, HttpResponse, HttpResponseBase, JsonResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache

from simulation.links import LinkError

VOID, UNKNOWN = 410, 404

View = Callable[..., HttpResponseBase]


def opened_by(find: Callable[[str], Any], *, template: str, script: str) -> Callable[[View], View]:
    """Gives a view what the link in its address opens; of any other link it says why it opens none.

    That is a page, or for the requests of a page's own `script`, which names itself, a line.
    """

    def guard(view: View) -> View:
        @never_cache
        @wraps(view)
        def opened(request: HttpRequest, token: str, **kwargs: Any) -> HttpResponseBase:
            try:
                found = find(token)
            except LinkError as error:
                response: HttpResponseBase = refusal(request, error, template, script)
            else:
                response = view(request, found, token=token, **kwargs)
            # The link is a key: no cache may hold what it opens, no other site and no index may be told of it.
            response.headers["Cache-Control"] = "no-store, private"
            response.headers["Referrer-Policy"] = "same-origin"
            response.headers["X-Robots-Tag"] = "noindex, nofollow"
            return response

        return opened

    return guard


def refusal(request: HttpRequest, error: LinkError, template: str, script: str) -> HttpResponse:
    """Why a link opens nothing, and what to do."""
    status = VOID if error.is_void else UNKNOWN
    if request.headers.get("X-Requested-With") == script:
        return JsonResponse({"error": str(error)}, status=status)
    return render(request, template, {"reason": str(error), "is_void": error.is_void}, status=status)
