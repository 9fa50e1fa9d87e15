"""Static files: plotly.js out of its Python package, and all of them through Django.

Daphne serves no files, and a researcher's laptop has no nginx in front.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import plotly
from asgiref.sync import iscoroutinefunction, markcoroutinefunction, sync_to_async
from django.contrib.staticfiles.finders import BaseFinder
from django.core.files.storage import FileSystemStorage
from django.http import HttpRequest, HttpResponse
from whitenoise.middleware import WhiteNoiseMiddleware
from whitenoise.responders import StaticFile
from whitenoise.storage import CompressedManifestStaticFilesStorage


class PlotlyStorage(FileSystemStorage):
    """The plotly package's files; `collectstatic` puts what it finds there under the prefix."""

    prefix = "plotly"


class PlotlyFinder(BaseFinder):
    """Finds `plotly/plotly.min.js`, and nothing else, in the installed plotly package.

    The page's plotly.js is then always the one that the figures were made for, and the
    repository carries no copy of its five megabytes.
    """

    FILE = "plotly.min.js"
    ADDRESS = f"{PlotlyStorage.prefix}/{FILE}"

    def __init__(self, app_names: Any = None, *args: Any, **kwargs: Any) -> None:
        self.storage = PlotlyStorage(Path(plotly.__file__).parent / "package_data")

    def check(self, **kwargs: Any) -> list[Any]:
        """No settings, hence nothing to check."""
        return []

    def find(self, path: str, find_all: bool = False, **kwargs: Any) -> Any:
        """The file's place on disk, or nothing (a list of them with `find_all`)."""
        found = [self.storage.path(self.FILE)] if path == self.ADDRESS else []
        return found if find_all else next(iter(found), [])

    def list(self, ignore_patterns: Any) -> Iterator[tuple[str, FileSystemStorage]]:
        """The one file, as `collectstatic` wants it."""
        yield self.FILE, self.storage


class HashedFilesStorage(CompressedManifestStaticFilesStorage):
    """Every file under a name with its content's hash, which browsers may keep for ever.

    The names that our own scripts import are replaced too: otherwise a browser could run a new page with an old module.
    Those of other packages are left as they came: some import what the package does not bring.
    """

    support_js_module_import_aggregation = True
    _js_module_import_aggregation_patterns = (
        "js/*.js",
        CompressedManifestStaticFilesStorage._js_module_import_aggregation_patterns[1],
    )


class StaticFilesMiddleware(WhiteNoiseMiddleware):
    """WhiteNoise whose answers are read at once instead of streamed.

    Its own are synchronous streams, of which Django warns at every request under ASGI. It also lets asynchronous views
    be just that: a middleware that is not would hold a thread for as long as such a view waits.
    """

    async_capable = True

    def __init__(self, get_response: Any, *args: Any, **kwargs: Any) -> None:
        super().__init__(get_response, *args, **kwargs)
        if iscoroutinefunction(get_response):
            markcoroutinefunction(self)

    def __call__(self, request: HttpRequest) -> Any:
        """The file, or what the rest of the site answers."""
        return self.answer(request) if iscoroutinefunction(self) else super().__call__(request)

    async def answer(self, request: HttpRequest) -> Any:
        """The same for a request that is answered asynchronously; disks are read in a thread."""
        path = request.path_info
        found = await sync_to_async(self.find_file)(path) if self.autorefresh else self.files.get(path)
        if found is None:
            return await self.get_response(request)
        return await sync_to_async(self.serve)(found, request)

    @staticmethod
    def serve(static_file: StaticFile, request: HttpRequest) -> HttpResponse:
        """The file, its compressed twin, a part of it or 304, as the request asks."""
        answer = static_file.get_response(request.method, request.META)
        body = b"" if answer.file is None else answer.file.read()
        response = HttpResponse(body, status=int(answer.status))
        del response["Content-Type"]
        for name, value in answer.headers:
            response[name] = value
        return response
