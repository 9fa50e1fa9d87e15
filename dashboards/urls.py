"""The addresses of the pages that people see."""

from django.contrib.auth.views import LogoutView
from django.urls import URLPattern, URLResolver, include, path

from dashboards import (
    conversation,
    run_delete,
    run_list,
    run_new,
    run_page,
    sign_in,
    spend,
    tabs_views,
    trail,
    turn_page,
    verbs,
)
from dashboards.tabs import tape_csv

app_name = "dashboards"

urlpatterns: list[URLPattern | URLResolver] = [
    path("", run_list.run_list, name="runs"),
    path("runs/new/", run_new.run_new, name="run_new"),
    path("runs/new/experiment/", run_new.experiment_new, name="experiment_new"),
    path("runs/new/players/", run_new.players, name="run_new_players"),
    path("runs/<run_id:run_id>/", run_page.run_page, name="run"),
    path("runs/<run_id:run_id>/tape/", run_page.tape, name="tape"),
    path("runs/<run_id:run_id>/days.csv", run_page.days_csv, name="days_csv"),
    path("runs/<run_id:run_id>/alarms.json", tabs_views.alarms, name="alarms"),
    path("runs/<run_id:run_id>/tabs/<slug:tab>/", tabs_views.fragment, name="tab"),
    path("runs/<run_id:run_id>/tabs/<slug:tab>/figures.json", tabs_views.figures_json, name="tab_figures"),
    path("runs/<run_id:run_id>/tabs/<slug:tab>/<slug:figure>.csv", tabs_views.figure_csv, name="figure_csv"),
    path("runs/<run_id:run_id>/tabs/<slug:tab>/<slug:figure>/table/", tabs_views.figure_table, name="figure_table"),
    path("runs/<run_id:run_id>/tape.csv", tape_csv.tape_csv, name="tape_csv"),
    path("runs/<run_id:run_id>/transfers/<number:number>/", trail.trail, name="trail"),
    path("runs/<run_id:run_id>/spend/", spend.spend_page, name="spend"),
    path("runs/<run_id:run_id>/budgets/", spend.budgets, name="budgets"),
    path("runs/<run_id:run_id>/calls.csv", spend.calls_csv, name="calls_csv"),
    path("runs/<run_id:run_id>/calls/<number:call_id>/", turn_page.call_page, name="call"),
    path("runs/<run_id:run_id>/calls/<number:call_id>/request.json", turn_page.call_json, name="call_json"),
    path("runs/<run_id:run_id>/turns/<number:number>/", turn_page.turn_page, name="turn"),
    path("runs/<run_id:run_id>/turns/<number:number>/given/", turn_page.given_part, name="given"),
    path("runs/<run_id:run_id>/events/<number:number>/turn/", turn_page.event_turn, name="event_turn"),
    path("runs/<run_id:run_id>/firms/<slug:firm>/", conversation.conversation, name="conversation"),
    path("runs/<run_id:run_id>/firms/<slug:firm>/<number:day>/", conversation.conversation, name="conversation_day"),
    path("runs/<run_id:run_id>/delete/", run_delete.run_delete, name="run_delete"),
    path("", include("dashboards.monitor.urls")),
    path("runs/<run_id:run_id>/pace/", verbs.pace, name="pace"),
    path("runs/<run_id:run_id>/<slug:verb>/", verbs.verb, name="verb"),
    path("", include("dashboards.study.urls")),
    path("seat/", include("dashboards.seat.urls")),
    path("api/seat/", include("dashboards.seat_api.urls")),
    path("sign-in/<str:key>/<str:token>/", sign_in.sign_in, name="sign_in"),
    path("sign-out/", LogoutView.as_view(next_page="admin:login"), name="sign_out"),
]
