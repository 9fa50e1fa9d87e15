"""What is installed is exactly what was examined: pinned, hashed, and nothing that starts by itself."""

import re
import runpy
import sys
from pathlib import Path

import pytest

import install
from coffeebench_site.environment import BASE_DIR

FILES = ["requirements.txt", "requirements-dev.txt"]


def pins(file: str) -> dict[str, tuple[str, int]]:
    """Of every requirement in a file: the version it is pinned to, and how many hashes it has."""
    found = {}
    for block in re.split(r"\n(?=\S)", (BASE_DIR / file).read_text()):
        match = re.match(r"([\w-]+)==(\S+)", block)
        if match:
            found[match[1]] = (match[2], block.count("--hash=sha256:"))
    return found


@pytest.mark.parametrize("file", FILES)
def test_every_requirement_has_one_version_and_hashes(file: str) -> None:
    text = (BASE_DIR / file).read_text()
    requirements = [line for line in text.splitlines() if line and not line.startswith((" ", "#"))]
    assert all("==" in line for line in requirements)
    assert all(hashes > 0 for _, hashes in pins(file).values())


@pytest.mark.parametrize("file", FILES)
def test_no_requirement_names_where_it_is_fetched(file: str) -> None:
    assert not re.search(r"https?://|--index|--find-links|--trusted", (BASE_DIR / file).read_text())


def test_tests_run_on_the_very_versions_that_the_site_runs_on() -> None:
    runtime, development = (pins(file) for file in FILES)
    assert runtime.items() <= development.items()


def test_litellm_is_the_release_that_was_examined() -> None:
    assert pins("requirements.txt")["litellm"][0] == "1.110.2"


def test_a_file_that_python_would_run_at_every_start_is_found(tmp_path: Path) -> None:
    check = runpy.run_path(str(BASE_DIR / ".ci" / "check_startup_files.py"))
    (tmp_path / "litellm_init.pth").write_text("import os")
    (tmp_path / "sitecustomize.py").write_text("")
    (tmp_path / "distutils-precedence.pth").write_text("import os; os.system('true')")
    found = check["unexpected_files"](tmp_path)
    assert [file.name for file in found] == ["distutils-precedence.pth", "litellm_init.pth", "sitecustomize.py"]


def test_a_known_start_up_file_is_let_through(tmp_path: Path) -> None:
    check = runpy.run_path(str(BASE_DIR / ".ci" / "check_startup_files.py"))
    (tmp_path / "distutils-precedence.pth").write_text(check["SETUPTOOLS"] + "\n")
    assert check["unexpected_files"](tmp_path) == []


def test_an_old_python_is_refused_with_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "version_info", (3, 10, 13))
    with pytest.raises(SystemExit, match=r"needs Python 3\.11 or newer; .* is 3\.10\.13"):
        install.refuse_unfit_python()


def test_a_python_without_venv_is_refused_with_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(SystemExit, match="apt install python3-venv"):
        install.refuse_unfit_python()


def test_new_requirements_are_noticed(tmp_path: Path) -> None:
    file = tmp_path / "requirements.txt"
    file.write_text("a==1")
    before = install.fingerprint(file)
    file.write_text("a==2")
    assert install.fingerprint(file) != before
