"""The addresses of the sockets."""

from django.urls import URLPattern, path, re_path

from dashboards.consumers import NowhereConsumer, RunConsumer, RunsConsumer
from dashboards.seat.consumer import SeatConsumer
from dashboards.study.consumer import RoomConsumer

websocket_urlpatterns: list[URLPattern] = [
    path("ws/runs/", RunsConsumer.as_asgi()),
    path("ws/runs/<run_id:run_id>/", RunConsumer.as_asgi()),
    path("ws/seat/<str:token>/", SeatConsumer.as_asgi()),
    path("ws/study/<str:token>/", RoomConsumer.as_asgi()),
    # Without it a stray address would be an error in the log instead of a refusal.
    re_path(r"", NowhereConsumer.as_asgi()),
]
