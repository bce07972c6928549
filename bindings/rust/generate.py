"""Writes sampler-sys/src/generated.rs from the C headers.

usage: generate.py write INCLUDE_DIR OUTPUT.rs
       generate.py check INCLUDE_DIR OUTPUT.rs    fails unless `write` would write the same

Understands the forms that the headers use and refuses others: typedefs of integers, handles and
callbacks, anonymous enums, structs, functions. Inline functions are left out.
"""

import pathlib
import re
import sys

HEADERS = ["version.h", "types.h", "handle.h", "pipeline.h", "sampling.h", "simple.h",
           "speculative.h", "unmask.h", "watermark.h", "state.h", "shard.h", "ngram.h", "decoding.h",
           "session.h"]

# Members whose default is not 0. A test compares them with what the library's functions fill in.
DEFAULTS = {("sampler_options", "abi_version"): "SAMPLER_ABI_VERSION",
            ("sampler_params", "temperature"): "1.0", ("sampler_params", "top_p"): "1.0",
            ("sampler_generation_args", "max_new_tokens"): "40",
            ("sampler_speculative_args", "gamma"): "5",
            ("sampler_speculative_args", "gamma_min"): "1",
            ("sampler_speculative_args", "filler_top_k"): "3",
            ("sampler_speculative_args", "first_target"): "1",
            ("sampler_beam_search_args", "num_beams"): "4",
            ("sampler_beam_search_args", "top_k"): "3",
            ("sampler_beam_search_args", "num_results"): "1",
            ("sampler_beam_search_args", "min_length"): "5.0",
            ("sampler_beam_search_args", "alpha"): "1.2"}

SCALARS = {"size_t": "usize", "int32_t": "i32", "int64_t": "i64", "uint8_t": "u8",
           "uint32_t": "u32", "uint64_t": "u64", "float": "f32", "double": "f64", "void": "c_void", "char": "c_char"}

ITEM = re.compile(r"""
    (?P<comment>/\*.*?\*/)
  | \#define\s+(?P<macro>SAMPLER_\w+)[ ]+(?P<value>[^\n]+)
  | \#[^\n]*
  | typedef\s+(?P<width>u?int32_t)\s+(?P<integer>\w+);
  | typedef\s+struct\s+(?P<opaque>\w+)\s*\*(?P<handle>\w+);
  | typedef\s+(?P<result>\w+\s*\*?)\s*\(\*(?P<callback>\w+)\)\((?P<callback_parameters>[^)]*)\);
  | static\s+inline\s[^{]*\{.*?\n\}
  | enum\s*\{(?P<enum>[^}]*)\};
  | typedef\s+struct\s+(?P<struct>\w+)\s*\{(?P<members>[^}]*)\}\s*\w+;
  | SAMPLER_API\s+(?P<returned>[\w ]+\**)\s*(?<=[\s*])(?P<function>\w+)\((?P<parameters>[^)]*)\);
  | extern\s+"C"\s*\{ | \}
  | (?P<space>\s+)
""", re.X | re.S)


def rust_type(c_type):
    is_const, base, stars = re.fullmatch(r"(const )?(\w+) ?(\**)", c_type.strip()).groups()
    base = SCALARS.get(base, base)
    pointer = "*const " if is_const else "*mut "
    # A pointer to a pointer: only the innermost type can be const.
    return "*mut " * (len(stars) - 1) + (pointer if stars else "") + base


def split_declaration(declaration):
    pattern = r"(.*?)(\w+)(?:\[(\w+)\])?"
    c_type, name, length = re.fullmatch(pattern, declaration.strip(), re.S).groups()
    kind = rust_type(" ".join(c_type.split()))
    return name, f"[{kind}; {length} as usize]" if length else kind


def parameters_of(text):
    if text.strip() == "void":
        return ""
    declarations = (split_declaration(part) for part in text.split(","))
    return ", ".join(f"{name}: {kind}" for name, kind in declarations)


def result_of(c_type):
    return "" if c_type.strip() == "void" else f" -> {rust_type(c_type)}"


def doc_lines(comment, indent):
    if not comment or comment.startswith("/* ----"):  # none, or a heading
        return []
    if "\n\n" in comment:  # two comments
        first, second = comment.split("\n\n", 1)
        return [*doc_lines(first, indent), f"{indent}///", *doc_lines(second, indent)]
    lines = [re.sub(r"^\s*\* ?", "", line) for line in comment[2:-2].strip().split("\n")]
    return [f"{indent}/// {line.rstrip()}".rstrip() for line in lines]


def commented_parts(text, separator):
    """Yields (declaration, comment) of a body. Comments stand before, or after on the same line."""
    comment_after = r"(?m)^(?! *(?:/\*|\*))( *)(\S.*?) *(/\*.*\*/)$"
    text = re.sub(comment_after, r"\1\3\n\1\2", text)
    comment = ""
    for part in re.split(rf"(/\*.*?\*/)|{separator}", text, flags=re.S):
        part = (part or "").strip()
        if part.startswith("/*"):
            comment = f"{comment}\n\n{part}" if comment else part
        elif part:
            yield part, comment
            comment = ""


class Output:
    """The parts of the file; an add_ function for each form of declaration."""

    def __init__(self):
        self.types, self.constants, self.structs, self.functions = [], [], [], []
        self.handles, self.callbacks, self.struct_names = set(), set(), set()

    def add_integer(self, item, comment):
        self.types += doc_lines(comment, "")
        self.types += [f"pub type {item['integer']} = {SCALARS[item['width']]};", ""]

    def add_handle(self, item, comment):
        self.handles.add(item["handle"])
        self.types += [f"/// What a [`{item['handle']}`] points to.", "#[repr(C)]",
                       f"pub struct {item['opaque']} {{", "    _private: [u8; 0],", "}", ""]
        self.types += doc_lines(comment, "")
        self.types += [f"pub type {item['handle']} = *mut {item['opaque']};", ""]

    def add_callback(self, item, comment):
        self.callbacks.add(item["callback"])
        signature = f"({parameters_of(item['callback_parameters'])}){result_of(item['result'])}"
        self.types += doc_lines(comment, "")
        self.types += [f"pub type {item['callback']} = Option<",
                       f"    unsafe extern \"C\" fn{signature},", ">;", ""]

    def add_constant(self, name, kind, value, comment):
        self.constants += doc_lines(comment, "    ") + [f"    {name}: {kind} = {value};"]

    def add_enum(self, item, kind):
        for constant, comment in commented_parts(item["enum"], ","):
            name, value = (word.strip() for word in constant.split("="))
            self.add_constant(name, kind, value, comment)

    def add_struct(self, item, comment):
        struct = item["struct"]
        self.struct_names.add(struct)
        self.structs += doc_lines(comment, "    ") + [f"    {struct} {{"]
        for declaration, member_comment in commented_parts(item["members"], ";"):
            name, kind = split_declaration(declaration)
            default = DEFAULTS.get((struct, name)) or self.zero(name, kind)
            self.structs += doc_lines(member_comment, "        ")
            self.structs.append(f"        {name}: {kind} = {default};")
        self.structs.append("    }")

    def zero(self, name, kind):
        if name == "struct_size":
            return "size_of::<Self>()"
        if kind in self.struct_names:
            return f"{kind}::INIT"
        if kind in self.callbacks:
            return "None"
        if kind.startswith("["):
            return re.sub(r"\w+", lambda element: self.zero("", element.group()), kind, count=1)
        if kind.startswith("*const"):
            return "null()"
        if kind.startswith("*mut") or kind in self.handles:
            return "null_mut()"
        return "0.0" if kind in {"f32", "f64"} else "0"

    def add_function(self, item, comment):
        signature = f"({parameters_of(item['parameters'])}){result_of(item['returned'])}"
        self.functions += doc_lines(comment, "    ") + [f"    fn {item['function']}{signature};"]

    def text(self):
        lines = ["// Written by generate.py from the C headers.", ""] + self.types
        for macro, items in (("constants", self.constants), ("structs", self.structs),
                             ("functions", self.functions)):
            lines += [f"{macro}! {{"] + items + ["}", ""]
        return "\n".join(lines[:-1]) + "\n"


def add_header(output, name, text):
    text = text.replace("\\\n", " ")
    position, comment, enum_type = 0, "", "u32"
    while position < len(text):
        item = ITEM.match(text, position)
        if not item:
            sys.exit(f"{name}: not understood: {text[position:position + 80]}")
        position = item.end()
        if item["integer"]:
            output.add_integer(item, comment)
        elif item["handle"]:
            output.add_handle(item, comment)
        elif item["callback"]:
            output.add_callback(item, comment)
        elif item["macro"]:
            output.add_constant(item["macro"], "u32", item["value"].strip(" ()"), comment)
        elif item["enum"]:
            output.add_enum(item, enum_type)
        elif item["struct"]:
            output.add_struct(item, comment)
        elif item["function"]:
            output.add_function(item, comment)
        if item["comment"]:
            comment = item["comment"]
        elif not item["space"]:
            # The constants of a type follow it.
            comment, enum_type = "", item["integer"] or "u32"


def generate(include_dir):
    directory = pathlib.Path(include_dir, "sampler")
    unknown = {path.name for path in directory.glob("*.h")} - {"sampler.h", "export.h", *HEADERS}
    if unknown:
        sys.exit(f"headers that are not in HEADERS: {unknown}")
    output = Output()
    for name in HEADERS:
        add_header(output, name, (directory / name).read_text())
    return output.text()


def main(command, include_dir, path):
    text = generate(include_dir)
    if command == "write":
        pathlib.Path(path).write_text(text)
    elif pathlib.Path(path).read_text() != text:
        print(f"{path} is not what the headers say; run: generate.py write {include_dir} {path}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
