"""The addresses of the monitor, below the run or the study that it watches."""

from django.urls import URLPattern, path

from dashboards.monitor import actions, downloads, pages

app_name = "monitor"

urlpatterns: list[URLPattern] = [
    path("runs/<run_id:run_id>/seats/", pages.run_seats, name="seats"),
    path("runs/<run_id:run_id>/seats/export.zip", downloads.run_export, name="run_export"),
    path("runs/<run_id:run_id>/seats/<number:seat_id>/", pages.one_seat, name="seat"),
    path("runs/<run_id:run_id>/seats/<number:seat_id>/<slug:verb>/", actions.verb, name="verb"),
    path("studies/<number:study_id>/monitor/", pages.study_monitor, name="study"),
    path("studies/<number:study_id>/export.zip", downloads.study_export, name="study_export"),
]
