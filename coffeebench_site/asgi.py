"""The door of the web process: pages over HTTP, live events over WebSocket."""

import os

from channels.auth import AuthMiddlewareStack
from channels.routing import ProtocolTypeRouter, URLRouter
from channels.security.websocket import AllowedHostsOriginValidator
from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "coffeebench_site.settings")
http_application = get_asgi_application()

# After Django is set up, since consumers import models.
from dashboards.routing import websocket_urlpatterns  # noqa: E402

application = ProtocolTypeRouter(
    {
        "http": http_application,
        # A page of another site could open a socket here with its visitor's cookies:
        # CSRF tokens do not cover sockets, the check of the Origin header does.
        "websocket": AllowedHostsOriginValidator(AuthMiddlewareStack(URLRouter(websocket_urlpatterns))),
    }
)
