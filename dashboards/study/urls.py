"""The addresses of studies: a participant's below their link, the researcher's below the study."""

from django.urls import URLPattern, path

from dashboards.study import pages, people, room, views

app_name = "study"

urlpatterns: list[URLPattern] = [
    path("study/<str:token>/", views.way, name="way"),
    path("study/<str:token>/briefing/", views.briefing, name="briefing"),
    path("study/<str:token>/here/", room.here, name="here"),
    path("studies/", pages.study_list, name="list"),
    path("studies/new/", pages.study_new, name="new"),
    path("studies/preview/", pages.preview_typed, name="preview_typed"),
    path("studies/<number:study_id>/", pages.study_page, name="study"),
    path("studies/<number:study_id>/edit/", pages.study_edit, name="edit"),
    path("studies/<number:study_id>/preview/", pages.preview, name="preview"),
    path("studies/<number:study_id>/invite/", people.invite, name="invite"),
    path("studies/<number:study_id>/tables/<number:table_id>/start/", people.start, name="start"),
    path("studies/<number:study_id>/people/<number:participant_id>/delete/", people.delete, name="delete"),
    path("studies/<number:study_id>/people/<number:participant_id>/<slug:verb>/", people.verb, name="verb"),
    path("studies/<number:study_id>/<slug:verb>/", pages.verb, name="study_verb"),
]
