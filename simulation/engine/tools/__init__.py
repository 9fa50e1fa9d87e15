"""The tools, one subject a file. A tool is a typed function whose docstring a model reads; `registry` makes its schema.

A new tool is a decorated function in one of these files; a new file is named here, in the order players see.
"""

from simulation.engine.tools import trade, mail, accounts, making, shop, time  # noqa: F401, I001
from simulation.engine.tools.registry import Result, Tool, call, schemas_for, tools_of

__all__ = ["Result", "Tool", "call", "schemas_for", "tools_of"]
