"""Whether tools/abi.py finds each kind of break, and no others: of a small library and its header.

usage: abi_gate_test.py TOOLS_DIR
"""

import contextlib
import io
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, sys.argv.pop(1))
import abi  # noqa: E402

VERSION = "#define SAMPLER_ABI_VERSION 1\n"
HEADER = """
#include <stddef.h>
#include <stdint.h>
#define SAMPLER_API __attribute__((visibility("default")))
typedef struct sampler_view { const void *values; int64_t rows; } sampler_view;
typedef struct sampler_args {
  size_t struct_size;
  sampler_view view;
  int32_t top_k;
  float top_p;
} sampler_args;
typedef int32_t (*sampler_next_fn)(void *user, int32_t token);
enum { SAMPLER_OK = 0, SAMPLER_BAD = 1 };
SAMPLER_API int32_t sampler_draw(const sampler_args *args);
SAMPLER_API void sampler_walk(sampler_next_fn next, void *user);
"""


class Gate(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)
        self.write("include", HEADER)
        with contextlib.redirect_stdout(io.StringIO()):
            abi.record(self.folder / "released", self.folder / "include", "0.1.0", "the first")

    def write(self, name, header, numbers=VERSION):
        include = self.folder / name
        include.joinpath("sampler").mkdir(parents=True, exist_ok=True)
        include.joinpath("sampler", "sampler.h").write_text(header)
        include.joinpath("sampler", "version.h").write_text(numbers)
        return include

    def library(self, header, soname="libsampler.so.1", version="SAMPLER_1"):
        """Without what the image has besides. Its debug information tells of another type."""
        include = self.write("of_library", header.replace("int32_t token", "uint32_t token"))
        source, names, library = (self.folder / name for name in ("library.c", "names", "library.so"))
        lines = abi.source_of_image(include).splitlines()
        source.write_text("\n".join(line for line in lines if "sampler_image" not in line))
        names.write_text(f"{version} {{ global: sampler_*; local: *; }};\n")
        subprocess.run(["cc", "-g", "-shared", "-fPIC", f"-I{include}", source, "-o", library,
                        f"-Wl,-soname,{soname},--version-script={names}"], check=True)
        return library

    def said(self, *changes, changelog="", numbers=VERSION, library_header=None, **library):
        """What `check` says after these replacements in the header, "" if it is content."""
        header = HEADER
        for old, new in changes:
            self.assertIn(old, header)
            header = header.replace(old, new)
        include = self.write("today", header, numbers)
        (self.folder / "CHANGELOG.md").write_text(changelog)
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            status = abi.check(self.folder / "released", include,
                               self.library(library_header or header, **library),
                               self.folder / "CHANGELOG.md")
        said = output.getvalue().strip()
        self.assertEqual(status, 1 if said and not said.startswith("ABI ") else 0)
        return said

    def assert_break(self, text, *changes, **options):
        said = self.said(*changes, **options)
        self.assertIn("needs a higher SAMPLER_ABI_VERSION", said)
        self.assertIn(text, said)

    def test_no_release_is_recorded(self):
        shutil.rmtree(self.folder / "released")
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            status = abi.check(self.folder / "released", self.folder / "include", "library",
                               self.folder / "CHANGELOG.md")
        self.assertEqual((status, output.getvalue()), (0, "No release is recorded yet.\n"))

    def test_record_has_the_program_of_its_time(self):
        kept = self.folder / "released" / "0.2.0" / "consumer.c"
        for text in ("then", "now"):
            (self.folder / "consumer.c").write_text(text)
            with contextlib.redirect_stdout(io.StringIO()):
                abi.record(self.folder / "released", self.folder / "include", "0.2.0", text)
            self.assertEqual(kept.read_text(), "then")
        self.assertFalse((self.folder / "released" / "0.1.0" / "consumer.c").exists())

    def test_the_same_is_no_break(self):
        self.assertEqual(self.said(), "")

    def test_removed_function(self):
        self.assert_break("sampler_draw is gone",
                          ("SAMPLER_API int32_t sampler_draw(const sampler_args *args);\n", ""))

    def test_function_that_only_the_header_still_has(self):
        self.assert_break("sampler_draw", library_header=HEADER.replace("sampler_draw", "sampler_drawn"))

    def test_other_soname(self):
        self.assert_break("SONAME changed", soname="libsampler.so.2")

    def test_other_symbol_version(self):
        self.assert_break("sampler_draw@@SAMPLER_1", version="SAMPLER_2")

    def test_moved_member(self):
        self.assert_break("'int32_t top_k' offset changed",
                          ("  int32_t top_k;\n  float top_p;\n", "  float top_p;\n  int32_t top_k;\n"))

    def test_moved_member_of_a_struct_that_grows(self):
        self.assert_break("'int32_t top_k' offset changed",
                          ("  int32_t top_k;\n  float top_p;\n",
                           "  float top_p;\n  int32_t top_k;\n  int64_t seed;\n"),
                          changelog="`seed` of `sampler_args`")

    def test_member_put_between_others(self):
        self.assert_break("name of 'sampler_args::top_p' changed to 'sampler_args::seed'",
                          ("  float top_p;\n", "  int32_t seed;\n  float top_p;\n  float min_p;\n"))

    def test_retyped_member(self):
        self.assert_break("type of 'float top_p' changed", ("  float top_p;", "  int32_t top_p;"))

    def test_renamed_member(self):
        self.assert_break("sampler_args.top_p is gone", ("top_p", "nucleus"))

    def test_removed_member(self):
        self.assert_break("sampler_args.top_p is gone", ("  float top_p;\n", ""))

    def test_larger_struct_by_value(self):
        self.assert_break("'int64_t columns'", ("int64_t rows;", "int64_t rows; int64_t columns;"))

    def test_changed_constant(self):
        self.assert_break("SAMPLER_BAD' from value '1' to '2'", ("SAMPLER_BAD = 1", "SAMPLER_BAD = 2"))

    def test_removed_constant(self):
        self.assert_break("SAMPLER_BAD is gone", (", SAMPLER_BAD = 1", ""))

    def test_changed_parameter(self):
        self.assert_break("sampler_draw", ("(const sampler_args *args)",
                                           "(const sampler_args *args, int32_t n)"))

    def test_changed_result(self):
        self.assert_break("return type changed", ("int32_t sampler_draw", "int64_t sampler_draw"))

    def test_changed_callback(self):
        self.assert_break("sampler_walk", ("void *user, int32_t token", "void *user, int64_t token"))

    def test_break_with_a_new_abi_number(self):
        said = self.said(("SAMPLER_BAD = 1", "SAMPLER_BAD = 2"), numbers=VERSION.replace("1", "2"),
                         soname="libsampler.so.2")
        self.assertEqual(said, "ABI 2 is new since 0.1.0, which has ABI 1")

    def test_headers_of_the_release_that_were_edited(self):
        kept = self.folder / "released" / "0.1.0" / "include" / "sampler" / "sampler.h"
        kept.write_text(HEADER.replace("SAMPLER_BAD = 1", "SAMPLER_BAD = 2"))
        self.assertIn("is not of the headers beside it", self.said())

    ADDITIONS = (("  float top_p;\n", "  float top_p;\n  int64_t seed;\n"),
                 ("SAMPLER_BAD = 1", "SAMPLER_BAD = 1, SAMPLER_WORSE = 2"),
                 ("enum {", "typedef struct sampler_more { int32_t a; } sampler_more;\nenum {"),
                 ("SAMPLER_API void", "SAMPLER_API void sampler_shard_add(sampler_more *more);\n"
                                      "SAMPLER_API void"))

    def test_additions_that_the_changelog_lacks(self):
        said = self.said(*self.ADDITIONS, changelog="- seed and sampler_more, of `sampler_args`.\n")
        named = [line.split()[0] for line in said.splitlines()]
        self.assertEqual(named, ["SAMPLER_WORSE", "sampler_args.seed", "sampler_more", "sampler_shard_add"])

    def test_additions_that_the_changelog_names(self):
        self.assertEqual(self.said(*self.ADDITIONS, changelog="""# Changelog
## 0.2.0
- `seed` of `sampler_args`; `sampler_shard_*` and `sampler_more`, of which `SAMPLER_WORSE` tells.
## 0.1.0
"""), "")

    def test_additions_that_the_changelog_names_under_the_release(self):
        said = self.said(self.ADDITIONS[1], changelog="## 0.2.0\n## 0.1.0\n- `SAMPLER_WORSE`\n")
        self.assertIn("SAMPLER_WORSE is new", said)

    def test_additions_to_a_candidate(self):
        self.assertEqual(self.said(self.ADDITIONS[1], changelog="""# Changelog
## 0.1.0-rc1 (unreleased)
- `SAMPLER_WORSE`
"""), "")


if __name__ == "__main__":
    for tool in ("abidw", "abidiff"):
        if not shutil.which(tool):
            print(f"skipped: there is no {tool}, of Debian's package abigail-tools")
            sys.exit(77)
    unittest.main()
