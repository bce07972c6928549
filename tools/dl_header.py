"""Makes include/sampler_dl.h, a table of all exported functions, from the other headers.

usage: dl_header.py write INCLUDE_DIR NAMES_FILE
       dl_header.py check INCLUDE_DIR NAMES_FILE

`check` compares the file with what `write` would make of the headers.
"""

import pathlib
import re
import sys

DECLARATION = re.compile(r"SAMPLER_API\s+([^;{]+?)\b(sampler_\w+)\(([^;]*)\);", re.S)
WIDTH = 100

HEAD = '''\
/* libsampler opened at run time: a table of its functions, filled by dlopen. It is made from the
 * other headers by tools/dl_header.py.
 *
 *   sampler_dl lib;
 *   char error[SAMPLER_DL_ERROR_SIZE];
 *   if (!sampler_dl_open(&lib, NULL, error)) { ...; }
 *   lib.top_k_top_p(sampler, ...);
 *   sampler_dl_close(&lib);
 *
 * A program that includes this needs the headers and no library to link with, but for -ldl where
 * glibc is older than 2.34. It must not call sampler_...() itself; the inline functions of the
 * other headers call none. Members have the functions' names without "sampler_". */
#ifndef SAMPLER_DL_H
#define SAMPLER_DL_H

#include <dlfcn.h>
#include <sampler/sampler.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

'''

OPEN = '''\
/* Bytes of a message, with its end. */
#define SAMPLER_DL_ERROR_SIZE 512

/* Closes a library that was opened, and sets all of the table to NULL. Handles must have been
 * destroyed. It may be opened again. */
static inline void sampler_dl_close(sampler_dl *lib) {
  if (lib->library) dlclose(lib->library);
  memset(lib, 0, sizeof *lib);
}

/* Opens the library at `path`; NULL: "libsampler.so.ABI", where the loader finds it. Its names stay
 * out of the way of others (RTLD_LOCAL), so that several copies may be open, each with handles of
 * its own. Returns 1, or 0 with the reason in error[SAMPLER_DL_ERROR_SIZE], and the table is all
 * NULL: there is no such library, it is not this one, or its ABI number is not SAMPLER_ABI_VERSION.
 * Functions that a library older than these headers lacks are NULL; those of version.h,
 * sampler_last_error, sampler_create and sampler_destroy never are. */
static inline int sampler_dl_open(sampler_dl *lib, const char *path, char *error) {
  static const struct {
    const char *name;
    size_t place;
  } functions[] = {
%(table)s};
  /* The first num_required must be there. */
  const size_t num_functions = sizeof functions / sizeof functions[0], num_required = %(required)d;
  char soname[32];
  size_t i;
  memset(lib, 0, sizeof *lib);
  if (!path) {
    snprintf(soname, sizeof soname, "libsampler.so.%%d", SAMPLER_ABI_VERSION);
    path = soname;
  }
  lib->library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!lib->library) {
    const char *reason = dlerror();
    snprintf(error, SAMPLER_DL_ERROR_SIZE, "%%s", reason ? reason : "dlopen failed");
    return 0;
  }
  for (i = 0; i < num_functions; ++i) {
    void *function = dlsym(lib->library, functions[i].name);
    /* ISO C has no such conversion; POSIX says that it works. */
    *(void **)(void *)((char *)lib + functions[i].place) = function;
    if (function || i >= num_required) continue;
    snprintf(error, SAMPLER_DL_ERROR_SIZE, "%%s is no libsampler: it has no %%s", path,
             functions[i].name);
    sampler_dl_close(lib);
    return 0;
  }
  if (lib->abi_version() != SAMPLER_ABI_VERSION) {
    snprintf(error, SAMPLER_DL_ERROR_SIZE,
             "%%s has ABI %%u; it must be %%d, that of the headers this was compiled with", path,
             (unsigned)lib->abi_version(), SAMPLER_ABI_VERSION);
    sampler_dl_close(lib);
    return 0;
  }
  return 1;
}

#ifdef __cplusplus
}
#endif

#endif /* SAMPLER_DL_H */
'''

# In this order, before all others.
REQUIRED = ["sampler_abi_version", "sampler_version", "sampler_version_string", "sampler_last_error",
            "sampler_create", "sampler_destroy"]


def functions_in(include_dir):
    """Yields (header, type, name, parameters) of each function, in the order of the headers."""
    for header in sorted(pathlib.Path(include_dir, "sampler").glob("*.h")):
        text = re.sub(r"/\*.*?\*/", "", header.read_text(), flags=re.S)
        text = re.sub(r"^#define.*$", "", text, flags=re.M)
        for result, name, parameters in DECLARATION.findall(text):
            yield header.name, " ".join(result.split()), name, " ".join(parameters.split())


def member(result, name, parameters):
    space = "" if result.endswith("*") else " "
    start = f"  {result}{space}(*{name[len('sampler_'):]})("
    lines, line = [], start
    for i, parameter in enumerate(parameters.split(", ")):
        part = parameter + (");" if i == parameters.count(", ") else ",")
        if len(line) + len(part) > WIDTH and line != start:
            lines.append(line.rstrip())
            line = " " * len(start)
        line += part + ("" if part.endswith(";") else " ")
    return "\n".join([*lines, line])


def header_text(include_dir, names_file):
    functions = list(functions_in(include_dir))
    exported = {line for line in pathlib.Path(names_file).read_text().split("\n")
                if line.startswith("sampler_")}
    found = {name for _, _, name, _ in functions}
    if found != exported:
        sys.exit(f"declared or exported, and not both: {sorted(found ^ exported)}")
    rank = {name: i for i, name in enumerate(REQUIRED)}
    functions.sort(key=lambda function: rank.get(function[2], len(rank)))
    lines = ["typedef struct sampler_dl {", "  void *library; /* of dlopen; NULL: none is open */"]
    section = None
    for i, (header, result, name, parameters) in enumerate(functions):
        title = "always there" if i < len(REQUIRED) else header
        if title != section:
            lines += ["", f"  /* {title} */"]
            section = title
        lines.append(member(result, name, parameters))
    lines += ["} sampler_dl;", "", ""]
    table = ",\n".join(f'      {{"{name}", offsetof(sampler_dl, {name[len("sampler_"):]})}}'
                       for _, _, name, _ in functions)
    return HEAD + "\n".join(lines) + OPEN % {"table": table, "required": len(REQUIRED)}


def main():
    command, include_dir, names_file = sys.argv[1:]
    path = pathlib.Path(include_dir, "sampler_dl.h")
    text = header_text(include_dir, names_file)
    if command == "write":
        path.write_text(text)
    elif command == "check":
        if not path.exists() or path.read_text() != text:
            sys.exit(f"{path} is not what the headers make of it: run tools/dl_header.py write "
                     f"{include_dir} {names_file}")
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
