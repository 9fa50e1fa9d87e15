"""What the site is told by its environment, what it refuses, and how its doors are set."""

import os
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.contrib.staticfiles import finders
from django.db import connection
from django.test import Client
from pytest_django import Settings

from coffeebench_site import health
from coffeebench_site.environment import BASE_DIR, Environment, EnvironmentRefused, keep_secret, read_environment
from coffeebench_site.prepare import ADMIN, ensure_admin

VARIABLES = [name.upper() for name in Environment.model_fields]


@pytest.fixture
def bare_environment(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """An environment in which no variable of ours is set."""
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    return monkeypatch


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("PORT", "eight", "PORT must be a whole number from 1 to 65535, not 'eight'."),
        ("PORT", "0", "PORT must be a whole number from 1 to 65535, not '0'."),
        ("PORT", "8000.5", "PORT must be a whole number from 1 to 65535, not '8000.5'."),
        ("PORT", "70000", "PORT must be a whole number from 1 to 65535, not '70000'."),
        ("DEBUG", "perhaps", "DEBUG must be true or false, not 'perhaps'."),
        ("BEHIND_HTTPS", "2", "BEHIND_HTTPS must be true (a proxy in front speaks HTTPS) or false, not '2'."),
        ("LOG_LEVEL", "LOUD", "LOG_LEVEL must be DEBUG, INFO, WARNING or ERROR, not 'LOUD'."),
        ("VAR_DIR", __file__, f"VAR_DIR must be a folder that can be written to, not {__file__!r}."),
        ("HOST", "http://x", "HOST must be a host name or IP address of this machine, not 'http://x'."),
        ("HOST", "1::2::3", "HOST must be a host name or IP address of this machine, not '1::2::3'."),
        (
            "ALLOWED_HOSTS",
            "good.org, https://bad.org",
            "ALLOWED_HOSTS must be host names without scheme or port, with commas between them,"
            " not 'good.org, https://bad.org'.",
        ),
        (
            "CSRF_TRUSTED_ORIGINS",
            "bench.org",
            "CSRF_TRUSTED_ORIGINS must be origins like https://bench.example.org, with commas between them,"
            " not 'bench.org'.",
        ),
        ("ENGINE_THREADS", "0", "ENGINE_THREADS must be a whole number from 1 to 64, not '0'."),
        ("LLM_THREADS", "many", "LLM_THREADS must be a whole number from 1 to 256, not 'many'."),
        ("STOP_SECONDS", "-1", "STOP_SECONDS must be a whole number of seconds from 1 to 3600, not '-1'."),
    ],
)
def test_nonsense_is_refused_by_name_with_what_is_allowed(
    bare_environment: pytest.MonkeyPatch, name: str, value: str, says: str
) -> None:
    bare_environment.setenv(name, value)
    with pytest.raises(EnvironmentRefused) as refused:
        read_environment()
    assert refused.value.sentences == [says]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("SECRET_KEY", "hunter2"),
        ("DATABASE_URL", "mysql://root:hunter2@db/bench"),
        ("DATABASE_URL", "postgresql://root:hunter2@db"),
        ("REDIS_URL", "http://:hunter2@cache"),
        ("REDIS_URL", "redis://:hunter2@cache/first"),
    ],
)
def test_a_refusal_does_not_repeat_a_password(bare_environment: pytest.MonkeyPatch, name: str, value: str) -> None:
    bare_environment.setenv(name, value)
    with pytest.raises(EnvironmentRefused, match=f"^{name} must be ") as refused:
        read_environment()
    assert "hunter2" not in str(refused.value)


def test_every_wrong_variable_is_named_at_once(bare_environment: pytest.MonkeyPatch) -> None:
    bare_environment.setenv("PORT", "x")
    bare_environment.setenv("DEBUG", "x")
    with pytest.raises(EnvironmentRefused) as refused:
        read_environment()
    assert [sentence.split()[0] for sentence in refused.value.sentences] == ["DEBUG", "PORT"]


def test_empty_means_unset(bare_environment: pytest.MonkeyPatch) -> None:
    for name in VARIABLES:
        bare_environment.setenv(name, "")
    environment = read_environment()
    assert environment.port == 8000
    assert environment.database_address == f"sqlite:///{BASE_DIR}/var/coffeebench.sqlite3"
    assert environment.allowed_hosts == ("localhost", "127.0.0.1", "[::1]")


def test_lists_are_written_with_commas(bare_environment: pytest.MonkeyPatch) -> None:
    bare_environment.setenv("ALLOWED_HOSTS", "bench.org, [2001:db8::1],.example.org,")
    assert read_environment().allowed_hosts == ("bench.org", "[2001:db8::1]", ".example.org")


def test_a_command_ends_with_the_sentence_and_no_traceback() -> None:
    result = manage("check", LOG_LEVEL="LOUD")
    assert result.returncode == 2
    assert result.stderr == "LOG_LEVEL must be DEBUG, INFO, WARNING or ERROR, not 'LOUD'.\n"


def test_every_variable_is_documented() -> None:
    assert all(field.description for field in Environment.model_fields.values())


def test_a_secret_is_made_once_even_by_many_at_once(tmp_path: Path) -> None:
    file = tmp_path / "new" / "secret"
    with ThreadPoolExecutor(8) as pool:
        secrets = set(pool.map(lambda _: keep_secret(file), range(32)))
    assert secrets == {file.read_text()}
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert list(file.parent.iterdir()) == [file]


def test_our_sqlite_is_free_of_the_wal_reset_bug() -> None:
    if connection.vendor != "sqlite":
        pytest.skip("on another database")
    assert connection.get_database_version() >= (3, 51, 3)


@pytest.mark.django_db
def test_sqlite_waits_in_line_and_writes_ahead() -> None:
    if connection.vendor != "sqlite":
        pytest.skip("on another database")
    with connection.cursor() as cursor:
        pragmas = {name: cursor.execute(f"PRAGMA {name}").fetchone()[0] for name in ("journal_mode", "busy_timeout")}
    assert pragmas == {"journal_mode": "wal", "busy_timeout": 30_000}
    assert connection.transaction_mode == "IMMEDIATE"  # type: ignore[attr-defined]


def test_litellm_is_kept_off_the_network() -> None:
    names = ("LITELLM_OFFLINE_MODE", "LITELLM_LOCAL_MODEL_COST_MAP", "LITELLM_MODE")
    assert [os.environ[name] for name in names] == ["true", "True", "PRODUCTION"]


def test_the_web_process_does_not_import_litellm() -> None:
    code = "import sys, coffeebench_site.asgi; sys.exit('litellm' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=BASE_DIR).returncode == 0


def test_plotly_comes_from_its_package_and_nothing_else_does() -> None:
    found = finders.find("plotly/plotly.min.js")
    assert found is not None
    assert Path(found).parent.name == "package_data"
    assert finders.find("plotly/widgetbundle.js") is None


def test_static_files_are_served_whole_and_in_parts(client: Client) -> None:
    address = "/static/plotly/plotly.min.js"
    whole = client.get(address)
    part = client.get(address, headers={"range": "bytes=0-9"})
    assert (whole.status_code, whole["Content-Type"]) == (200, 'text/javascript; charset="utf-8"')
    assert (part.status_code, part.content) == (206, whole.content[:10])
    assert not whole.streaming  # Django warns of synchronous streams under ASGI


def test_an_unknown_static_file_is_not_found(client: Client) -> None:
    assert client.get("/static/plotly/../../settings.py").status_code == 404


@pytest.mark.django_db
def test_pages_come_with_a_policy_that_lets_no_foreign_script_in(client: Client) -> None:
    policy = client.get("/admin/login/")["Content-Security-Policy"]
    directives = dict(directive.split(" ", 1) for directive in policy.split("; "))
    assert directives["script-src"] == "'self'"
    assert directives["connect-src"] == "'self'"
    assert directives["img-src"] == "'self' data: blob:"
    assert directives["frame-ancestors"] == "'none'"


@pytest.mark.django_db
def test_a_foreign_host_is_turned_away(client: Client) -> None:
    assert client.get("/admin/login/", headers={"host": "evil.example"}).status_code == 400


@pytest.fixture
def no_workers() -> None:
    """Nobody has given a sign of life: workers of other tests may just have ended."""
    with health.redis_client() as client:
        client.delete(health.WORKERS_KEY)


@pytest.mark.django_db
def test_health_names_database_redis_and_live_workers(client: Client, no_workers: None) -> None:
    health.note_alive("engine@test")
    response = client.get("/healthz")
    assert response.status_code == 200
    assert response.json() == {
        "database": "ok",
        "database_version": f"{connection.display_name} {version_of_database()}",
        "redis": "ok",
        "workers": ["engine@test"],
    }


@pytest.mark.django_db
def test_a_worker_silent_for_ten_seconds_is_not_alive(no_workers: None) -> None:
    with health.redis_client() as client:
        client.zadd(health.WORKERS_KEY, {"engine@gone": 1_000_000.0})
    health.note_alive("llm@here")
    assert health.live_workers() == ["llm@here"]


@pytest.mark.django_db
def test_health_is_bad_without_redis(client: Client, settings: Settings) -> None:
    settings.REDIS_URL = "redis://127.0.0.1:1/0"
    response = client.get("/healthz")
    assert (response.status_code, response.json()["redis"]) == (503, "does not answer")


@pytest.mark.django_db
def test_health_is_asked_not_told(client: Client) -> None:
    assert client.post("/healthz").status_code == 405


@pytest.fixture
def password_file(settings: Settings, tmp_path: Path) -> Path:
    """Where the password of the first admin is kept, in a folder of this test."""
    settings.VAR_DIR = tmp_path
    return tmp_path / "admin-password.txt"


@pytest.mark.django_db
def test_the_first_start_makes_an_admin_whose_password_only_the_owner_can_read(password_file: Path) -> None:
    admin = ensure_admin()
    assert (admin.name, admin.password) == (ADMIN, password_file.read_text().strip())
    assert "/sign-in/" in admin.sign_in_link
    assert User.objects.get(username=ADMIN, is_superuser=True, is_staff=True).check_password(admin.password or "")
    assert stat.S_IMODE(password_file.stat().st_mode) == 0o600


@pytest.mark.django_db
def test_a_second_start_shows_the_same_password(password_file: Path) -> None:
    assert ensure_admin() == ensure_admin()
    assert User.objects.count() == 1


@pytest.mark.django_db
def test_a_new_database_gets_the_admin_that_people_know(password_file: Path) -> None:
    first = account()
    User.objects.all().delete()
    assert account() == first


@pytest.mark.django_db
def test_a_password_that_was_changed_is_not_shown(password_file: Path) -> None:
    ensure_admin()
    user = User.objects.get(username=ADMIN)
    user.set_password("my own")
    user.save()
    assert account() == (ADMIN, None)


@pytest.mark.django_db
def test_an_account_that_was_closed_stays_closed(password_file: Path) -> None:
    ensure_admin()
    User.objects.update(is_active=False)
    assert account() == (ADMIN, None)
    assert ensure_admin().sign_in_link == ""
    assert User.objects.count() == 1


@pytest.mark.django_db
def test_a_site_with_another_superuser_gets_no_second_one(password_file: Path) -> None:
    User.objects.create_superuser("rosa", password="her own")
    assert account() == ("rosa", None)
    assert not password_file.exists()


def account() -> tuple[str, str | None]:
    """Name and password of the account that a start shows."""
    admin = ensure_admin()
    return admin.name, admin.password


def version_of_database() -> str:
    """The version that the driver reports, as people write it."""
    return ".".join(str(part) for part in connection.get_database_version())


def manage(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run manage.py with some variables changed."""
    command = [sys.executable, "manage.py", *arguments]
    return subprocess.run(command, cwd=BASE_DIR, env={**os.environ, **variables}, capture_output=True, text=True)
