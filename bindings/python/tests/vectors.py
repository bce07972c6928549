"""Recorded calls: tests/vectors/README.md describes the files."""

import array
import json

import libsampler
from support import LETTERS, PROJECT, f32_of_bits, of_bits

FOLDER = PROJECT / "tests/vectors"
OPERATIONS = ("sample", "filter", "select", "verify", "residual")

STRUCTS = {"input": libsampler.Rows, "target": libsampler.Rows, "draft": libsampler.Rows,
           "params": libsampler.Params, "draft_params": libsampler.Params,
           "row_params": libsampler.RowParams, "draft_row_params": libsampler.RowParams,
           "pipeline": libsampler.Pipeline, "reports": libsampler.Reports,
           "layout": libsampler.DraftLayout, "acceptance": libsampler.AcceptanceParams}
LISTS = {"history", "biased", "bias_contexts", "allowed", "banned", "stop", "unpenalized", "bad_words",
         "dry_breakers", "tokens"}

# Those that are allocated where they are not given.
MAIN_OUTPUTS = {"sample": ("out_token_ids",), "filter": ("output",), "residual": ("output",),
                "select": ("out_values", "out_token_ids"), "verify": ("out_token_ids",),
                "append": ("out_lengths",), "accept": ("out_lengths",),
                "read": ("out_lengths", "out_token_ids")}


def cases(operation):
    contents = json.loads((FOLDER / f"{operation}.json").read_text())
    assert contents["operation"] == operation and contents["cases"]
    return contents["cases"]


def _number(owner, name, value):
    if isinstance(value, str):
        return int(value)
    return f32_of_bits(value) if isinstance(getattr(owner, name, None), float) else value


def _tree(paths):
    """Nested dicts of "a.b.c": value."""
    tree = {}
    for path, value in paths.items():
        *above, name = path.split(".")
        place = tree
        for part in above:
            place = place.setdefault(part, {})
        place[name] = value
    return tree


def _object(name, members):
    """The object of an argument that is a struct of C."""
    if name in LISTS:
        return libsampler.TokenLists(**members)
    class_ = STRUCTS[name]
    default = class_()
    values = {}
    for member, value in members.items():
        if isinstance(value, dict):
            value = _object(member, value)
        elif isinstance(value, (int, str)) and not isinstance(value, bool):
            value = _number(default, member, value)
        values[member] = value
    if class_ is libsampler.Rows:  # numbers that stand nowhere are 0
        values = {"num_rows": 0, "num_cols": 0, **values}
    return class_(**values)


class Case:
    """The arguments of a call; `outputs` are the arrays that it writes, by the path of their member."""

    def __init__(self, recorded, operation, allocates=False):
        self.recorded, self.operation = recorded, operation
        paths = dict(recorded.get("args", {}))
        self.inputs = {}
        for path, value in recorded.get("inputs", {}).items():
            self.inputs[path] = of_bits(value["type"], value["data"])
        paths.update(self.inputs)
        self.outputs = {}
        for path, value in recorded.get("outputs", {}).items():
            letter, _ = LETTERS[value["type"]]
            size = array.array(letter).itemsize
            untouched = array.array(letter, b"\xcd" * (size * len(value["data"])))
            self.outputs[path] = self.inputs.get(path, untouched)
        paths.update({path: True if allocates and path not in self.inputs else output
                      for path, output in self.outputs.items()})
        for name in MAIN_OUTPUTS.get(operation, ()):
            paths.setdefault(name, False)
        if "params.stages" in paths:
            paths["params.stages"] = paths["params.stages"].tolist()
        self.paths = paths

    def replace(self, path, value):
        self.paths[path] = value

    def keywords(self):
        result = {}
        for name, value in _tree(self.paths).items():
            if name == "random":
                result.update({part: _number(None, part, number) if isinstance(number, (int, str))
                               else number for part, number in value.items()})
            elif isinstance(value, dict):
                result[name] = _object(name, value)
            else:
                result[name] = value
        return result

    def sampler(self, max_rows, max_cols, **more):
        options = self.recorded.get("options", {})
        fallback = options.get("fallback_token_id", 0) if options.get("use_fallback_token") else None
        return libsampler.Sampler(max_rows=max_rows, max_cols=max_cols, fallback_token_id=fallback,
                                  **more)

    def expected(self, path):
        value = self.recorded["outputs"][path]
        return of_bits(value["type"], value["data"]).tobytes()
