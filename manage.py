#!/usr/bin/env python
"""Every command of CoffeeBench: `python manage.py help` lists them."""

import os
import sys


def main() -> None:
    """Run the command named on the command line under the site's settings."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "coffeebench_site.settings")

    # Imported late: the settings module must be named before Django looks for it.
    from django.core.management import execute_from_command_line

    from coffeebench_site.environment import EnvironmentRefused

    try:
        execute_from_command_line(sys.argv)
    except EnvironmentRefused as refused:
        print(refused, file=sys.stderr)
        sys.exit(2)


if __name__ == "__main__":
    main()
