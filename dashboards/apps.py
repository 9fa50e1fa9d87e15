"""The app of the pages."""

from django.apps import AppConfig
from django.urls import register_converter

from dashboards.converters import NumberConverter


class DashboardsConfig(AppConfig):
    """Makes known, once, what the addresses of pages and sockets are written with."""

    default_auto_field = "django.db.models.BigAutoField"
    name = "dashboards"

    def ready(self) -> None:
        """Register `<run_id:…>` and `<number:…>`."""
        register_converter(NumberConverter, "run_id")
        register_converter(NumberConverter, "number")
