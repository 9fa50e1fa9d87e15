"""What may stand in an address."""


class NumberConverter:
    """A whole number: at most nine digits, since keys of a run's rows must fit a database's integer."""

    regex = "[0-9]{1,9}"

    def to_python(self, value: str) -> int:
        """From the address."""
        return int(value)

    def to_url(self, value: int) -> str:
        """Into an address."""
        return str(value)
