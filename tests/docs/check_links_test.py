"""Whether check_links.py finds links that lead nowhere, and no others."""

import pathlib
import tempfile
import unittest

import check_links


class Links(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def problems(self, kind, **files):
        for name, text in files.items():
            path = pathlib.Path(self.folder.name, name.replace("__", "/").replace("_", "."))
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)
        return [problem.split(":")[1].strip() for problem in check_links.Site(self.folder.name, kind).problems()]

    def test_good_ones(self):
        self.assertEqual(self.problems(
            "markdown", a_md="# A `b`, *c*\n## Same\n## Same\n[1](#a-b-c) [2](#same-1) [3](d/b.md#x-y) ![4](p.svg) "
            "[5](https://nowhere.example/x) `[6](none)`\n```\n[7](none)\n```\n", d__b_md="# X Y\n[up](../a.md)",
            p_svg=""), [])

    def test_bad_ones(self):
        self.assertEqual(self.problems(
            "markdown", a_md="# A\n[1](none.md) [2](#none) [3](b.md#none) ![4](none.svg) [5](../..)\n\n[6]: none\n",
            b_md="# B\n"), ["none.md", "#none", "b.md#none", "none.svg", "../..", "none"])

    def test_html(self):
        self.assertEqual(self.problems(
            "html", a_html='<a href="b.html#x"></a><a href="b.html#y"></a><img src="c.png"><a href="#z"></a>',
            b_html='<p id="x"></p>'), ["b.html#y", "c.png", "#z"])

    def test_nothing_to_look_at(self):
        self.assertEqual(len(self.problems("html", a_html="<p></p>")), 1)


if __name__ == "__main__":
    unittest.main()
