"""Every parameter of a deployment: environment variables, parsed and checked here only.

A value that makes no sense is refused in one sentence that names the variable and says
what is allowed; nothing is guessed and nothing half-configured starts.
"""

import os
import secrets
from contextlib import suppress
from ipaddress import IPv6Address
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import quote, urlsplit

from pydantic import Field, SecretStr, ValidationError, field_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

BASE_DIR = Path(__file__).resolve().parent.parent
REDIS_BY_DEFAULT = "redis://127.0.0.1:6379/0"

# Words split at commas by `Environment.split_at_commas`, not read as JSON.
Words = Annotated[tuple[str, ...], NoDecode]


class EnvironmentRefused(Exception):
    """One or more variables hold nonsense; `sentences` says which and what is allowed."""

    def __init__(self, sentences: list[str]) -> None:
        self.sentences = sentences
        super().__init__("\n".join(sentences))


class Environment(BaseSettings):
    """The variables, by their names in lower case. Each description says what is allowed.

    Empty counts as unset. Values that may hold a password are `SecretStr`, so that no
    error message, log or debug page repeats them.
    """

    model_config = SettingsConfigDict(env_ignore_empty=True, extra="ignore", frozen=True)

    debug: bool = Field(False, description="true or false")
    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = Field("INFO", description="DEBUG, INFO, WARNING or ERROR")
    var_dir: Path = Field(BASE_DIR / "var", description="a folder that can be written to")
    secret_key: SecretStr | None = Field(None, min_length=32, description="32 or more characters that nobody can guess")

    host: str = Field("127.0.0.1", description="a host name or IP address of this machine")
    port: int = Field(8000, ge=1, le=65535, description="a whole number from 1 to 65535")
    allowed_hosts: Words = Field(
        ("localhost", "127.0.0.1", "[::1]"),
        description="host names without scheme or port, with commas between them",
    )
    csrf_trusted_origins: Words = Field(
        (), description="origins like https://bench.example.org, with commas between them"
    )
    behind_https: bool = Field(False, description="true (a proxy in front speaks HTTPS) or false")

    database_url: SecretStr | None = Field(
        None,
        description="sqlite:////absolute/path or postgresql://user:password@host:port/name",
    )
    redis_url: SecretStr | None = Field(None, description="redis://host:port/0, or rediss://… for TLS")

    engine_threads: int = Field(2, ge=1, le=64, description="a whole number from 1 to 64")
    llm_threads: int = Field(16, ge=1, le=256, description="a whole number from 1 to 256")
    stop_seconds: int = Field(30, ge=1, le=3600, description="a whole number of seconds from 1 to 3600")

    @field_validator("log_level", mode="before")
    @classmethod
    def any_case(cls, value: object) -> object:
        """Take `info` for `INFO`."""
        return value.upper() if isinstance(value, str) else value

    @field_validator("var_dir")
    @classmethod
    def absolute_folder(cls, value: Path) -> Path:
        """Fix a relative folder to where the process started; refuse a file."""
        folder = value.expanduser().resolve()
        if folder.exists() and not folder.is_dir():
            raise ValueError("not a folder")
        return folder

    @field_validator("allowed_hosts", "csrf_trusted_origins", mode="before")
    @classmethod
    def split_at_commas(cls, value: object) -> object:
        """Take "a, b" for the words a and b."""
        if not isinstance(value, str):
            return value
        return tuple(word.strip() for word in value.split(",") if word.strip())

    @field_validator("allowed_hosts")
    @classmethod
    def bare_hosts(cls, values: tuple[str, ...]) -> tuple[str, ...]:
        """Refuse schemes, ports and paths, which Django would never match."""
        for value in values:
            refuse_unless_host(value)
        return values

    @field_validator("csrf_trusted_origins")
    @classmethod
    def bare_origins(cls, values: tuple[str, ...]) -> tuple[str, ...]:
        """Refuse what is not exactly a scheme and a host."""
        for value in values:
            parts = urlsplit(value)
            if parts.scheme not in {"http", "https"} or not parts.netloc or parts.path:
                raise ValueError("not an origin")
        return values

    @field_validator("host")
    @classmethod
    def bare_host(cls, value: str) -> str:
        """Refuse what no socket could be bound to; an IPv6 address may have brackets."""
        bare = value.strip("[]")
        refuse_unless_host(f"[{bare}]" if ":" in bare else bare)
        return bare

    @field_validator("database_url")
    @classmethod
    def known_database(cls, value: SecretStr | None) -> SecretStr | None:
        """Refuse other databases than the two that the tests run on."""
        parts = urlsplit(value.get_secret_value()) if value else None
        if parts and parts.scheme not in {"sqlite", "postgres", "postgresql"}:
            raise ValueError("not a known database")
        if parts and not parts.path.strip("/"):
            raise ValueError("names no database")
        return value

    @field_validator("redis_url")
    @classmethod
    def known_redis(cls, value: SecretStr | None) -> SecretStr | None:
        """Refuse addresses that Celery and Channels would not both understand."""
        parts = urlsplit(value.get_secret_value()) if value else None
        if parts and (parts.scheme not in {"redis", "rediss"} or not parts.hostname):
            raise ValueError("not a Redis address")
        if parts and not (parts.path.strip("/") or "0").isdecimal():
            raise ValueError("not the number of a Redis database")
        return value

    @property
    def database_address(self) -> str:
        """DATABASE_URL, or else a SQLite file in VAR_DIR."""
        if self.database_url:
            return self.database_url.get_secret_value()
        return f"sqlite:///{quote(str(self.var_dir / 'coffeebench.sqlite3'))}"

    @property
    def redis_address(self) -> str:
        """REDIS_URL, or else the server that `make run` started, or else Redis' usual port."""
        if self.redis_url:
            return self.redis_url.get_secret_value()
        return read_if_there(self.redis_address_file) or REDIS_BY_DEFAULT

    @property
    def redis_address_file(self) -> Path:
        """Where the supervisor writes the address of the Redis it started."""
        return self.var_dir / "redis-url"

    def secret_key_or_kept(self) -> str:
        """SECRET_KEY, or else the key kept in VAR_DIR, made on first use."""
        if self.secret_key:
            return self.secret_key.get_secret_value()
        return keep_secret(self.var_dir / "secret-key")


def read_environment() -> Environment:
    """The checked environment of this process.

    Raises:
        EnvironmentRefused: with a sentence for every variable that holds nonsense.
    """
    try:
        return Environment()
    except ValidationError as error:
        raise EnvironmentRefused([refusal(item) for item in error.errors()]) from None


def refusal(error: Any) -> str:
    """One sentence about one of pydantic's errors: the variable, its value, what is allowed."""
    field = str(error["loc"][0])
    allowed = Environment.model_fields[field].description
    is_secret = "SecretStr" in str(Environment.model_fields[field].annotation)
    value = "" if is_secret else f", not {os.environ.get(field.upper(), error['input'])!r}"
    return f"{field.upper()} must be {allowed}{value}."


def refuse_unless_host(value: str) -> None:
    """Raise ValueError unless the value is a host name, an IP address or a wildcard."""
    if value.startswith("[") and value.endswith("]"):
        IPv6Address(value[1:-1])
    elif not value or any(sign in value for sign in "/:@[] "):
        raise ValueError("not a bare host")


def read_if_there(file: Path) -> str | None:
    """The text of a small file, or None if it is missing or empty."""
    try:
        return file.read_text().strip() or None
    except FileNotFoundError:
        return None


def keep_secret(file: Path) -> str:
    """The secret kept in a file that only its owner can read, made at the first call.

    Several processes may ask at once in a new folder: the file appears complete and in
    one step, and all of them get the winner's.
    """
    kept = read_if_there(file)
    if kept:
        return kept
    own = write_private(file.with_name(f"{file.name}.{secrets.token_hex(4)}"), new_secret())
    with suppress(FileExistsError):
        os.link(own, file)
    own.unlink()
    return file.read_text().strip()


def new_secret() -> str:
    """A secret that nobody can guess."""
    return secrets.token_urlsafe(48)


def write_private(file: Path, text: str) -> Path:
    """Write a file that only its owner can read, from the first byte on; replace an old one."""
    file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    new = file.with_name(f"{file.name}.new")
    new.unlink(missing_ok=True)
    with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as handle:
        handle.write(text)
    return new.replace(file)
