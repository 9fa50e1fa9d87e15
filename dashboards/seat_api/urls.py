"""The addresses of a program's seat."""

from django.urls import URLPattern, path, re_path

from dashboards.seat_api import views

app_name = "seat_api"

urlpatterns: list[URLPattern] = [
    path("", views.status, name="status"),
    path("turn/", views.turn, name="turn"),
    path("turn/<number:number>/", views.answer, name="answer"),
    path("tools/", views.tools, name="tools"),
    path("history/", views.history, name="history"),
    path("take-back/", views.take_back, name="take_back"),
    re_path(r"", views.nowhere),
]
