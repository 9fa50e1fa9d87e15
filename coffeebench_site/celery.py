"""The task queue. Redis is a doorbell, the database the store: any message may be lost."""

import os
import warnings
from typing import Any

from celery import Celery
from celery.exceptions import CPendingDeprecationWarning
from celery.signals import setup_logging, worker_ready

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "coffeebench_site.settings")

app = Celery("coffeebench")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()


@setup_logging.connect
def leave_logging_to_django(**_kwargs: Any) -> None:
    """Keep the log handlers of the settings: having a receiver keeps Celery from setting its own."""


@worker_ready.connect
def drop_notice_about_cancelling(**_kwargs: Any) -> None:
    """Drop the notice, whenever Redis was away, that running tasks are not cancelled then: we chose so."""
    notice = r"\s*In Celery 5\.1 we introduced"
    warnings.filterwarnings("ignore", message=notice, category=CPendingDeprecationWarning)
