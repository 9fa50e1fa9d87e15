"""The site's own settings on a folder, a database file and a Redis of the tests' own.

They are set as environment variables, before the real settings are read, so that the
servers and workers that a test starts as processes of their own see the same.
"""

import atexit
import os
import secrets
import shutil
import tempfile

from coffeebench_site.redis_server import unused_port

SESSION = "COFFEEBENCH_TEST_SESSION"
SESSION_OF = "COFFEEBENCH_TEST_SESSION_OF"


def take_a_folder() -> None:
    """Set up the session's folder and addresses, unless a test of the session started this process.

    Each of the workers that run tests side by side has its own, or their sites would take each other's tasks.
    """
    worker = os.environ.get("PYTEST_XDIST_WORKER", "")
    if SESSION in os.environ and os.environ.get(SESSION_OF) == worker:
        return
    os.environ[SESSION_OF] = worker
    folder = tempfile.mkdtemp(prefix="coffeebench-tests-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    os.environ[SESSION] = folder
    os.environ["VAR_DIR"] = folder
    os.environ["REDIS_URL"] = f"redis://:{secrets.token_urlsafe()}@127.0.0.1:{unused_port()}/0"


take_a_folder()

from coffeebench_site.settings import *  # noqa: E402, F403

# Pages are tested without `collectstatic`: files come from where they lie.
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"},
}
WHITENOISE_USE_FINDERS = True
WHITENOISE_AUTOREFRESH = True

# Logging in should not take half a second.
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
