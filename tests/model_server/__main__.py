"""Starts the server: `python -m tests.model_server --port P --config FILE.json`. It prints its address and serves."""

from __future__ import annotations

import argparse
import asyncio
from pathlib import Path

from tests.model_server.config import Config
from tests.model_server.server import serve


def main() -> None:
    """Reads the command line and serves until it is told to stop. Port 0 is any that is free."""
    parser = argparse.ArgumentParser(prog="tests.model_server", description=__doc__)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--config", type=Path, help="a JSON file with the fields of tests.model_server.config.Config")
    options = parser.parse_args()
    config = Config.model_validate_json(options.config.read_bytes()) if options.config else Config()
    asyncio.run(serve(config, options.port))


main()
