"""What the log must not hold: the links of seats and participants are keys, and stand in addresses that it tells of."""

import logging
import re

# As `simulation.links` signs them: ~ and the signature.
_SIGNATURE = re.compile(r"~[\w-]{16,}")


class KeylessFormatter(logging.Formatter):
    """Writes a line without the signature of any link in it; its number stays, by which the row is found."""

    def format(self, record: logging.LogRecord) -> str:
        """The whole line, with what an exception said."""
        return _SIGNATURE.sub("~…", super().format(record))
