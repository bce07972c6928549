#!/usr/bin/env python3
"""Makes from the public headers what is alike for every operation of the bindings made by SWIG.

usage: generate.py INCLUDE_DIR OUTPUT_DIR

Writes, into OUTPUT_DIR laid out like the folder bindings:
  swig/shim_operations.h   a flat function for each operation, for options and capabilities
  swig/constants.i         the constants of the headers' enumerations
  go/internal/raw/args.go  a struct for each flat function, and a method that calls it
  go/convert.go            from the arguments of Go's public API to those structs, checked
A member whose type has no counterpart in NUMBERS or ARRAYS ends it with an error.
"""

import dataclasses
import pathlib
import re
import sys

NOTE = "Made from libsampler's headers by bindings/swig/generate.py; do not edit."
LINE_WIDTH = 100

# Headers whose work is done through callbacks, or beside a loop that has them: C only.
HEADERS_LEFT_OUT = {"decoding.h", "ngram.h"}

# Members that the _INIT macros set, and callbacks, which the bindings do not offer.
LEFT_OUT = {"struct_size", "reserved"}
OPTIONS_LEFT_OUT = {"abi_version", "parallel_for", "parallel_for_user", "allocate", "deallocate",
                    "allocator_user", "log", "log_user"}


@dataclasses.dataclass(frozen=True)
class Flat:
    """A type of the flat functions: in C, in Go and in Java."""
    c: str
    go: str
    java: str


NUMBERS = {
    "size_t": Flat("uint64_t", "uint64", "long"),
    "sampler_stream": Flat("uintptr_t", "uintptr", "long"),
    "int32_t": Flat("int32_t", "int32", "int"),
    "uint32_t": Flat("uint32_t", "uint32", "int"),
    "int64_t": Flat("int64_t", "int64", "long"),
    "uint64_t": Flat("uint64_t", "uint64", "long"),
    "float": Flat("float", "float32", "float"),
}
ARRAYS = {
    "const void *": Flat("shim_read_any", "Array", "Object"),
    "const float *": Flat("shim_read_f32", "Array", "float[]"),
    "const int32_t *": Flat("shim_read_i32", "Array", "int[]"),
    "const uint64_t *": Flat("shim_read_u64", "Array", "long[]"),
    "void *": Flat("shim_write_any", "Array", "Object"),
    "float *": Flat("shim_write_f32", "Array", "float[]"),
    "int32_t *": Flat("shim_write_i32", "Array", "int[]"),
    "uint32_t *": Flat("shim_write_u32", "Array", "int[]"),
}


@dataclasses.dataclass(frozen=True)
class Member:
    name: str
    flat: Flat
    is_array: bool
    default: str  # as the headers write it: "0", "1.0f" or a constant's name


# ---- Reading the headers ------------------------------------------------------------------------


def header_text(include_dir):
    paths = sorted(pathlib.Path(include_dir, "sampler").glob("*.h"))
    text = "".join(path.read_text() for path in paths if path.name not in HEADERS_LEFT_OUT)
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    return re.sub(r"\\\n", " ", text)


def enumerations(text):
    """The constants, one list for each enumeration, in the order of the headers."""
    bodies = re.findall(r"\benum\s*\{([^{}]*)\}", text)
    return [re.findall(r"(SAMPLER_\w+)\s*=\s*(\d+)", body) for body in bodies]


def integer_types(text):
    """What a typedef of the headers is: sampler_dtype -> int32_t."""
    return {name: base for base, name in re.findall(r"typedef (u?int\d+_t) (\w+);", text)}


def defaults_of(text, struct):
    macro = re.search(rf"#define {struct.upper()}_INIT\s+\{{(.*?)\}}\s*$", text, flags=re.M)
    if not macro:
        sys.exit(f"{struct} has no _INIT macro")
    return [value.strip() for value in macro.group(1).split(",")]


def struct_members(text, struct):
    body = re.search(rf"struct {struct} \{{([^{{}}]*)\}}", text).group(1)
    declarations = [part.strip() for part in body.split(";") if part.strip()]
    types = integer_types(text)
    members = []
    defaults = defaults_of(text, struct)
    if len(defaults) != len(declarations):
        sys.exit(f"{struct} has {len(declarations)} members, its _INIT macro {len(defaults)} values")
    for declaration, default in zip(declarations, defaults):
        type_name, name = re.fullmatch(r"(.*?)\s*(\w+)", declaration).groups()
        if name in LEFT_OUT or (struct == "sampler_options" and name in OPTIONS_LEFT_OUT):
            continue
        type_name = re.sub(r"\bsampler_\w+\b", lambda m: types.get(m.group(), m.group()), type_name)
        if type_name not in NUMBERS | ARRAYS:
            sys.exit(f"{struct}.{name}: no counterpart of {type_name}")
        is_array = type_name in ARRAYS
        members.append(Member(name, (NUMBERS | ARRAYS)[type_name], is_array, default))
    return members


def operations_in(text):
    """Names without "sampler_", in the order of the headers."""
    names = re.findall(r"\bstruct sampler_(\w+)_args \{", text)
    for name in names:
        if not re.search(rf"\bSAMPLER_OP_{name.upper()} = ", text):
            sys.exit(f"{name} has no constant SAMPLER_OP_{name.upper()}")
    return names


# ---- Writing ------------------------------------------------------------------------------------


def camel(name):
    """top_k_top_p -> topKTopP."""
    first, *others = name.split("_")
    return first + "".join(word.capitalize() for word in others)


def go_name(name):
    words = {"id": "ID", "ids": "IDs"}
    return "".join(words.get(word, word.capitalize()) for word in name.split("_"))


def wrapped(items, indent, first=""):
    """Items with commas between, in lines that start with `indent` behind the first."""
    lines, line = [], first
    for index, item in enumerate(items):
        piece = item + ("," if index + 1 < len(items) else "")
        if line.strip() and len((line + " " + piece).expandtabs(4)) > LINE_WIDTH - 4:
            lines.append(line)
            line = indent + piece
        else:
            line += (" " if index and line.strip() else "") + piece
    return "\n".join(lines + [line])


def c_parameters(members):
    for member in members:
        yield f"{member.flat.c} {member.name}"
        if member.is_array:
            yield f"shim_offset {member.name}_at"


def c_assignments(members, struct):
    for member in members:
        value = member.name
        if member.is_array:
            value = f"shim_at({member.name}, {member.name}_at)"
        elif member.flat.c == "uintptr_t":
            value = f"(sampler_stream){member.name}"
        yield f"  {struct}.{member.name} = {value};"


def c_operation(name, members):
    parameters = ["shim_handle *handle", "int32_t only_size", *c_parameters(members)]
    first = f"static inline int64_t shim_{name}("
    return [
        wrapped(parameters, "    ", first) + ") {",
        f"  sampler_{name}_args args = SAMPLER_{name.upper()}_ARGS_INIT;",
        *c_assignments(members, "args"),
        "  if (only_size) {",
        f"    return shim_workspace_size(handle, SAMPLER_OP_{name.upper()}, &args);",
        "  }",
        f"  return shim_finish(handle, sampler_{name}(shim_sampler(handle), &args));",
        "}", ""]


def c_create(members):
    first = "static inline shim_handle *shim_create("
    return [
        wrapped(list(c_parameters(members)), "    ", first) + ") {",
        "  sampler_options options = SAMPLER_OPTIONS_INIT;",
        *c_assignments(members, "options"),
        "  return shim_create_with(&options);",
        "}", ""]


def c_capability(member):
    return [
        f"static inline {member.flat.c} shim_capability_{member.name}(void) {{",
        "  sampler_capabilities capabilities = SAMPLER_CAPABILITIES_INIT;",
        "  sampler_get_capabilities(&capabilities);",
        f"  return capabilities.{member.name};",
        "}", ""]


def shim_operations(structs, options, capabilities):
    lines = [f"/* {NOTE} */", "",
             "/* Members of sampler_options; see shim_create_with. */", *c_create(options),
             "/* Members of sampler_capabilities. */"]
    for member in capabilities:
        lines += c_capability(member)
    lines.append("/* The operations. With `only_size` 0 they call; else they tell the bytes of workspace "
                 "that the\n * call needs. Both return minus the status when they fail. */")
    for name, members in structs.items():
        lines += c_operation(name, members)
    return "\n".join(lines)


def constants(enums):
    lines = [f"/* {NOTE} */"]
    for enum in enums:
        lines += ["", *(f"%constant int {name} = {value};" for name, value in enum)]
    return "\n".join(lines) + "\n"


# ---- Go -----------------------------------------------------------------------------------------


def go_default(member, enum_values):
    value = enum_values.get(member.default, member.default).rstrip("f")
    return None if float(value) == 0 else value.removesuffix(".0")


def go_arguments(members):
    for member in members:
        yield f"a.{go_name(member.name)}" + (".address()" if member.is_array else "")


def go_struct(type_name, what, members):
    width = max(len(go_name(member.name)) for member in members) + 1
    return [
        f"// {type_name} holds the members of {what}.",
        f"type {type_name} struct {{",
        *(f"\t{go_name(member.name):{width}}{member.flat.go}" for member in members),
        "}", ""]


def go_defaults(type_name, what, members, enum_values):
    values = [(go_name(member.name), go_default(member, enum_values)) for member in members]
    values = [f"{name}: {value}" for name, value in values if value]
    return [
        f"// New{type_name} returns the defaults of {what}.",
        f"func New{type_name}() {type_name} {{",
        f"\treturn {type_name}{{{', '.join(values)}}}",
        "}", ""]


def go_operation(name, members, enum_values):
    type_name = go_name(name) + "Args"
    call = wrapped(["handle", "onlySize", *go_arguments(members)], "\t\t",
                   f"\treturn Shim{go_name(name)}(")
    struct = f"sampler_{name}_args"
    return [*go_struct(type_name, struct, members),
            *go_defaults(type_name, struct, members, enum_values),
            f"// Run calls sampler_{name}, or, when onlySize is 1, sampler_workspace_size.",
            f"func (a *{type_name}) Run(handle uintptr, onlySize int32) int64 {{",
            call.replace("\treturn", "\tresult :=") + ")",
            "\truntime.KeepAlive(a)",
            "\treturn result", "}", ""]


def go_args(structs, options, enum_values):
    lines = [f"// {NOTE}", "", "package raw", "", 'import "runtime"', ""]
    lines += go_struct("Options", "sampler_options", options)
    create = wrapped(list(go_arguments(options)), "\t\t", "\treturn ShimCreate(")
    lines += ["// Create calls sampler_create. The handle it returns, 0 when there is no memory, is",
              "// given to ShimDestroy even when its status is not SAMPLER_OK.",
              "func (a *Options) Create() uintptr {", create + ")", "}", ""]
    for name, members in structs.items():
        lines += go_operation(name, members, enum_values)
    return "\n".join(lines).rstrip("\n") + "\n"


# From the public fields of Go to the members of C. A public field stands for several members: a
# value and its array, an array and its element type, an array and its count.

GO_ENUMS = {"top_k_ties", "top_p_ties", "filter_order", "temperature_order", "draw_method",
            "logprob_kind"}
GO_KINDS = {"input_kind", "target_kind", "draft_kind"}
GO_TYPES_OF_DATA = {"input": "input_dtype", "target": "target_dtype", "draft": "draft_dtype",
                    "output": "output_dtype", "out_values": "output_dtype"}
GO_TYPES_OF_IDS = {"candidate_ids": "candidate_id_type",
                   "target_candidate_ids": "candidate_id_type",
                   "draft_candidate_ids": "candidate_id_type",
                   "draft_token_ids": "token_id_type", "out_token_ids": "token_id_type"}
GO_SEEDS = {"seeds": ("seed", "num_seeds"), "offsets": ("offset", "num_offsets")}
GO_PARAMETERS = {"temperatures": "temperature", "top_ks": "top_k", "top_ps": "top_p",
                 "min_ps": "min_p"}

# Elements of arrays that have not one for each output row; GO_LOCALS are set before.
GO_LENGTHS = {
    "input": "inputElements", "candidate_ids": "inputElements", "candidate_counts": "inputRows",
    "output": "rows(r.NumRows, r.NumCols, r.OutputStride)",
    "target": "targetElements", "target_candidate_ids": "targetElements",
    "target_candidate_counts": "targetRows",
    "draft": "draftElements", "draft_candidate_ids": "draftElements",
    "draft_candidate_counts": "draftRows", "draft_token_ids": "draftRows",
    ("chain_speculative", "out_token_ids"): "targetRows",
    ("top_k_select", "out_token_ids"): "product(r.NumRows, r.NumSelected)",
    ("top_k_select", "out_values"): "product(r.NumRows, r.NumSelected)",
    ("residual", "target"): "rows(r.NumRows, r.NumCols, r.TargetRowStride)",
    ("residual", "draft"): "rows(r.NumRows, r.NumCols, r.DraftRowStride)",
    ("residual", "draft_token_ids"): "r.NumRows",
}
GO_LOCALS = {
    "num_input_rows": ["inputRows := firstNonzero(r.NumInputRows, r.NumRows)"],
    "input": ["inputElements := rows(inputRows, r.NumCols, r.RowStride)"],
    "num_drafts": [
        "targetRows, draftRows := product(r.NumRows, r.NumDrafts+1), product(r.NumRows, r.NumDrafts)",
        "targetElements := positions(r.NumRows, r.NumDrafts+1, r.NumCols, r.TargetRowStride,",
        "\tr.TargetPositionStride)",
        "draftElements := positions(r.NumRows, r.NumDrafts, r.NumCols, r.DraftRowStride,",
        "\tr.DraftPositionStride)"],
}


def go_number(member):
    """The line that sets a member that is a public field of its own."""
    name = go_name(member.name)
    if member.name in GO_KINDS:
        return f'c.kind("{member.name}", a.{name}, &r.{name})'
    if member.name == "accumulate_counts":
        return f"r.{name} = flag(a.{name})"
    if member.name == "stream":
        return f"r.{name} = a.{name}"
    if member.name in GO_ENUMS or member.flat.go == "int64":
        return f"r.{name} = {member.flat.go}(a.{name})"
    sys.exit(f"{member.name}: generate.py does not know its public field in Go")


def go_array(operation, member, names):
    """The line that sets an array and the members that go with it."""
    name, field = member.name, go_name(member.name)
    length = GO_LENGTHS.get((operation, name), GO_LENGTHS.get(name, "r.NumRows"))
    if name in GO_SEEDS:
        value, count = map(go_name, GO_SEEDS[name])
        return f'c.seeds("{name}", a.{value}, &r.{value}, &r.{field}, &r.{count}, r.NumRows)'
    if GO_PARAMETERS.get(name) in names:
        value = go_name(GO_PARAMETERS[name])
        return f'param(c, "{name}", a.{value}, &r.{value}, &r.{field}, {length})'
    if name == "workspace":
        return "r.Workspace, r.WorkspaceBytes = c.workspace(a.Workspace, a.WorkspaceBytes)"
    if name in GO_PARAMETERS:
        return f'r.{field} = c.parameter("{name}", a.{field}.array, {length})'
    if GO_TYPES_OF_DATA.get(name) in names:
        data_type = go_name(GO_TYPES_OF_DATA[name])
        return f'r.{field} = c.data("{name}", a.{field}, &r.{data_type}, {length})'
    if name in GO_TYPES_OF_IDS:
        id_type = go_name(GO_TYPES_OF_IDS[name])
        return f'r.{field} = c.ids("{name}", a.{field}, &r.{id_type}, {length})'
    return f'r.{field} = c.array("{name}", a.{field}.array, {length})'


def set_with_array(names):
    """Members that the line of an array sets."""
    result = {"workspace_bytes"}
    for array, others in (GO_SEEDS | GO_PARAMETERS | GO_TYPES_OF_DATA | GO_TYPES_OF_IDS).items():
        if array in names:
            result.update([others] if isinstance(others, str) else others)
    return result


def shared_id_types(members):
    """Pairs of arrays whose ids are of one type."""
    arrays = [member.name for member in members if member.name in GO_TYPES_OF_IDS]
    return [(first, second) for i, first in enumerate(arrays) for second in arrays[i + 1:]
            if GO_TYPES_OF_IDS[first] == GO_TYPES_OF_IDS[second]]


def fitted(line):
    """The line with a tab in front, broken at a comma where it is too long."""
    if len(line) + 4 <= LINE_WIDTH:
        return "\t" + line
    cut = line.rindex(", ", 0, LINE_WIDTH - 4) + 1
    return f"\t{line[:cut]}\n\t\t{line[cut + 1:]}"


def go_conversion(operation, members):
    names = {member.name for member in members}
    merged = set_with_array(names)
    lines = [go_number(m) for m in members if not m.is_array and m.name not in merged]
    if "input" in names and "num_input_rows" not in names:
        lines.append("inputRows := r.NumRows")
    lines += [line for name, local in GO_LOCALS.items() if name in names for line in local]
    lines += [go_array(operation, member, names) for member in members if member.is_array]
    for first, second in shared_id_types(members):
        lines.append(f'c.oneType("{first}", a.{go_name(first)}, "{second}", a.{go_name(second)})')
    name = go_name(operation)
    return [
        f"func (a *{name}Args) convert(c *check, r *raw.{name}Args) {{",
        *map(fitted, lines), "}", "",
        f"func (a *{name}Args) run(s *Sampler, onlySize int32) (int, error) {{",
        f'\tc, err := s.begin("{name}", a == nil, onlySize)',
        "\tif err != nil {", "\t\treturn 0, err", "\t}",
        "\tdefer s.mutex.Unlock()",
        f"\tr := raw.New{name}Args()",
        "\ta.convert(&c, &r)",
        "\tif c.err != nil {", "\t\treturn c.refuse(r.Run(s.handle, 1))", "\t}",
        "\treturn c.finish(r.Run(s.handle, onlySize))",
        "}", ""]


def go_convert(structs):
    lines = [f"// {NOTE}", "", "package sampler", "",
             'import "github.com/libsampler/libsampler/bindings/go/internal/raw"', ""]
    for name, members in structs.items():
        lines += go_conversion(name, members)
    return "\n".join(lines).rstrip("\n") + "\n"


def structs_in(text):
    """The members of each operation's arguments."""
    return {name: struct_members(text, f"sampler_{name}_args") for name in operations_in(text)}


def flat_functions_in(text):
    return shim_operations(structs_in(text), struct_members(text, "sampler_options"),
                           struct_members(text, "sampler_capabilities"))


def write(files, output_dir):
    for name, contents in files.items():
        path = pathlib.Path(output_dir, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(contents)


def main(include_dir, output_dir):
    text = header_text(include_dir)
    enums = enumerations(text)
    enum_values = dict(value for enum in enums for value in enum)
    structs = structs_in(text)
    options = struct_members(text, "sampler_options")
    files = {
        "swig/shim_operations.h": flat_functions_in(text),
        "swig/constants.i": constants(enums),
        "go/internal/raw/args.go": go_args(structs, options, enum_values),
        "go/convert.go": go_convert(structs),
    }
    write(files, output_dir)


if __name__ == "__main__":
    main(*sys.argv[1:])
