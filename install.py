"""Make the virtual environment .venv and install pinned requirements into it.

    python3 install.py requirements.txt

Does nothing if these very requirements are installed already. Needs the standard library
only, since it runs before there is anything else.
"""

import hashlib
import importlib.util
import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent
VENV = ROOT / ".venv"
PYTHON = VENV / "bin" / "python"

NO_VENV = """\
This Python ({python}) cannot make virtual environments: its module ensurepip is missing.
On Debian and Ubuntu: apt install python3-venv"""

TOO_OLD = """\
CoffeeBench needs Python 3.11 or newer; {python} is {version}.
Name a newer one: make PYTHON=/path/to/python3.11 …"""

FAILED = """\
The requirements could not be installed; what pip says above is the reason.
Nothing was left half-done that another try would not repair."""


def main() -> None:
    """Bring the environment up to the requirements file named on the command line."""
    requirements = ROOT / sys.argv[1]
    stamp = VENV / f"installed-{requirements.stem}"
    refuse_unfit_python()
    if not environment_works():
        make_environment()
    wanted = fingerprint(requirements)
    if stamp.exists() and stamp.read_text() == wanted:
        return
    install(requirements)
    stamp.write_text(wanted)


def refuse_unfit_python() -> None:
    """Say what is wrong with this Python, rather than fail somewhere in the middle."""
    if sys.version_info < (3, 11):  # noqa: UP036
        version = ".".join(map(str, sys.version_info[:3]))
        sys.exit(TOO_OLD.format(python=sys.executable, version=version))
    if importlib.util.find_spec("ensurepip") is None:
        sys.exit(NO_VENV.format(python=sys.executable))


def environment_works() -> bool:
    """Whether .venv is there and whole.

    It is not after an interrupted start, a move of the folder, or an upgrade of the
    Python that it was made from.
    """
    if not PYTHON.exists():
        return False
    return subprocess.run([PYTHON, "-c", "import pip"], capture_output=True).returncode == 0


def make_environment() -> None:
    """Make .venv anew."""
    say("Making a virtual environment in .venv …")
    venv.create(VENV, clear=True, with_pip=True)


def install(requirements: Path) -> None:
    """Install the pinned wheels. Each must have a hash that the file names."""
    say(f"Installing {requirements.name} into .venv (once; a minute or two) …")
    options = ["--require-hashes", "--only-binary", ":all:", "--quiet"]
    quiet = ["--disable-pip-version-check", "--no-input"]
    command = [str(PYTHON), "-m", "pip", "install", *options, *quiet, "-r", str(requirements)]
    if subprocess.run(command).returncode != 0:
        sys.exit(FAILED)


def fingerprint(requirements: Path) -> str:
    """Changes with the requirements, and with the Python that they are installed for."""
    text = requirements.read_bytes() + sys.version.encode()
    return hashlib.sha256(text).hexdigest()


def say(text: str) -> None:
    """Print at once, also into a pipe."""
    print(text, flush=True)


if __name__ == "__main__":
    main()
