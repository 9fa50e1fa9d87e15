"""The app of studies."""

from django.apps import AppConfig


class StudiesConfig(AppConfig):
    """Lives inside the room of runs, for it is runs that a study is made of."""

    default_auto_field = "django.db.models.BigAutoField"
    name = "simulation.studies"
    label = "studies"
    verbose_name = "studies"
