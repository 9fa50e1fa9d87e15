"""Fail on files that Python would run at every start and that nobody here put there.

Twice in 2026 a poisoned release of a package we use hid in such a file, which runs
without ever being imported. A known one is allowed by its exact text.
"""

import sys
import sysconfig
from pathlib import Path

# setuptools' own, which Python 3.11 puts into every new virtual environment.
SETUPTOOLS = (
    "import os; var = 'SETUPTOOLS_USE_DISTUTILS'; enabled = os.environ.get(var, 'local') == "
    "'local'; enabled and __import__('_distutils_hack').add_shim();"
)
KNOWN = {"distutils-precedence.pth": SETUPTOOLS}
PATTERNS = ("*.pth", "*.start", "sitecustomize*", "usercustomize*")


def unexpected_files(folder: Path) -> list[Path]:
    """The start-up files in a folder of packages that are not known, sorted."""
    found = {file for pattern in PATTERNS for file in folder.glob(pattern)}
    return sorted(file for file in found if not is_known(file))


def is_known(file: Path) -> bool:
    """Whether this is a file we expect, with the text we expect."""
    return file.is_file() and KNOWN.get(file.name) == file.read_text().strip()


def main() -> None:
    """Check the packages of the Python that runs this."""
    folders = {Path(sysconfig.get_path(kind)) for kind in ("purelib", "platlib")}
    unexpected = [file for folder in sorted(folders) for file in unexpected_files(folder)]
    for file in unexpected:
        print(f"unexpected start-up file: {file}")
    if unexpected:
        sys.exit("Python runs these at every start. Find out which package brought them.")
    print("no unexpected start-up files")


if __name__ == "__main__":
    main()
