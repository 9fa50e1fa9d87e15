"""Static files under names with their content's hash, down to what scripts import."""

import re
from pathlib import Path

from django.conf import settings as site_settings
from django.core.management import call_command
from pytest_django import Settings

IMPORT = re.compile(r"""^import .* from ["'](.+)["'];$""", re.MULTILINE)


def test_scripts_import_each_other_by_hashed_names(settings: Settings, tmp_path: Path) -> None:
    settings.STATIC_ROOT = tmp_path
    settings.STATICFILES_FINDERS = ["django.contrib.staticfiles.finders.FileSystemFinder"]  # our own files alone
    settings.STORAGES = {
        **site_settings.STORAGES,
        "staticfiles": {"BACKEND": "coffeebench_site.staticfiles.HashedFilesStorage"},
    }
    call_command("collectstatic", interactive=False, verbosity=0)
    hashed = [path for path in tmp_path.glob("js/run/*.js") if re.fullmatch(r"\w+\.[0-9a-f]{12}\.js", path.name)]
    imports = [(path, name) for path in hashed for name in IMPORT.findall(path.read_text())]
    assert len(imports) > 10
    for path, name in imports:
        assert re.fullmatch(r"[./\w]+\.[0-9a-f]{12}\.js", name), (path.name, name)
        assert (path.parent / name).is_file(), (path.name, name)
