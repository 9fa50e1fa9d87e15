"""The addresses of the site: the admin, the state of health, and the pages at the root."""

from django.contrib import admin
from django.http import HttpRequest, HttpResponseRedirect
from django.templatetags.static import static
from django.urls import include, path

from coffeebench_site.health import health


def favicon(_request: HttpRequest) -> HttpResponseRedirect:
    """Browsers ask here for the icon of pages that name none, such as the admin's."""
    return HttpResponseRedirect(static("favicon.svg"))


urlpatterns = [
    path("admin/", admin.site.urls),
    path("healthz", health, name="health"),
    path("favicon.ico", favicon),
    path("", include("dashboards.urls")),
]
