"""The addresses of a seat, all below its link."""

from django.urls import URLPattern, path

from dashboards.seat import views

app_name = "seat"

urlpatterns: list[URLPattern] = [
    path("<str:token>/", views.seat_page, name="page"),
    path("<str:token>/take/", views.take, name="take"),
    path("<str:token>/briefing/", views.briefing, name="briefing"),
    path("<str:token>/state/", views.state, name="state"),
    path("<str:token>/parts/", views.parts, name="parts"),
    path("<str:token>/days/<number:day>/", views.day, name="day"),
    path("<str:token>/act/", views.act, name="act"),
    path("<str:token>/queue/<slug:change>/", views.queue, name="queue"),
    path("<str:token>/notes/", views.notes, name="notes"),
    path("<str:token>/beat/", views.beat, name="beat"),
    path("<str:token>/pause/", views.pause, name="pause"),
    path("<str:token>/back/", views.back, name="back"),
    path("<str:token>/comparison/", views.comparison, name="comparison"),
]
