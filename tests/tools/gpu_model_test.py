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

LINE = "all | 2.00 | 1.00 | 10 | 20 | 0 | sample | load:copied:1 weigh:work:0.25 weigh:least:0.75"
MULTIPROCESSORS = 132


def table(instructions):
    """`load` takes so many where it copies, `weigh` twice as many or none."""
    numbers = {"load": {"work": 0.75 * instructions, "most": 0, "copying": 0.25 * instructions, "least": 0,
                        "skip": None},
               "weigh": {"work": 2 * instructions, "most": 0, "copying": 1, "least": 0, "skip": 0}}
    return {("sample", name, element): value for name, value in numbers.items() for element in ("f32", "bf16")}


class Plans(dict):
    """A team of so many blocks for each row, two blocks on a multiprocessor."""

    def __init__(self, blocks=8):
        super().__init__()
        self.blocks = blocks

    def __missing__(self, key):
        num_rows = key[3]
        at_once = 2 * MULTIPROCESSORS // self.blocks
        multiprocessors = min(num_rows * self.blocks, MULTIPROCESSORS)
        return gpu_model.Plan([num_rows, self.blocks, at_once, multiprocessors])


def time(line, instructions, num_rows, num_cols, device="H200 SXM", element="f32", blocks=8):
    return gpu_model.Operation(line).time(table(instructions), Plans(blocks), device, element, num_rows, num_cols)


class Times(unittest.TestCase):
    WAITS = 2.5 + 10 * 0.2 + 20 * 0.025

    def test_many_rows_by_memory(self):
        self.assertAlmostEqual(time(LINE, 1, 8192, 131072), self.WAITS + 8192 * 131072 * 4 / 4.3e6)
        self.assertAlmostEqual(time(LINE, 1, 8192, 131072, "H100 SXM"), self.WAITS + 8192 * 131072 * 4 / 3.0e6)
        few = LINE.replace("| 10 | 20 |", "| 1 | 0 |")
        self.assertAlmostEqual(time(few, 1, 8192, 131072, element="bf16"), 2.7 + 8192 * 131072 * 2 / 4.3e6)

    def test_rows_that_are_written(self):
        written = LINE.replace("| 0 | sample", "| 1 | sample")
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

    def test_one_row_by_as_many_blocks_as_are_planned(self):
        self.assertAlmostEqual(time(LINE, 40, 1, 131072, blocks=16),
                               self.WAITS + 131072 / 16 / 32 * 60 / (8 * 1755 / 6))

    def test_one_row_by_what_a_block_asks_for(self):
        # Of 16,384 elements a block asks for 12,288 at once.
        self.assertAlmostEqual(time(LINE, 0.01, 1, 131072), self.WAITS + 0.8 * 16384 / 12288)
        self.assertAlmostEqual(time(LINE, 0.01, 1, 32768), self.WAITS + 0.8)

    def test_two_rows_at_once(self):
        both = LINE.replace("| 2.00 | 1.00", "| 3.00 | 2.00").replace("load:copied", "load:both")
        self.assertAlmostEqual(time(both, 0.01, 1, 131072), self.WAITS + 0.8 * 2 * 16384 / 8192)
        self.assertAlmostEqual(time(both, 1, 8192, 131072), self.WAITS + 2 * 8192 * 131072 * 4 / 4.3e6)

    def test_waits_of_many_rows(self):
        many = LINE.replace("| 10 | 20 |", "| 10000 | 0 |")
        self.assertAlmostEqual(time(many, 1, 330, 131072), 2.5 + 10000 * 0.2 * 330 * 8 / 264)

    def test_barriers_of_a_team_of_one_block(self):
        self.assertAlmostEqual(time(LINE, 1, 1, 512, blocks=1), 2.5 + 30 * 0.025 + 0.8)

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

    OPERATIONS = [gpu_model.Operation(LINE.replace("all", name)) for name in gpu_model.WORKS.values()]

    def test_everything_is_marked_as_predicted(self):
        lines = gpu_model.tables(table(10), Plans(), self.OPERATIONS)
        heads = [line for before, line in zip([""] + lines, lines) if not before and line.startswith("|")]
        self.assertEqual(len(heads), 9)
        for head in heads:
            self.assertRegex(head, "predict")

    def test_misses_say_what_they_are_made_of(self):
        def lines(instructions):
            return gpu_model.tables(table(instructions), Plans(), self.OPERATIONS)

        wanted = "- argmax, B = 256: launches 2.5, barriers 2.5, instructions 277."
        self.assertIn(wanted, lines(100))
        self.assertFalse([line for line in lines(0.1) if line.startswith("- argmax, B = 256")])

    def test_cells_of_gpu_check(self):
        lines = gpu_model.cells(table(10), Plans(), self.OPERATIONS)
        memory = 1024 * 128256 * 4 / 4.3e6
        time = self.OPERATIONS[0].time(table(10), Plans(), "H200 SXM", "f32", 1024, 128256)
        self.assertGreater(time, memory)
        found = [line for line in lines if line.startswith('{"greedy", "f32", 128256, 1024, ')]
        self.assertEqual(len(found), 1)
        self.assertTrue(found[0].endswith(f" {time:.1f}}},"))


if __name__ == "__main__":
    unittest.main()
