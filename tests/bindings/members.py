#!/usr/bin/env python3
"""Where each exported function and each member of a public struct is in each binding.

usage: members.py check PROJECT_DIR    fails on one that is in a binding neither with a place nor with a
                                       reason, on a reason without such a hole, and where docs/bindings.md
                                       is not what `write` would write
       members.py write PROJECT_DIR    writes the tables of docs/bindings.md
       members.py list PROJECT_DIR     prints all, one a line

A place is code of the binding that sets or reads the member, or calls the function; a member that is set
to 0 whatever the caller says has none. It is found in the sources, so that a new member of the headers
needs nothing here but code in the bindings, or a reason in HOLES.
"""

import fnmatch
import pathlib
import re
import sys

LANGUAGES = ("go", "java", "python", "rust")
NAMES = {"go": "Go", "java": "Java", "python": "Python", "rust": "Rust"}

# Set by the binding itself, or by nobody.
OF_NO_CALLER = {"struct_size", "abi_version", "reserved", "reserved2", "reserved3"}

LOOPS = ("A loop calls the caller's model back from within one call. A `Session` does what loops do, "
         "without callbacks; `sampler-sys` has the loops as they are in C.")
NGRAM = ("A function of C that the bindings call. A caller's own n-grams would be called back, for "
         "each draft.")
SHARDS = ("Shards of a vocabulary are for engines whose ranks exchange the messages themselves; "
          "`sampler-sys` has them as they are in C.")
# (languages, pattern of names, reason)
HOLES = [
    ("go java python rust", "sampler_autoregressive", LOOPS),
    ("go java python rust", "sampler_speculative", LOOPS),
    ("go java python rust", "sampler_beam_search", LOOPS),
    *(("go java python rust", f"sampler_{struct}.*", LOOPS)
      for struct in ("model", "forward_args", "generation_args", "generation_stats",
                     "speculative_args", "beam_search_args", "trace_round")),
    ("go java python rust", "sampler_*_args_init", LOOPS),
    ("go java python rust", "sampler_shard_*", SHARDS),
    ("go java", "sampler_ngram.*", NGRAM),
    ("go java python rust", "sampler_ngram.user", NGRAM),
    ("go java python rust", "sampler_options_init",
     "Defaults are those of the language's own type; tests compare them with C's."),
    ("go java python rust", "sampler_params_init",
     "Defaults are those of the language's own type; tests compare them with C's."),
    ("go python rust", "sampler_version", "A member of the capabilities."),
    ("go java rust", "sampler_abi_version", "A member of the capabilities."),
    ("java rust", "sampler_status_string", "`Status` has its name itself, without the library."),
    ("java rust", "sampler_stage_name", "`Stage` has its name itself, without the library."),
    ("go java python rust", "sampler_prompt_lookup_reset",
     "`reset` of the lookup as n-grams is the same."),
]


# ---- What there is ------------------------------------------------------------------------------


def members(project):
    """Names "struct.member", and struct -> its members, as tests/abi/layout.txt has them."""
    structs = {}
    for line in (project / "tests/abi/layout.txt").read_text().splitlines():
        if line.startswith(" "):
            structs[struct].append(line.split()[0])
        else:
            struct = line.split()[0]
            structs[struct] = []
    return {name: [member for member in own if member not in OF_NO_CALLER]
            for name, own in structs.items()}


def functions(project):
    lines = (project / "src/capi/exported_names.txt").read_text().splitlines()
    return [line for line in lines if line and not line.startswith("#")]


# ---- Where it is --------------------------------------------------------------------------------


def text_of(paths):
    """Without comments, and without tests of inner parts."""
    texts = [path.read_text().split("#[cfg(test)]\nmod")[0] for path in sorted(paths)]
    return re.sub(r"/\*.*?\*/|//[^\n]*", "", "\n".join(texts), flags=re.S)


def camel(name, is_upper):
    words = name.split("_")
    first = words[0].capitalize() if is_upper else words[0]
    return first + "".join(word.capitalize() for word in words[1:])


def c_functions_of(shim):
    """Function of the library -> what Go and Java call, or give as the operation, to reach it."""
    found = {}
    for body in re.split(r"\n(?=static inline)", shim):
        own = re.search(r"\b(shim_\w+)\(", body)
        for part in re.split(r"(?=case SHIM_)", body):
            case = re.match(r"case (SHIM_\w+)", part)
            for name in re.findall(r"\b(sampler_\w+)\(", part):
                if own:
                    found.setdefault(name, set()).add(case.group(1) if case else own.group(1))
    return found


class Binding:
    def __init__(self, project, language):
        self.language = language
        bindings = project / "bindings"
        if language == "go":
            paths = [path for path in (bindings / "go").glob("*.go")
                     if not path.name.endswith("_test.go")]
        elif language == "python":
            paths = [path for path in (bindings / "python/src").glob("*.c")
                     if path.name != "generated.c"]
            self.tables = (bindings / "python/src/generated.c").read_text()
        elif language == "java":
            paths = [*(bindings / "java/src/main/java").rglob("*.java"),
                     *(bindings / "java/src/main/generated/io/github/libsampler").glob("*.java")]
        else:
            paths = list((bindings / "rust/sampler/src").glob("*.rs"))
        self.text = text_of(paths)
        # Functions, and what stands between them.
        start = {"go": r"\n(?=func |type |var )", "java": r"\n(?=  \S)",
                 "python": r"\n(?=\S[^\n]*\()",
                 "rust": r"\n(?=(?:    )?(?:pub(?:\(crate\))? )?(?:unsafe )?(?:extern \"C\" )?"
                         r"(?:fn|struct|impl|macro_rules!) )"}[language]
        self.parts = re.split(start, self.text)
        self.shim = (bindings / "swig/shim.h").read_text()
        self.reached = c_functions_of(self.shim)

    def has_function(self, name):
        if self.language == "python":
            return bool(re.search(rf"\b{name}\(", self.text))
        if self.language == "rust":
            return bool(re.search(rf"\bsys::{name}\b|= {name}\b", self.text))
        method = camel(name.removeprefix("sampler_"), self.language == "go")
        if re.search(rf"^func \(\w+ \*?\w+\) {method}\(|^  public .*\b{method}\(", self.text,
                     re.M):
            return True
        for shim in self.reached.get(name, ()):
            called = shim if shim.startswith("SHIM_") else camel(shim, self.language == "go")
            if re.search(rf"\b{called}\b", self.text):
                return True
            # One that others of the shim call.
            if shim in ("shim_finish", "shim_ngram_finish"):
                return True
        return False

    def has_member_in_python(self, struct, short, member):
        """One that a table of the extension has, which objects are taken from by its name; else one
        that the extension reads or writes itself."""
        if (short, member) == ("ngram", "user"):
            return False
        in_table = re.search(rf"offsetof\({struct}, {member}\),\s*KIND_(\w+)", self.tables)
        is_view = f"offsetof({struct}, {member}) + offsetof(" in self.tables
        if is_view or in_table and in_table.group(1) != "OBJECT":
            return True
        assigned = rf"(?:\.|->){member} = "
        if in_table:
            taken = rf"\b\w+__{member}\b" if short in ("exec", "random") else \
                rf"\b{short}__{member}\b"
            # All of them in one loop.
            return short == "row_params" and "i < row_params_struct.num_members" in self.text or \
                bool(re.search(rf"{taken}|{assigned}", self.text))
        # A view in the arguments, or a struct without a table.
        variable = {"options": "options", "allocator": "out", "capabilities": "c",
                    "ngram_storage_stats": "s", "session_sequence": "s", "span": r"spans?(?:\[i\])?",
                    "ngram": "ngram"}.get(short)
        return bool(variable and re.search(rf"\b{variable}(?:\.|->){member}\b", self.text))

    def has_member(self, struct, member):
        short = struct.removeprefix("sampler_")
        if self.language == "python":
            return self.has_member_in_python(struct, short, member)
        if self.language != "rust" and struct == "sampler_options" and f"given.{member} =" in self.shim:
            return True
        if self.language == "java":
            place = rf"\bLayout\.{short.upper()}_{member.upper()}\b"
            return bool(re.search(place + r"(?!,\s*0(?:L|\.0f)?\))", self.text))
        if self.language == "go":
            name = camel(short, True)
            own = "".join({"id": "ID", "ids": "IDs"}.get(word, word.capitalize())
                          for word in member.split("_"))
            mentions = rf"\braw\.{name}\b"
        else:
            own, mentions = member, rf"\bsys::{struct}\b"
        # By name, or by the name of a variable that is the same, as Rust has it.
        use = rf"\b{own}:\s*(?!0,)|\.{own}\b|^\s*{own},$"
        if self.language == "rust":
            use += rf"|call!\(\w+, {own}\b"
        views = {"sampler_span": r"\.raw\b|\.0\.", "sampler_ngram": r"call!\("}.get(struct)
        return any(re.search(mentions, part) and re.search(use, part, re.M) or
                   views and re.search(views, part) and re.search(use, part, re.M)
                   for part in self.parts)


def find(project):
    """Name -> language -> whether it has a place there. Members first, struct after struct."""
    found = {}
    bindings = {language: Binding(project, language) for language in LANGUAGES}
    for struct, own in members(project).items():
        for member in own:
            found[f"{struct}.{member}"] = {
                language: binding.has_member(struct, member)
                for language, binding in bindings.items()}
    for name in functions(project):
        found[name] = {language: binding.has_function(name)
                       for language, binding in bindings.items()}
    return found


def reason_of(name, language):
    for languages, pattern, reason in HOLES:
        if language in languages.split() and fnmatch.fnmatchcase(name, pattern):
            return reason
    return None


# ---- Tables -------------------------------------------------------------------------------------


def tables(found):
    lines = ["| | " + " | ".join(NAMES.values()) + " |", "|---|" + ":-:|" * len(LANGUAGES)]
    groups = {}
    for name in found:
        groups.setdefault(name.split(".")[0] if "." in name else "functions", []).append(name)
    for group, names in groups.items():
        cells = []
        for language in LANGUAGES:
            number = sum(found[name][language] for name in names)
            cells.append("all" if number == len(names) else f"{number} of {len(names)}")
        title = group if group == "functions" else f"`{group}`"
        lines.append(f"| {title} ({len(names)}) | " + " | ".join(cells) + " |")
    lines += ["", "| without a place | in | reason |", "|---|---|---|"]
    rows = {}
    for name, places in found.items():
        for language in LANGUAGES:
            if not places[language]:
                rows.setdefault(reason_of(name, language), {}).setdefault(name, []).append(language)
    for reason, names in rows.items():
        shown = {}
        for name, languages in names.items():
            struct = name.split(".")[0]
            whole = [other for other in found if other.startswith(struct + ".")]
            if "." in name and all(names.get(other) == languages for other in whole):
                name = f"{struct}.*"
            shown.setdefault(tuple(languages), {})[f"`{name}`"] = None
        for languages, all_names in shown.items():
            lines.append(f"| {', '.join(all_names)} | "
                         f"{', '.join(NAMES[language] for language in languages)} | {reason} |")
    return "\n".join(lines) + "\n"


BEGIN, END = "<!-- begin: members -->\n\n", "\n<!-- end: members -->"


def page_with(page, text):
    before, rest = page.split(BEGIN)
    return before + BEGIN + text + END + rest.split(END)[1]


def problems_of(found):
    for name, places in found.items():
        for language, has_place in places.items():
            if not has_place and not reason_of(name, language):
                yield f"{name} has no place in the {NAMES[language]} binding, and no reason in HOLES"
    for languages, pattern, _ in HOLES:
        for language in languages.split():
            if not any(not places[language] and fnmatch.fnmatchcase(name, pattern)
                       for name, places in found.items()):
                yield f"{pattern} is no hole in the {NAMES[language]} binding any more: see HOLES"


def main(command, project_dir):
    project = pathlib.Path(project_dir)
    found = find(project)
    page = project / "docs/bindings.md"
    if command == "list":
        for name, places in found.items():
            print(name, *(f"{language}: {'yes' if has else 'no'}"
                          for language, has in places.items()), sep="  ")
        return 0
    problems = list(problems_of(found))
    if command == "write":
        page.write_text(page_with(page.read_text(), tables(found)))
    elif not problems and page.read_text() != page_with(page.read_text(), tables(found)):
        problems = ["docs/bindings.md is not what the sources say; run: members.py write ."]
    print("\n".join(problems))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
