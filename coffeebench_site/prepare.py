"""Make the data ready for a start: tables, static files, an admin, a demo run.

    python -m coffeebench_site.prepare

Every part leaves alone what is there already. What is printed is one JSON object about
the admin, for the supervisor; the rest goes to the log.
"""

import json
import os
import secrets
import sys
from dataclasses import asdict, dataclass
from io import StringIO
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from django.contrib.auth.models import User

ADMIN = "admin"


@dataclass(frozen=True)
class Admin:
    """The account to log in with, and a link that does so once. No password: its owner has chosen another one."""

    name: str
    password: str | None
    sign_in_link: str


def main() -> None:
    """Prepare everything and tell the account."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "coffeebench_site.settings")
    import django

    django.setup()
    run_commands()
    json.dump(asdict(ensure_admin()), sys.stdout)


def run_commands() -> None:
    """Run the commands that bring tables, files and the demo up to date, quietly."""
    from django.core.management import call_command

    call_command("migrate", interactive=False, verbosity=0)
    call_command("collectstatic", interactive=False, verbosity=0)
    call_command("demo", stdout=sys.stderr)


def ensure_admin() -> Admin:
    """The account of the first start, made if there is no superuser yet.

    Its password is kept in VAR_DIR, so that every start can show it. It is shown only
    while it is still the right one.
    """
    from django.conf import settings
    from django.contrib.auth.models import User

    from coffeebench_site.environment import read_if_there, write_private

    file = settings.VAR_DIR / "admin-password.txt"
    kept = read_if_there(file)
    user = first_admin()
    if user is None:
        password = kept or secrets.token_urlsafe(12)
        write_private(file, f"{password}\n")
        User.objects.create_superuser(ADMIN, password=password)
        return Admin(ADMIN, password, sign_in_link(ADMIN))
    is_still_right = kept is not None and user.is_active and user.check_password(kept)
    name = user.get_username()
    return Admin(name, kept if is_still_right else None, sign_in_link(name))


def sign_in_link(name: str) -> str:
    """A link that signs the account in once; none, if it may not sign in at all."""
    from django.core.management import CommandError, call_command

    link = StringIO()
    try:
        call_command("sign_in_link", user=name, stdout=link)
    except CommandError:
        return ""
    return link.getvalue().strip()


def first_admin() -> "User | None":
    """The user called admin, or else the oldest superuser, or None on a new database."""
    from django.contrib.auth.models import User

    called_admin = User.objects.filter(username=ADMIN).first()
    return called_admin or User.objects.filter(is_superuser=True).order_by("pk").first()


if __name__ == "__main__":
    main()
