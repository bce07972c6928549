"""Options of a request that its engine lacks: members of RowParams, each a finite number."""

from collections.abc import Mapping
from typing import Any

OF_HISTORY = ("dry_multiplier", "dry_base", "dry_allowed_length", "dry_window", "no_repeat_ngram_size")
NAMES = (*OF_HISTORY, "xtc_probability", "xtc_threshold", "typical_p", "top_n_sigma", "epsilon_cutoff",
         "eta_cutoff", "top_h", "p_less", "min_k", "top_a", "dynamic_temperature_range",
         "dynamic_temperature_exponent", "min_keep")
INTEGERS = ("top_k", "dry_allowed_length", "dry_window", "no_repeat_ngram_size", "p_less", "min_keep")
_LARGEST_FLOAT = (2 - 2.0**-23) * 2.0**127


def given(options: Mapping[str, Any] | None) -> dict[str, Any]:
    """Those of them that are libsampler's, and not None."""
    return {name: options[name] for name in NAMES if options.get(name) is not None} if options else {}


def broken_rule(name: str, value: Any) -> str | None:
    """The rule that a value breaks."""
    if (isinstance(value, bool) or not isinstance(value, (int, float))
            or not -_LARGEST_FLOAT <= value <= _LARGEST_FLOAT):
        return "it must be a finite number of 32 bits"
    if name in INTEGERS and (value != int(value) or abs(value) >= 2**31):
        return "it must be an integer of 32 bits"
    return None
