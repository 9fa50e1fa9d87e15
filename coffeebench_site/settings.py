"""Django's settings. What differs between deployments comes from `environment`."""

from typing import Any

import dj_database_url
from csp.constants import NONCE, SELF, UNSAFE_INLINE

from coffeebench_site.environment import BASE_DIR, read_environment

environment = read_environment()
VAR_DIR = environment.var_dir
VAR_DIR.mkdir(parents=True, exist_ok=True, mode=0o700)

DEBUG = environment.debug
SECRET_KEY = environment.secret_key_or_kept()
ALLOWED_HOSTS = list(environment.allowed_hosts)
CSRF_TRUSTED_ORIGINS = list(environment.csrf_trusted_origins)

INSTALLED_APPS = [
    "daphne",  # before staticfiles: its `runserver` speaks WebSocket
    "channels",
    "marketplace",
    "simulation",
    "simulation.studies",
    "dashboards",
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "django.contrib.humanize",
    "django_htmx",
]

MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "coffeebench_site.staticfiles.StaticFilesMiddleware",
    "csp.middleware.CSPMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
]

ROOT_URLCONF = "coffeebench_site.urls"
ASGI_APPLICATION = "coffeebench_site.asgi.application"
LOGIN_URL = "admin:login"
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
        },
    },
]

LANGUAGE_CODE = "en"
USE_TZ = True
TIME_ZONE = "UTC"


# The database. Both kinds lock a run by `select_for_update` on its row; on SQLite the
# transaction itself is the lock, because it is begun IMMEDIATE.

SQLITE_OPTIONS: dict[str, Any] = {
    "transaction_mode": "IMMEDIATE",
    "timeout": 30,
    "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;",
}
POSTGRESQL_OPTIONS: dict[str, Any] = {
    "options": "-c idle_in_transaction_session_timeout=60000 -c lock_timeout=10000",
}


def database(address: str) -> dict[str, Any]:
    """Django's description of the database at an address, with the options of its kind."""
    settings: dict[str, Any] = dict(dj_database_url.parse(address))
    is_sqlite = settings["ENGINE"] == "django.db.backends.sqlite3"
    options = SQLITE_OPTIONS if is_sqlite else POSTGRESQL_OPTIONS
    settings["OPTIONS"] = {**options, **settings.get("OPTIONS", {})}
    if is_sqlite:
        # Opening the file anew for every short task cost half the time of the task.
        settings["CONN_MAX_AGE"] = None
        # A file, since other processes and threads must see the tests' rows too.
        settings["TEST"] = {"NAME": str(VAR_DIR / "test.sqlite3")}
    return settings


DATABASES = {"default": database(environment.database_address)}


# The task queue and the hints to sockets, both over one Redis.

REDIS_URL = environment.redis_address

CELERY_BROKER_URL = REDIS_URL
CELERY_BROKER_TRANSPORT_OPTIONS = {
    "visibility_timeout": 1800,  # longer than any task may take
    "unacked_restore_interval": 10,
    "unacked_restore_throttle": 1,
    "socket_timeout": 30,
    "socket_keepalive": True,
    "health_check_interval": 25,
}
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_BROKER_CONNECTION_MAX_RETRIES = None
CELERY_IMPORTS = ["coffeebench_site.health"]  # notes the heartbeats of workers
CELERY_TASK_SERIALIZER = "json"
CELERY_ACCEPT_CONTENT = ["json"]
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_ACKS_LATE = True
CELERY_TASK_REJECT_ON_WORKER_LOST = True  # acks_late alone loses a killed child's task
CELERY_TASK_DEFAULT_QUEUE = "engine"
CELERY_TASK_ROUTES = {"*.llm_*": {"queue": "llm"}, "*": {"queue": "engine"}}
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_WORKER_CANCEL_LONG_RUNNING_TASKS_ON_CONNECTION_LOSS = False
CELERY_WORKER_SOFT_SHUTDOWN_TIMEOUT = 60  # heeded by prefork pools only
CELERY_BEAT_SCHEDULER = "celery.beat:Scheduler"  # keeps nothing on disk: nothing to corrupt
CELERY_BEAT_SCHEDULE = {
    "sweep": {"task": "simulation.sweep", "schedule": 10.0, "options": {"expires": 10.0}},
}

CHANNEL_LAYERS = {
    "default": {
        "BACKEND": "channels_redis.pubsub.RedisPubSubChannelLayer",
        "CONFIG": {
            # redis-py 8 gives a silent connection up after 5 s unless told to wait.
            "hosts": [{"address": REDIS_URL, "socket_timeout": None}],
            "prefix": "coffeebench",
        },
    },
}


# Files and their addresses.

STATIC_URL = "static/"
STATIC_ROOT = VAR_DIR / "static"
STATICFILES_DIRS = [BASE_DIR / "static"]
STATICFILES_FINDERS = [
    "django.contrib.staticfiles.finders.FileSystemFinder",
    "django.contrib.staticfiles.finders.AppDirectoriesFinder",
    "coffeebench_site.staticfiles.PlotlyFinder",
]
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {
        "BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"
        if DEBUG
        else "coffeebench_site.staticfiles.HashedFilesStorage"
    },
}
MEDIA_ROOT = VAR_DIR / "media"


# What a browser is allowed.

CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [SELF],
        "script-src": [SELF, NONCE],
        "style-src": [SELF, UNSAFE_INLINE],  # plotly.js writes a style element
        "img-src": [SELF, "data:", "blob:"],  # its "download as PNG"
        "connect-src": [SELF],
        "object-src": ["'none'"],
        "base-uri": [SELF],
        "form-action": [SELF],
        "frame-ancestors": ["'none'"],
    }
}
X_FRAME_OPTIONS = "DENY"
SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "same-origin"  # a seat's link is a key: no other site may see it
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
SESSION_COOKIE_SECURE = environment.behind_https
CSRF_COOKIE_SECURE = environment.behind_https
if environment.behind_https:
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
    SECURE_SSL_REDIRECT = True
    SECURE_HSTS_SECONDS = 31_536_000

AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in (
        "UserAttributeSimilarityValidator",
        "MinimumLengthValidator",
        "CommonPasswordValidator",
        "NumericPasswordValidator",
    )
]


LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {
        "line": {
            "()": "coffeebench_site.log.KeylessFormatter",
            "format": "{asctime} {levelname} {name}: {message}",
            "style": "{",
        },
    },
    "handlers": {"console": {"class": "logging.StreamHandler", "formatter": "line"}},
    "root": {"handlers": ["console"], "level": environment.log_level},
    "loggers": {
        "django": {"handlers": [], "level": environment.log_level, "propagate": True},
    },
}
