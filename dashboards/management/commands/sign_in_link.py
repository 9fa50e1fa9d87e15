"""Prints a link that signs its visitor in, once."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import User
from django.core.management.base import BaseCommand, CommandError, CommandParser

from coffeebench_site.environment import read_environment
from coffeebench_site.place import page_address
from dashboards.sign_in import sign_in_path


class Command(BaseCommand):
    """`sign_in_link [--user admin] [--host http://127.0.0.1:8000]`."""

    help = "Prints a link that signs in as a member of staff; it works once."

    def add_arguments(self, parser: CommandParser) -> None:
        """The command's options."""
        parser.add_argument("--user", default="admin", help="who will be signed in (default: admin)")
        parser.add_argument("--host", help="where the site is, as http://127.0.0.1:8000 (default: from HOST, PORT)")

    def handle(self, *args: Any, **options: Any) -> None:
        """Print the link and nothing else."""
        user = User.objects.filter(username=options["user"], is_active=True, is_staff=True).first()
        if user is None:
            raise CommandError(f"No active member of staff is called {options['user']!r}.")
        address = options["host"] or page_address(read_environment())
        self.stdout.write(address.rstrip("/") + sign_in_path(user))
