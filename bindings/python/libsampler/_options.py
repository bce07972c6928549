"""Options of operators: members of Params, RowParams, Pipeline and AcceptanceParams by name."""

from typing import Any

import libsampler


def _members(of: type) -> frozenset[str]:
    return frozenset(name for name in dir(of) if not name.startswith("_"))


PARAMS = _members(libsampler.Params) - {"preset", "replace"}
ROW_PARAMS = _members(libsampler.RowParams) - {"replace"}
PIPELINE = _members(libsampler.Pipeline) - {"replace", "state"}
ACCEPTANCE = _members(libsampler.AcceptanceParams) - {"replace", "synthetic_rates"}
LISTS = frozenset({"history", "biased", "bias_contexts", "allowed", "banned", "stop", "unpenalized", "bad_words",
                   "dry_breakers"})

_DEFAULTS = libsampler.Params()
# Members of RowParams that are int32, and int64: those that Params lacks, ids of tokens.
WIDE = ROW_PARAMS - PARAMS
INTEGERS = frozenset(name for name in ROW_PARAMS - WIDE if isinstance(getattr(_DEFAULTS, name), int))


def of_numbers(
    numbers: dict[str, Any],
) -> tuple[libsampler.Params, dict[str, Any], libsampler.AcceptanceParams | None]:
    """What options that are numbers say: of Params, from "preset" on, of Pipeline, and of AcceptanceParams
    where there is any."""
    params, pipeline, acceptance = {}, {}, {}
    for name, value in numbers.items():
        if name in PARAMS:
            params[name] = value
        elif name in PIPELINE:
            pipeline[name] = value
        elif name in ACCEPTANCE:
            acceptance[name] = value
        elif name != "preset":
            raise TypeError(f"{name} is no option: it is a member of none of Params, RowParams, Pipeline "
                            "and AcceptanceParams")
    preset = numbers.get("preset")
    start = libsampler.Params() if preset is None else libsampler.Params.preset(preset)
    return (start.replace(**params), pipeline,
            libsampler.AcceptanceParams(**acceptance) if acceptance else None)
