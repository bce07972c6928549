"""What tools/doc_comments.py makes of a header's comments, and tools/man_pages.py of Doxygen's pages.

usage: doc_comments_test.py TOOLS_DIR
"""

import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, sys.argv.pop(1))
import doc_comments  # noqa: E402
import man_pages  # noqa: E402


def filtered(*lines, name="rows.h"):
    with tempfile.TemporaryDirectory() as folder:
        header = pathlib.Path(folder, name)
        header.write_text("\n".join(["/* About rows. */", *lines]) + "\n")
        text = doc_comments.Filter(header).run()
    return text.split("\n", 2)[2] if name == "rows.h" else text


class Comments(unittest.TestCase):
    def test_of_the_file(self):
        self.assertEqual(filtered(name="a.h"), "/** @file a.h\nAbout rows. */\n")

    def test_of_the_whole_library(self):
        self.assertEqual(filtered(name="sampler.h"), "/** @mainpage libsampler\nAbout rows. */\n"
                                                     "/** @file sampler.h\nAbout rows. */\n")

    def test_before_and_behind(self):
        self.assertEqual(filtered("/* Two", " * lines. */", "int a; /* one */"),
                         "/** Two\nlines. */\nint a; /**< one */\n")

    def test_what_doxygen_would_read_otherwise(self):
        self.assertEqual(filtered("/* <= 0: `off`; a & b, 5 % @ # */"),
                         "/** \\<= 0: <tt>off</tt>; a \\& b, 5 \\% \\@ \\# */\n")

    def test_full_stop_that_ends_no_sentence(self):
        self.assertEqual(filtered("/* (Tang et al. 2024), (Sun et al.", " * 2024). */"),
                         "/** (Tang et al.\\ 2024), (Sun et al.\\ 2024). */\n")

    def test_links(self):
        self.assertEqual(filtered("/* See sampler_draw(), not sampler_other. */",
                                  "SAMPLER_API void sampler_draw(void);"),
                         '/** See @ref sampler_draw "sampler_draw"(), not sampler_other. */\n'
                         "SAMPLER_API void sampler_draw(void);\n")

    def test_columns_and_code_stay(self):
        self.assertEqual(filtered("/* Text.", " *", " *   a = <b>;", " *", " * top_k    how many", " *",
                                  " * - one", " * - two */"),
                         "/** Text.\n\n@verbatim\n  a = <b>;\n@endverbatim\n\n"
                         "@verbatim\ntop_k    how many\n@endverbatim\n\n- one\n- two */\n")

    def test_headings(self):
        self.assertEqual(filtered("/* ---- One ---- */", "int a;", "/* ---- Two ----", " *", " * Text. */",
                                  "int b;", "#ifdef __cplusplus", "}", "#endif"),
                         "/** @name One\n */\n/** @{ */\n\nint a;\n/** @} */\n/** @name Two\n\n\nText. */\n"
                         "/** @{ */\n\nint b;\n/** @} */\n#ifdef __cplusplus\n}\n#endif\n")

    def test_heading_in_a_struct(self):
        self.assertEqual(filtered("struct s {", "  /* Windows: off. As a rule. */", "", "  int a;", "};"),
                         "struct s {\n  /** @name Windows: off\nAs a rule. */\n/** @{ */\n\n\n  int a;\n"
                         "/** @} */\n};\n")

    def test_code_of_inline_functions_and_macros_stays(self):
        code = ["static inline int f(void) {", "  return 1; /* one */", "}", "#endif /* A_H */"]
        self.assertEqual(filtered(*code), "\n".join(code) + "\n")


class Pages(unittest.TestCase):
    def test_what_is_mended(self):
        self.assertEqual(man_pages.mended(
            '.TH "rows" 3 "Tue Nov 24 2026" "Version 1" "lib"\n.SH NAME\n.PP\n\\fCa\\fP\n\n.PP\n.SH B\n'
            '.nf\n\n.PP\n.fi\n', "2026-11-24"),
            '.TH "rows" 3 "2026-11-24" "Version 1" "lib"\n.SH NAME\n\\fBa\\fP \\- a struct of libsampler\n.SH B\n.nf\n\n.PP\n.fi\n')

    def test_a_function_has_its_own(self):
        with tempfile.TemporaryDirectory() as folder:
            given, made = pathlib.Path(folder, "given"), pathlib.Path(folder, "made")
            given.mkdir()
            (given / "rows.h.3").write_text(
                '.TH "sampler/rows.h" 3 "" "Version 1" "lib"\n.SH "Function Documentation"\n.PP \n'
                '.SS "int sampler_f (const \\fBsampler_f_args\\fP * args)"\nDoes \\fBf\\fP\\&. Not g\\&. \n.PP\nIt may fail\\&. \n'
                '.SS "int sampler_g (int a)"\n.SH "Author"\n')
            for name in ("sampler_f", "sampler_g", "SAMPLER_H"):
                (given / f"{name}.3").write_text(".so man3/rows.h.3\n")
            man_pages.write_headers(given, made, "2026-11-24")
            self.assertEqual(
                (made / "sampler_f.3").read_text(),
                '.TH "sampler_f" 3 "2026-11-24" "Version 1" "lib"\n.SH NAME\nsampler_f \\- Does f\n.SH SYNOPSIS\n'
                '\\fB#include <sampler/rows.h>\\fP\n.PP\nint sampler_f (const \\fBsampler_f_args\\fP * args);\n'
                '.SH DESCRIPTION\nDoes \\fBf\\fP\\&. Not g\\&.\n.PP\nIt may fail\\&.\n'
                '.SH "SEE ALSO"\n\\fBsampler_f_args\\fP(3), \\fBsampler_rows.h\\fP(3)\n')
            self.assertIn("sampler_g \\- a function of sampler/rows.h\n", (made / "sampler_g.3").read_text())
            self.assertEqual((made / "SAMPLER_H.3").read_text(), ".so man3/sampler_rows.h.3\n")

    def test_which_are_wanted(self):
        with tempfile.TemporaryDirectory() as folder:
            given, made = pathlib.Path(folder, "given"), pathlib.Path(folder, "made")
            given.mkdir()
            for name in ("rows.h", "sampler_rows", "num_rows", "@3", "_home_x_include_"):
                (given / f"{name}.3").write_text(".TH x 3 \"\"\n")
            (given / "sampler_f.3").write_text(".so man3/rows.h.3\n")
            man_pages.write_headers(given, made, "2026-11-24")
            self.assertEqual(sorted(page.name for page in made.iterdir()),
                             ["sampler_f.3", "sampler_rows.3", "sampler_rows.h.3"])
            self.assertEqual((made / "sampler_f.3").read_text(), ".so man3/sampler_rows.h.3\n")


if __name__ == "__main__":
    unittest.main()
