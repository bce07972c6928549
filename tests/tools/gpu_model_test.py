"""What is predicted of small tables, where one term decides, against arithmetic by hand.

usage: gpu_model_test.py TOOLS_FOLDER
"""

import sys
import tempfile
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, sys.argv.pop(1))
import gpu_model  # noqa: E402

LINE = "all | 2.00 | 1.00 | 10 | 0 | sample | load:copied:1 weigh:work:0.25 weigh:least:0.75"


def table(instructions):
    """`load` takes so many where it copies, `weigh` twice as many or none."""
    numbers = {"load": {"work": 0.75 * instructions, "most": 0, "copying": 0.25 * instructions, "least": 0,
                        "skip": None},
               "weigh": {"work": 2 * instructions, "most": 0, "copying": 1, "least": 0, "skip": 0}}
    return {("sample", name, element): value for name, value in numbers.items() for element in ("f32", "bf16")}


def time(line, instructions, num_rows, num_cols, device="H200 SXM", element="f32"):
    return gpu_model.Operation(line).time(table(instructions), device, element, num_rows, num_cols)


class Times(unittest.TestCase):
    WAITS = 2.5 + 10 * 0.15

    def test_many_rows_by_memory(self):
        self.assertAlmostEqual(time(LINE, 1, 8192, 131072), self.WAITS + 8192 * 131072 * 4 / 4.3e6)
        self.assertAlmostEqual(time(LINE, 1, 8192, 131072, "H100 SXM"), self.WAITS + 8192 * 131072 * 4 / 3.0e6)
        self.assertAlmostEqual(time(LINE, 1, 8192, 131072, element="bf16"), self.WAITS + 8192 * 131072 * 2 / 4.3e6)

    def test_rows_that_are_written(self):
        written = LINE.replace("| 0 |", "| 1 |")
        self.assertAlmostEqual(time(written, 1, 8192, 131072), self.WAITS + 2 * 8192 * 131072 * 4 / 4.3e6)

    def test_many_rows_by_instructions(self):
        # 1.5 times 40 for an element; a multiprocessor issues 0.6 times 4 in each of 1,755 clocks.
        self.assertAlmostEqual(time(LINE, 40, 8192, 131072),
                               self.WAITS + 8192 * 131072 / 32 * 60 / (132 * 0.6 * 4 * 1755))

    def test_one_row_by_instructions(self):
        # A block on each of eight multiprocessors, whose eight warps issue one in 6 clocks each.
        self.assertAlmostEqual(time(LINE, 40, 1, 131072), self.WAITS + 131072 / 8 / 32 * 60 / (8 * 1755 / 6))

    def test_few_rows_by_a_multiprocessor_with_two_blocks(self):
        self.assertAlmostEqual(time(LINE, 40, 20, 131072), self.WAITS + 131072 / 8 / 32 * 60 * 2 / (0.6 * 4 * 1755))

    def test_a_short_row_is_spread_too(self):
        self.assertAlmostEqual(time(LINE, 40, 1, 32000), self.WAITS + 32000 / 8 / 32 * 60 / (8 * 1755 / 6))

    def test_one_row_by_what_a_block_asks_for(self):
        self.assertAlmostEqual(time(LINE, 0.01, 1, 131072), self.WAITS + 0.8 + 131072 * 4 / 8 / (7 * 8 * 512 / 0.8))

    def test_waits_of_many_rows(self):
        many = LINE.replace("| 10 |", "| 10000 |")
        self.assertAlmostEqual(time(many, 1, 330, 131072), 2.5 + 10000 * 0.15 * 330 * 8 / 264)

    def test_one_warps_part(self):
        part = time(LINE + " weigh:part", 40, 1, 131072) - time(LINE, 40, 1, 131072)
        self.assertAlmostEqual(part, 131072 / 64 / 32 * 80 / 2 * 6 / 1755)

    def test_rows_passed_over(self):
        skipping = LINE.replace("weigh:least:0.75", "weigh:least:0.75 weigh:skip:1")
        self.assertEqual(time(skipping, 40, 64, 131072), time(LINE, 40, 64, 131072))


class Mistakes(unittest.TestCase):
    def test_passes_that_are_not_those_counted(self):
        with self.assertRaisesRegex(ValueError, "the passes read 1.25 rows, and 2.0 are counted"):
            gpu_model.Operation(LINE.replace(" weigh:least:0.75", ""))

    def test_a_pass_that_no_kernel_makes(self):
        with self.assertRaisesRegex(ValueError, "there is no pass sample find f32"):
            time(LINE + " find:part", 1, 1, 1000)


class Document(unittest.TestCase):
    def test_other_tables_fail_until_they_are_written(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "page.md"
            path.write_text(f"before\n{gpu_model.BEGIN}\nold\n{gpu_model.END}\nafter\n")
            self.assertEqual(gpu_model.check(["new", "lines"], path, False), 1)
            self.assertEqual(gpu_model.check(["new", "lines"], path, True), 0)
            self.assertEqual(path.read_text(),
                             f"before\n{gpu_model.BEGIN}\nnew\nlines\n{gpu_model.END}\nafter\n")
            self.assertEqual(gpu_model.check(["new", "lines"], path, False), 0)
            self.assertEqual(gpu_model.check(["new", "line"], path, False), 1)

    def test_everything_is_marked_as_predicted(self):
        operations = [gpu_model.Operation(LINE.replace("all", name))
                      for name in ("top-k 50, top-p 0.95", "top-p 0.95")]
        lines = gpu_model.tables(table(10), operations)
        heads = [line for before, line in zip([""] + lines, lines) if not before and line.startswith("|")]
        self.assertEqual(len(heads), 8)
        for head in heads:
            self.assertRegex(head, "predict")


if __name__ == "__main__":
    unittest.main()
