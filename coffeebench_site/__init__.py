"""The site: settings, addresses, the socket door, the task queue and the supervisor.

Three things must happen in every process before anything else is imported, and this
is the first module that every process imports.
"""

import gc
import os
import sys

# litellm looks at these once, while it is being imported, and
# without them it fetches price lists from the internet and reads `.env` files.
LITELLM_ENVIRONMENT = {
    "LITELLM_OFFLINE_MODE": "true",
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    "LITELLM_LOCAL_ANTHROPIC_BETA_HEADERS": "True",
    "LITELLM_MODE": "PRODUCTION",
}


def keep_litellm_offline() -> None:
    """Tell litellm, whenever it is imported later, to stay off the network."""
    for name, value in LITELLM_ENVIRONMENT.items():
        os.environ.setdefault(name, value)


def use_recent_sqlite() -> None:
    """Let Django use the SQLite of the `pysqlite3` wheel, where there is one.

    SQLite before 3.51.3 can lose committed writes when several processes write and
    checkpoint one file in WAL mode, which is what this site does. Two libraries on
    one file would be worse still, so the swap is made here, for every process.
    """
    try:
        import pysqlite3
    except ImportError:  # no wheel for this platform: the system's SQLite it is
        return
    sys.modules["sqlite3"] = pysqlite3
    sys.modules["sqlite3.dbapi2"] = pysqlite3.dbapi2


def collect_garbage_less_often() -> None:
    """Look for cycles of dead objects after 50,000 new ones, not after every 700.

    A run in a worker's hands is a hundred thousand small live objects without a cycle. Going
    through them again and again took a quarter of the time of a run of 365 days.
    """
    gc.set_threshold(50_000, 20, 20)


keep_litellm_offline()
use_recent_sqlite()
collect_garbage_less_often()

# After the swap, since importing Celery's app may import Django.
from coffeebench_site.celery import app as celery_app  # noqa: E402

__all__ = ["celery_app"]
