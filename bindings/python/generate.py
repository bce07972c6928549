#!/usr/bin/env python3
"""Makes from the C headers what the Python package has of their structs and constants.

usage: generate.py write PROJECT_DIR    writes the files below
       generate.py check PROJECT_DIR    fails unless `write` would write the same

  src/generated.h, src/generated.c   tables of the structs' members, and docstrings
  libsampler/_enums.py               the enumerations
  libsampler/_core.pyi               types: core.pyi.in, and the classes and calls of the tables

The headers' parser is that of bindings/rust/generate.py.
"""

import dataclasses
import importlib.util
import pathlib
import re
import sys
import textwrap

NOTE = "Made from libsampler's headers by bindings/python/generate.py; do not edit."

HEADERS = ["version.h", "types.h", "handle.h", "pipeline.h", "sampling.h", "speculative.h",
           "unmask.h", "watermark.h", "state.h", "ngram.h", "session.h"]

# From a header whose loops call models back, and which is not read otherwise.
FROM_DECODING = ("sampler_finish_reason", "sampler_gamma_rule")

# C's struct without "sampler_" -> the class of Python whose objects have its members.
CLASSES = {"rows": "Rows", "token_lists": "TokenLists", "params": "Params",
           "row_params": "RowParams", "pipeline": "Pipeline", "report_args": "Reports",
           "draft_layout": "DraftLayout", "acceptance_params": "AcceptanceParams",
           "unmask_params": "UnmaskParams", "watermark_params": "WatermarkParams"}

# Those that calls and constructors take as arguments. Views in them are arguments themselves.
ARGUMENTS = ["sample_args", "score_args", "filter_args", "select_args", "verify_args", "residual_args",
             "unmask_args",
             "state_options", "state_append_args", "accept_args", "state_truncate_args",
             "state_copy_args", "state_reset_args", "state_read_args", "ngram_storage_options",
             "prompt_lookup_options", "session_options", "session_add_args", "session_fork_args",
             "session_plan_args", "session_advance_args"]
FLAT_VIEWS = {"sampler_exec": "exec", "sampler_random": "random"}


@dataclasses.dataclass(frozen=True)
class Call:
    owner: str       # the class that has the method, or that the call makes
    name: str
    struct: str
    positional: int  # how many members come first, without a name
    sizing: bool = False
    hidden: tuple = ()  # members that the object stands for


SIZED = [("sample", 1), ("score", 2), ("filter", 1), ("select", 2), ("verify", 3), ("residual", 2),
         ("unmask", 2)]
CALLS = [
    *(Call("Sampler", name, f"{name}_args", count) for name, count in SIZED),
    *(Call("Sampler", f"{name}_workspace_size", f"{name}_args", count, sizing=True)
      for name, count in SIZED),
    Call("State", "append", "state_append_args", 0, hidden=("state",)),
    Call("State", "accept", "accept_args", 0, hidden=("state",)),
    Call("State", "truncate", "state_truncate_args", 0, hidden=("state",)),
    Call("State", "copy", "state_copy_args", 0, hidden=("source", "destination")),
    Call("State", "reset", "state_reset_args", 0, hidden=("state",)),
    Call("State", "read", "state_read_args", 0, hidden=("state",)),
    Call("Sampler", "state_size", "state_options", 0),
    Call("Sampler", "session_size", "session_options", 0),
    Call("Session", "add", "session_add_args", 1, hidden=("num_tokens", "num_end_tokens")),
    Call("Session", "fork", "session_fork_args", 1),
    Call("Session", "plan", "session_plan_args", 0,
         hidden=("num_sequences", "out_spans", "out_num_spans", "out_drafter_spans",
                 "out_num_drafter_spans", "out_parents")),
    Call("Session", "advance", "session_advance_args", 2,
         hidden=("num_spans", "num_drafter_spans", "num_guidance_rows")),
]

SKIPPED = {"struct_size", "abi_version", "reserved"}

# Integer types of C -> kind of the table, type of Python.
SCALARS = {"int32_t": ("I32", "int"), "uint32_t": ("U32", "int"), "int64_t": ("I64", "int"),
           "uint64_t": ("U64", "int"), "size_t": ("SIZE", "int"), "float": ("F32", "float"),
           "double": ("F64", "float")}
ELEMENTS = {"int32_t": "I32", "uint32_t": "U32", "int64_t": "I64", "uint64_t": "U64",
            "float": "F32", "uint8_t": "U8"}

# Members whose default is not 0, as sampler_params_init has them.
DEFAULTS = {("params", "temperature"): "1.0", ("params", "top_p"): "1.0"}


@dataclasses.dataclass(frozen=True)
class Member:
    name: str
    label: str     # as errors name it: "random.seeds"
    offset: str    # an expression of C
    kind: str
    element: str   # of an array
    is_output: bool
    length: str    # of an array in the struct
    type: str      # of Python
    doc: str


def load(path, name):
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


# ---- Reading the headers ------------------------------------------------------------------------


class Headers:
    """Integers ("sampler_dtype" -> "int32_t"), enums, structs and functions with their comments."""

    def __init__(self, project):
        self.parser = load(project / "bindings/rust/generate.py", "rust_generate")
        self.integers, self.handles, self.enums = {}, set(), []
        self.structs, self.functions, self.struct_docs = {}, {}, {}
        folder = project / "include/sampler"
        for name in HEADERS:
            self.read(name, (folder / name).read_text().replace("\\\n", " "))
        text = (folder / "decoding.h").read_text()
        for name in FROM_DECODING:
            part = re.search(rf"typedef int32_t {name};\nenum \{{.*?\n\}};", text, re.S).group()
            self.read("decoding.h", part)

    def read(self, header, text):
        position, comment, enum_type = 0, "", ""
        while position < len(text):
            item = self.parser.ITEM.match(text, position)
            if not item:
                sys.exit(f"{header}: not understood: {text[position:position + 80]}")
            position = item.end()
            if item["integer"]:
                self.integers[item["integer"]] = item["width"]
                enum_type = item["integer"]
            elif item["handle"]:
                self.handles.add(item["handle"])
            elif item["enum"]:
                body = [(*(word.strip() for word in part.split("=")), self.doc(doc))
                        for part, doc in self.parser.commented_parts(item["enum"], ",")]
                self.enums.append((enum_type, body, self.doc(comment)))
                enum_type = ""
            elif item["struct"]:
                name = item["struct"].removeprefix("sampler_")
                self.structs[name] = [(*self.split(part), self.doc(doc)) for part, doc in
                                      self.parser.commented_parts(item["members"], ";")]
                self.struct_docs[name] = self.doc(comment)
            elif item["function"]:
                self.functions[item["function"]] = self.doc(comment)
            if item["comment"]:
                comment = item["comment"]
            elif item["integer"]:
                pass
            elif not item["space"]:
                comment = ""

    @staticmethod
    def split(declaration):
        """Type, name and length of an array: ("const float *", "biases", "")."""
        c_type, name, length = re.fullmatch(r"(.*?)(\w+)(?:\[(\w+)\])?", declaration.strip(),
                                            re.S).groups()
        return " ".join(c_type.split()), name, length or ""

    def doc(self, comment):
        """Text of a comment, without its marks. NULL is None in Python."""
        lines = [line.removeprefix("///").removeprefix(" ")
                 for line in self.parser.doc_lines(comment, "")]
        return re.sub(r"\bNULL\b", "None", "\n".join(lines).strip())


def python_name(c_name):
    """sampler_id_type -> IdType"""
    return "".join(word.capitalize() for word in c_name.removeprefix("sampler_").split("_"))


def element_of(name, base, integers):
    if base == "void":
        if name == "workspace":
            return "BYTES"
        return "IDS" if name.endswith(("token_ids", "candidate_ids")) else "FLOATS"
    return ELEMENTS.get(integers.get(base, base), "")


def member_of(headers, struct, c_type, name, length, doc, offset, label):
    base = c_type.removeprefix("const ").removesuffix("*").strip()
    is_pointer = c_type.endswith("*")
    own = base.removeprefix("sampler_")
    kind, element, is_output, type_ = "OBJECT", "", False, "Any"
    if base == "sampler_stream":
        kind, type_ = "STREAM", "Any"
    elif base.endswith("_fn") or (is_pointer and base == "void" and name.endswith("user")):
        kind, type_ = "ADDRESS", "int"
    elif is_pointer and own not in headers.structs:
        element = element_of(name, base, headers.integers)
        # The caller's own, which a call changes, are no results.
        is_output = not c_type.startswith("const") and name not in ("workspace", "offsets") \
            and (struct, name) != ("unmask_args", "token_ids")
        type_ = "ArrayLike | bool" if is_output else "ArrayLike"
        if (struct, name) == ("session_fork_args", "seed"):  # of one number
            type_ = "int"
    elif is_pointer or own in CLASSES:
        type_ = {"rows": "ArrayLike | Rows",
                 "token_lists": "TokenLists | tuple[ArrayLike, ArrayLike]",
                 "ngram": "NgramStorage | PromptLookup", "span": "Spans",
                 "session_sequence": "Sequence"}.get(own) or CLASSES[own]
    elif base in headers.handles:
        type_ = "State"
    elif base == "sampler_allocator":
        type_ = "tuple[int, int, int]"
    else:
        scalar, type_ = SCALARS[headers.integers.get(base, base)]
        kind = scalar + ("S" if length else "")
        if length:
            type_ = f"Sequence_[{type_}]"
        # An enumeration's, or one that follows from an array.
        elif name.endswith(("dtype", "id_type")):
            type_ += " | None"
    return Member(name, label, offset, kind, element, is_output, length, type_, doc)


def members_of(headers, struct):
    members = []
    for c_type, name, length, doc in headers.structs[struct]:
        if name in SKIPPED:
            continue
        offset = f"offsetof(sampler_{struct}, {name})"
        if struct in ARGUMENTS and c_type in FLAT_VIEWS:
            view = c_type.removeprefix("sampler_")
            for inner_type, inner, inner_length, inner_doc in headers.structs[view]:
                members.append(member_of(
                    headers, view, inner_type, inner, inner_length, inner_doc,
                    f"{offset} + offsetof({c_type}, {inner})", f"{name}.{inner}"))
        else:
            members.append(member_of(headers, struct, c_type, name, length, doc, offset, name))
    return members


# ---- The tables of C ----------------------------------------------------------------------------


def c_string(text):
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    lines = escaped.split("\n")
    return "\n".join(f'    "{line}\\n"' for line in lines[:-1]) + \
        ("\n" if len(lines) > 1 else "") + f'    "{lines[-1]}"'


def output_names(members):
    """Names of a call's results, without "out_"."""
    return [member.name.removeprefix("out_") for member in members
            if member.is_output or member.name == "reports"]


def has_results(struct, outputs):
    return struct.endswith("_args") and bool(outputs) and struct != "session_plan_args"


# Their arguments without a name may be left out, but for the first.
OPTIONAL_ARGUMENTS = {"verify_args", "residual_args", "unmask_args"}


def signature(call, members):
    """The arguments of a call in Python, and in the text that help() shows."""
    shown = [member for member in members if member.name not in call.hidden
             and not (call.sizing and member.label.startswith("exec."))]
    optional = call.struct in OPTIONAL_ARGUMENTS
    first = [member.name + ("=None" if optional and i else "")
             for i, member in enumerate(shown[:call.positional])]
    arguments = ["$self", *first, "*",
                 *(f"{member.name}=None" for member in shown[call.positional:])]
    return ", ".join(arguments), shown


def ordered(call, members):
    """Members in the order of arguments: what comes without a name first."""
    first = {"sample_args": ["input"], "score_args": ["input", "token_ids"], "filter_args": ["input"],
             "select_args": ["input", "num_selected"],
             "verify_args": ["target", "draft", "draft_token_ids"],
             "residual_args": ["target", "draft"],
             "unmask_args": ["candidate_token_ids", "scores"], "session_add_args": ["token_ids"],
             "session_fork_args": ["source"],
             "session_advance_args": ["spans", "logits"]}.get(call.struct, [])
    by_name = {member.name: member for member in members}
    return [by_name[name] for name in first] + [m for m in members if m.name not in first]


def call_doc(headers, call, members):
    function = {"append": "sampler_state_append", "truncate": "sampler_state_truncate",
                "copy": "sampler_state_copy", "reset": "sampler_state_reset",
                "read": "sampler_state_read", "add": "sampler_session_add",
                "fork": "sampler_session_fork", "plan": "sampler_session_plan",
                "advance": "sampler_session_advance"}.get(call.name, f"sampler_{call.name}")
    arguments, shown = signature(call, ordered(call, members))
    text = headers.functions[function]
    if call.sizing:
        text = (f"How many bytes of workspace `{call.name.removesuffix('_workspace_size')}` "
                "needs with these arguments. No array is read or written.")
    lines = [f"{call.name}({arguments})", "--", "", text, ""]
    if not call.sizing:
        for member in shown:
            if member.doc:
                lines += [member.name] + [f"    {line}".rstrip()
                                          for line in member.doc.split("\n")]
    return "\n".join(lines).rstrip()


def c_files(headers):
    names = list(CLASSES) + ARGUMENTS
    header = [f"/* {NOTE} */", "#ifndef LIBSAMPLER_PYTHON_GENERATED_H",
              "#define LIBSAMPLER_PYTHON_GENERATED_H", "", '#include "members.h"', ""]
    source = [f"/* {NOTE} */", '#include "generated.h"', "",
              '#pragma GCC diagnostic ignored "-Woverlength-strings"', ""]
    for name in names:
        members = members_of(headers, name)
        header.append(f"enum {{ {', '.join(f'{name}__{m.name}' for m in members)} }};")
        objects = [member for member in members if member.kind == "OBJECT"]
        header.append(f"enum {{ {name}__num_objects = {len(objects)} }};")
        header.append(f"extern const Struct {name}_struct;")
        header.append(f"extern const Member {name}_members[];")
        outputs = output_names(members)
        source.append(f"const Member {name}_members[] = {{")
        for member in members:
            result = member.name.removeprefix("out_")
            has_result = has_results(name, outputs) and \
                (member.is_output or member.name == "reports")
            source += [f'  {{"{member.name}", "{member.label}", {member.offset},',
                       f"   KIND_{member.kind}, ELEMENT_{member.element or 'NONE'},"
                       f" {int(member.is_output)},"
                       f" {objects.index(member) if member in objects else -1},"
                       f" {outputs.index(result) if has_result else -1},"
                       f" {member.length or 0},",
                       c_string(member.doc) + "},"]
        source += ["};", ""]
        default = [f"{{{name}__{member}, {value}f}}" for (struct, member), value
                   in DEFAULTS.items() if struct == name]
        if default:
            source += [f"static const Default {name}_defaults[] = {{{', '.join(default)}}};", ""]
        results = "NULL"
        if has_results(name, outputs):
            results = f"{name}_results"
            quoted = ", ".join(f'"{output}"' for output in outputs)
            source += [f"static const char *const {results}[] = {{{quoted}, NULL}};", ""]
        has_size = any(member == "struct_size" for _, member, _, _ in headers.structs[name])
        source += [f"static PyObject *{name}_names[{len(members)}];",
                   f"static PyTypeObject *{name}_result_type;"]
        source += [f"const Struct {name}_struct = {{",
                   f'  "{CLASSES.get(name, name)}", {name}_members, {len(members)}, '
                   f"{len(objects)}, sizeof(sampler_{name}), {int(has_size)},",
                   f"  {f'{name}_defaults' if default else 'NULL'}, {len(default)}, {results},",
                   f"  {name}_names, &{name}_result_type,",
                   c_string(headers.struct_docs[name]) + "};", ""]
    for call in CALLS:
        variable = f"{call.owner.lower()}_{call.name}_doc"
        header.append(f"extern const char {variable}[];")
        doc = call_doc(headers, call, members_of(headers, call.struct))
        source += [f"const char {variable}[] =", c_string(doc) + ";", ""]
    header += ["", "#endif"]
    return "\n".join(header) + "\n", "\n".join(source).rstrip() + "\n"


# ---- The enumerations ---------------------------------------------------------------------------


def enum_names(constants):
    """Names without what all have in common, up to an underscore."""
    prefix = constants[0]
    while not all(constant.startswith(prefix) for constant in constants) or \
            not prefix.endswith("_"):
        prefix = prefix[:-1]
    return [constant.removeprefix(prefix) for constant in constants]


FLAGS = {"sampler_row_status"}


def python_comment(doc, indent):
    return [f"{indent}# {line}".rstrip() for line in doc.split("\n")] if doc else []


def enums_file(headers):
    lines = [f"# {NOTE}", '"""The enumerations of the C headers."""', "", "import enum"]
    names = []
    for enum_type, constants, doc in headers.enums:
        if not enum_type and len(constants) == 1:
            constant, value, _ = constants[0]
            name = constant.removeprefix("SAMPLER_")
            lines += ["", *python_comment(doc, ""), f"{name} = {value}"]
            names.append(name)
            continue
        name = python_name(enum_type) if enum_type else "ISA"
        names.append(name)
        is_flag = enum_type in FLAGS or not enum_type
        lines += ["", "", f"class {name}(enum.Int{'Flag' if is_flag else 'Enum'}):"]
        if doc:
            text = doc.split("\n")
            lines += [f'    """{text[0]}', *(f"    {line}".rstrip() for line in text[1:])]
            lines[-1] += '"""'
            lines.append("")
        for short, (_, value, constant_doc) in zip(enum_names([c for c, _, _ in constants]),
                                                   constants):
            lines += python_comment(constant_doc, "    ") + [f"    {short} = {value}"]
    lines += ["", "", "__all__ = ["]
    lines += textwrap.wrap(", ".join(f'"{name}"' for name in sorted(names)), 95,
                           initial_indent="    ", subsequent_indent="    ")
    lines.append("]")
    return "\n".join(lines) + "\n"


# ---- The types ----------------------------------------------------------------------------------


def stub_docstring(doc, indent):
    if not doc:
        return []
    text = doc.replace("\\", "\\\\").split("\n")
    lines = [f'{indent}"""{text[0]}', *(f"{indent}{line}".rstrip() for line in text[1:])]
    lines[-1] += '"""'
    return lines


def stub_parameter(member, is_required):
    if is_required:
        return f"{member.name}: {member.type}"
    if "None" in member.type or member.type == "Any":
        return f"{member.name}: {member.type} = None"
    return f"{member.name}: {member.type} | None = None"


def stub_classes(headers):
    lines = []
    for struct, name in CLASSES.items():
        members = members_of(headers, struct)
        lines += ["@final", f"class {name}:", *stub_docstring(headers.struct_docs[struct], "    ")]
        for member in members:
            lines.append(f"    {stub_parameter(member, False).split(' = ')[0]}"
                         if member.kind == "OBJECT" else f"    {member.name}: {member.type}")
            lines += stub_docstring(member.doc, "    ")
        first = {"rows": 1, "token_lists": 2}.get(struct, 0)
        by_position = {"rows": ["values"], "token_lists": ["offsets", "token_ids"]}.get(struct, [])
        parameters = [f"        {stub_parameter(member, False)},"
                      for member in sorted(members, key=lambda m: m.name not in by_position)]
        lines += ["    def __init__(", "        self,", *parameters[:first], "        *,",
                  *parameters[first:], "    ) -> None: ..."]
        if struct == "params":
            lines += ["    @staticmethod", "    def preset(name: str) -> Params: ..."]
        lines += [f"    def replace(self, **changes: Any) -> {name}: ...",
                  f"    def __copy__(self) -> {name}: ...", "", ""]
    return lines


def result_name(struct):
    return python_name(struct.removesuffix("_args")) + "Result"


def stub_results(headers):
    lines = []
    for struct in [*ARGUMENTS, "report_args"]:
        members = members_of(headers, struct)
        outputs = output_names(members)
        if not has_results(struct, outputs):
            continue
        lines += ["@final", f"class {result_name(struct)}(tuple[Any, ...]):"]
        for name in outputs:
            lines += ["    @property", f"    def {name}(self) -> "
                      f"{'ReportResult | None' if name == 'reports' else 'Any'}: ..."]
        lines += ["", ""]
    return lines


def stub_method(headers, call):
    members = ordered(call, members_of(headers, call.struct))
    _, shown = signature(call, members)
    lines = [f"    def {call.name}(", "        self,"]
    for i, member in enumerate(shown):
        if i == call.positional:
            lines.append("        *,")
        required = i < call.positional and not (call.struct in OPTIONAL_ARGUMENTS and i > 0)
        lines.append(f"        {stub_parameter(member, required)},")
    has_result = output_names(members_of(headers, call.struct)) and not call.sizing
    if call.name == "plan":
        result = "Plan"
    else:
        result = result_name(call.struct) if has_result else "int"
    lines.append(f"    ) -> {result}:")
    doc = call_doc(headers, call, members_of(headers, call.struct)).split("\n--\n\n", 1)[1]
    return [*lines, *stub_docstring(doc, "        "), "        ..."]


def constructor_parameters(headers, struct):
    return [f"        {stub_parameter(member, False)},"
            for member in members_of(headers, struct)]


def stub_file(headers, template):
    text = template
    for name in re.findall(r"^ *# calls of (\w+)$", template, re.M):
        lines = [line for call in CALLS if call.owner == name
                 for line in stub_method(headers, call)]
        text = re.sub(rf"^ *# calls of {name}$", lambda _: "\n".join(lines), text, flags=re.M)
    for struct in re.findall(r"^ *# members of (\w+)$", template, re.M):
        lines = constructor_parameters(headers, struct)
        text = re.sub(rf"^ *# members of {struct}$", lambda _: "\n".join(lines), text,
                      flags=re.M)
    classes = "\n".join([*stub_classes(headers), *stub_results(headers)]).rstrip()
    text = text.replace("# classes\n", classes + "\n")
    return f"# {NOTE}\n" + text


def generate(project):
    headers = Headers(project)
    binding = project / "bindings/python"
    header, source = c_files(headers)
    files = {"src/generated.h": header, "src/generated.c": source,
             "libsampler/_enums.py": enums_file(headers)}
    template = binding / "core.pyi.in"
    if template.exists():
        files["libsampler/_core.pyi"] = stub_file(headers, template.read_text())
    return files


def main(command, project_dir):
    project = pathlib.Path(project_dir).resolve()
    status = 0
    for name, text in generate(project).items():
        path = project / "bindings/python" / name
        if command == "write":
            path.write_text(text)
        elif path.read_text() != text:
            print(f"{path} is not what the headers say; run: {sys.argv[0]} write {project_dir}")
            status = 1
    return status


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
