"""What is alive: the database, Redis and the workers."""

import logging
import time
from typing import Any

import redis
from celery.signals import heartbeat_sent
from django.conf import settings
from django.db import Error as DatabaseError
from django.db import connection
from django.http import HttpRequest, JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

logger = logging.getLogger(__name__)

# A sorted set in Redis: each worker's name with the time of its last heartbeat. Beats
# come every two seconds, so a worker silent for ten is not alive.
WORKERS_KEY = "coffeebench:workers"
SILENT_SECONDS = 10.0


def redis_client() -> redis.Redis:
    """A client for a question or two, which gives up quickly."""
    return redis.Redis.from_url(settings.REDIS_URL, socket_timeout=2, socket_connect_timeout=2)


@heartbeat_sent.connect
def note_heartbeat(sender: Any, **_kwargs: Any) -> None:
    """Write down, in a worker, that it is alive. Never worth stopping a worker for."""
    try:
        note_alive(sender.eventer.hostname)
    except redis.RedisError as error:
        logger.debug("heartbeat not noted: %s", error)


def note_alive(worker: str) -> None:
    """Set a worker's last sign of life to now, and forget those long gone."""
    now = time.time()
    with redis_client() as client:
        client.zadd(WORKERS_KEY, {worker: now})
        client.zremrangebyscore(WORKERS_KEY, "-inf", now - 60)


def live_workers() -> list[str]:
    """The names of the workers that gave a sign of life in the last ten seconds, sorted.

    Raises:
        redis.RedisError: if Redis does not answer; then nobody knows.
    """
    with redis_client() as client:
        names = client.zrangebyscore(WORKERS_KEY, time.time() - SILENT_SECONDS, "+inf")
    return sorted(name.decode() for name in names)


@never_cache
@require_safe
def health(request: HttpRequest) -> JsonResponse:
    """200 if this process can serve pages, 503 if its database or Redis does not answer.

    Workers are named but not demanded: without them pages still open, and runs wait.
    """
    report = {**database_report(), **redis_report()}
    is_well = report["database"] == report["redis"] == "ok"
    return JsonResponse(report, status=200 if is_well else 503)


def database_report() -> dict[str, Any]:
    """Whether the database answers, which kind it is, and its version."""
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
        version = ".".join(str(part) for part in connection.get_database_version())
    except DatabaseError as error:
        logger.error("the database does not answer: %s", error)
        return {"database": "does not answer"}
    return {"database": "ok", "database_version": f"{connection.display_name} {version}"}


def redis_report() -> dict[str, Any]:
    """Whether Redis answers, and the workers that it has heard from."""
    try:
        return {"redis": "ok", "workers": live_workers()}
    except redis.RedisError as error:
        logger.error("Redis does not answer: %s", error)
        return {"redis": "does not answer", "workers": []}
