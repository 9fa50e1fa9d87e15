"""What calls cost: prices given in the settings, or those of litellm's own table, read without importing litellm."""

from __future__ import annotations

import json
import re
from functools import cache
from importlib.util import find_spec
from math import ceil
from pathlib import Path
from typing import Any, NamedTuple

from simulation.players.llm.settings import ModelSettings, Prices

TABLE = "model_prices_and_context_window_backup.json"
PRICED_TOKENS = 1_000_000
_FROM_SIZE = re.compile(r"^input_cost_per_token_above_(\d+)k_tokens$")


class Usage(NamedTuple):
    """Tokens of a call as the provider counted them. `input` includes cached and newly cached ones."""

    input: int = 0
    output: int = 0
    cached: int = 0
    cache_write: int = 0
    reasoning: int = 0


def cost_micros(prices: Prices, usage: Usage) -> int:
    """Micro-dollars of a call. Prices are USD per million tokens, so a token costs its price in micro-dollars."""
    cached_price = prices.input if prices.cached_input is None else prices.cached_input
    write_price = prices.input if prices.cache_write is None else prices.cache_write
    plain = max(0, usage.input - usage.cached - usage.cache_write)
    cost = plain * prices.input + usage.cached * cached_price + usage.cache_write * write_price
    return round(cost + usage.output * prices.output)


def most_micros(prices: Prices, input_tokens: int, output_tokens: int) -> int:
    """The most a call can cost: no token cached, or every one written to the cache where that is dearer."""
    dearest = max(prices.input, prices.cache_write or 0)
    return ceil(input_tokens * dearest + output_tokens * prices.output)


def prices_of(settings: ModelSettings, input_tokens: int = 0) -> Prices | None:
    """The prices given in the settings, else litellm's for a call of that size, else None: unknown, which is not zero.

    Some providers ask more for each token of a call with more than so many of input.
    """
    if settings.prices is not None:
        return settings.prices
    if settings.base_url is not None:  # whoever answers there is not whom the table speaks of
        return None
    listed = _listed(settings.model)
    limits = (int(thousands) * 1000 for key in listed for thousands in _FROM_SIZE.findall(key))
    return _listed_prices(settings.model, max((limit for limit in limits if limit < input_tokens), default=0))


def has_no_minimal_reasoning(model: str) -> bool:
    """Whether the model is known to refuse the wish for minimal reasoning."""
    return _listed(model).get("supports_minimal_reasoning_effort") is False


def is_listed(model: str) -> bool:
    """Whether litellm's table knows the model."""
    return bool(_listed(model))


def _listed(model: str) -> dict[str, Any]:
    return _table().get(model) or _table().get(model.partition("/")[2]) or {}


@cache
def _listed_prices(model: str, above_tokens: int) -> Prices | None:
    listed, size = _listed(model), f"_above_{above_tokens // 1000}k_tokens"

    def price(key: str) -> float | None:
        per_token = listed.get(f"{key}{size}", listed.get(key))
        return None if per_token is None else round(per_token * PRICED_TOKENS, 6)

    per_input, per_output = price("input_cost_per_token"), price("output_cost_per_token")
    if not per_input or not per_output:  # the table has zeros for models whose price it does not know
        return None
    return Prices(
        input=per_input,
        output=per_output,
        cached_input=price("cache_read_input_token_cost"),
        cache_write=price("cache_creation_input_token_cost"),
    )


@cache
def _table() -> dict[str, dict[str, Any]]:
    package = find_spec("litellm")
    if package is None or package.origin is None:
        return {}
    table: dict[str, dict[str, Any]] = json.loads((Path(package.origin).parent / TABLE).read_text(encoding="utf-8"))
    return table
