"""What is counted in listings of machine code, and what is told of a table that differs.

usage: count_sass_test.py TOOLS_FOLDER
"""

import struct
import sys
import tempfile
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, sys.argv.pop(1))
import count_sass  # noqa: E402
import sass_listing  # noqa: E402

KERNEL = "_ZN7sampler12plain_kernelENS_5OneOfE"
LOAD = "kernel@plain.cu > load_row(int)@distribution.cuh > TeamRow::load_each()@row.cuh"
WEIGH = "kernel@plain.cu > add_kept<IdOrder>(int)@distribution.cuh > TeamRow::for_each()@row.cuh"


def listing(*lines):
    """`LABEL:`, `in CHAIN` or an instruction each."""
    text = [f"\t.section\t.text.{KERNEL},\"ax\",@progbits",
            f"        .type   {KERNEL},@function", f"{KERNEL}:"]
    for number, line in enumerate(lines):
        if line.startswith("in "):
            text.append(f"        // {line}")
        elif line.startswith(".type") or line.endswith(":"):
            text.append(line)
        else:
            text.append(f"        /*{16 * number:04x}*/    {line} ;")
    return text


def loop(*body):
    return listing("in kernel@plain.cu", "MOV R1, RZ", ".L_loop:", *body, "@P0 BRA `(.L_loop)", "EXIT")


def read(chain=LOAD):
    return [f"in {chain} > Context::load_vector(int*)@cuda_context.cuh", "LDS.128 R4, [R2]", f"in {chain}"]


PLAIN = [*read(), "FMNMX R8, R4, R5, !PT", "FMNMX R8, R8, R6, !PT"]


class Counting(unittest.TestCase):
    def setUp(self):
        count_sass.RARE = {}

    def count(self, lines):
        return count_sass.count(sass_listing.read_listing(lines))

    def numbers(self, lines, name="load_row", element="f32"):
        return self.count(lines)["plain", name, element]

    def test_a_loop_of_one_block(self):
        table = self.count(loop(*PLAIN))
        self.assertEqual(list(table), [("plain", "load_row", "f32")])
        self.assertEqual(table["plain", "load_row", "f32"],
                         {"least": 1, "work": 1, "most": 1, "copying": 0, "skip": None, "local": 0,
                          "read": 16, "copy": None, "write": None})

    def test_code_outside_the_loop_does_not_count(self):
        lines = loop(*PLAIN)
        self.assertEqual(self.numbers(lines[:4] + ["        /*0001*/    STL [R1], R4 ;"] * 9 + lines[4:]),
                         self.numbers(lines))

    def test_unrolled_twice(self):
        numbers = self.numbers(loop(*PLAIN, *PLAIN))
        self.assertEqual((numbers["least"], numbers["most"]), (7 / 8, 7 / 8))

    def test_the_shortest_way_and_the_longest(self):
        numbers = self.numbers(loop(*PLAIN, "@P1 BRA `(.L_on)", *["FADD R9, R9, R8"] * 8, ".L_on:",
                                    "IADD3 R3, R3, 0x1, RZ"))
        self.assertEqual((numbers["least"], numbers["most"]), (6 / 4, 14 / 4))

    def test_the_work_is_the_shortest_way_with_the_most_arithmetic(self):
        numbers = self.numbers(loop(
            *PLAIN, "@P1 BRA `(.L_other)", "FFMA R9, R9, R8, R8", "FADD R9, R9, R8", "BRA `(.L_on)", ".L_other:",
            "FMUL R9, R9, R8", *["DMUL R10, R10, R8"] * 5, ".L_on:", "@P2 BRA `(.L_end)", *["LOP3 R7, R7, R8"] * 6,
            ".L_end:", "NOP"))
        self.assertEqual((numbers["least"], numbers["work"], numbers["most"]), (10 / 4, 10 / 4, 19 / 4))
        numbers = self.numbers(loop(*PLAIN, "@P1 BRA `(.L_on)", "FFMA R9, R9, R8, R8", "FADD R9, R9, R8", ".L_on:",
                                    "@P2 BRA `(.L_end)", *["LOP3 R7, R7, R8"] * 6, ".L_end:", "NOP"))
        self.assertEqual((numbers["least"], numbers["work"], numbers["most"]), (7 / 4, 9 / 4, 15 / 4))

    def test_groups_passed_over(self):
        numbers = self.numbers(loop("in " + LOAD, "LDS R9, [R3]", "@P1 BRA `(.L_on)", *PLAIN, ".L_on:",
                                    "IADD3 R3, R3, 0x1, RZ"))
        self.assertEqual((numbers["skip"], numbers["least"]), (4 / 4, 7 / 4))

    def test_stack_frames_are_told(self):
        self.assertEqual(self.numbers(loop(*PLAIN, "LDL R3, [R1]", "STL [R1], R3"))["local"], 2)

    def test_widths(self):
        numbers = self.numbers(loop(f"in {LOAD} > load_vector@cuda_context.cuh",
                                    "LDS.64 R4, [R2]", "LDS.64 R6, [R2+8]", "in " + LOAD,
                                    "LDGSTS.E.BYPASS.128 [R2], [R4.64]", "STG.E.64 [R2.64], R4"))
        self.assertEqual((numbers["read"], numbers["copy"], numbers["write"]), (8, 16, 8))

    def test_copies_count_apart_where_they_can_be_left_out(self):
        numbers = self.numbers(loop(*PLAIN, "@P1 BRA `(.L_on)", "LDGSTS.E.BYPASS.128 [R2], [R4.64]",
                                    "LDGDEPBAR", ".L_on:", "NOP"))
        self.assertEqual((numbers["most"], numbers["copying"], numbers["copy"]), (6 / 4, 2 / 4, 16))
        numbers = self.numbers(loop(*PLAIN, "LDGSTS.E.64 [R2], [R4.64]"))
        self.assertEqual((numbers["most"], numbers["copying"], numbers["copy"]), (5 / 4, 0, 8))

    def test_a_second_row_read_with_the_first_makes_no_more_elements(self):
        beside = [f"in {LOAD} > ResidualRow::load_draft(int)@residual.cuh > load_vector@cuda_context.cuh",
                  "LD.E.128 R4, [R2.64]", f"in {LOAD}"]
        self.assertEqual(self.numbers(loop(*PLAIN, *beside))["most"], 5 / 4)

    def test_a_row_made_anew_counts_as_a_copy(self):
        making = [f"in {LOAD} > TeamRow::make(int)@row.cuh > load_vector@cuda_context.cuh",
                  "LD.E.128 R4, [R2.64]", f"in {LOAD}"]
        numbers = self.numbers(loop(*PLAIN, "@P1 BRA `(.L_on)", *making, "NOP", ".L_on:", "NOP"))
        self.assertEqual((numbers["most"], numbers["copying"], numbers["copy"]), (6 / 4, 2 / 4, 16))

    def test_what_is_made_for_one_type_serves_no_other(self):
        typed = [f"{LOAD} > load_as<true, (sampler_dtype){number}>(int)@row.cuh" for number in (0, 2)]
        table = self.count(loop("@P1 BRA `(.L_other)", *read(typed[0]), "BRA `(.L_on)", ".L_other:",
                                *read(typed[1]), "NOP", "NOP", ".L_on:", f"in {LOAD}", "NOP"))
        self.assertEqual({element: numbers["least"] for (_, _, element), numbers in table.items()},
                         {"f32": 5 / 4, "bf16": 6 / 8})

    def test_an_inner_loop_of_constant_length_counts_so_often(self):
        inner = [".L_inner:", "VIADD R7, R7, 0x1", "ISETP.NE.AND P2, PT, R7, 0x4, PT", "@P2 BRA `(.L_inner)"]
        self.assertEqual(self.numbers(loop(*PLAIN, *inner))["most"], (4 + 4 * 3) / 4)

    def test_a_constant_compared_in_an_inner_loop_is_not_the_length_of_the_outer(self):
        inner = [".L_inner:", "VIADD R7, R7, 0x1", "ISETP.NE.AND P0, PT, R7, 0x4, PT", "@P0 BRA `(.L_inner)"]
        lines = loop(*PLAIN, *inner, "ISETP.NE.AND P0, PT, R9, R10, PT")
        self.assertEqual(self.numbers(lines)["most"], (5 + 4 * 3) / 4)

    def test_a_read_in_an_inner_loop_of_constant_length(self):
        inner = ["MOV R7, RZ", ".L_inner:", *read(), "VIADD R7, R7, 0x2", "ISETP.NE.AND P2, PT, R7, 0x8, PT",
                 "@P2 BRA `(.L_inner)"]
        numbers = self.numbers(loop(*inner, "NOP"))
        self.assertEqual((numbers["least"], numbers["most"]), ((4 * 4 + 3) / 16,) * 2)

    def test_the_longest_way_may_lead_through_an_inner_loop(self):
        inner = ["@P1 BRA `(.L_straight)", ".L_inner:", "VIADD R7, R7, 0x1", "ISETP.NE.AND P2, PT, R7, 0x4, PT",
                 "@P2 BRA `(.L_inner)", "BRA `(.L_on)", ".L_straight:", *["FADD R9, R9, R8"] * 5, ".L_on:", "NOP"]
        numbers = self.numbers(loop(*PLAIN, *inner))
        self.assertEqual((numbers["least"], numbers["most"]), (11 / 4, 19 / 4))

    def test_lanes_apart_are_left_out(self):
        lines = loop(*PLAIN, "BRA.DIV UR4, `(.L_apart)", "VOTE.ANY R5, PT, P1", ".L_on:", "NOP")
        apart = listing(".L_apart:", *["NOP"] * 9, "BRA `(.L_on)")[3:]
        self.assertEqual(self.numbers(lines + apart)["most"], 7 / 4)

    def test_an_inner_loop_of_another_length_is_left_out(self):
        inner = ["@P3 BRA `(.L_on)", ".L_inner:", "VIADD R7, R7, 0x1", "ISETP.NE.AND P2, PT, R7, R9, PT",
                 "@P2 BRA `(.L_inner)", ".L_on:"]
        numbers = self.numbers(loop(*PLAIN, "@P1 BRA `(.L_on)", *inner, "NOP"))
        self.assertEqual((numbers["least"], numbers["most"]), (6 / 4, 6 / 4))

    def test_functions_called_count(self):
        called = [f".type $helper,@function", "$helper:", "FADD R3, R3, R4", "FADD R3, R3, R4",
                  "RET.REL.NODEC R2 `(x)"]
        lines = loop(*PLAIN, "CALL.REL.NOINC `($helper)")
        self.assertEqual(self.numbers(lines + listing(*called)[3:])["most"], (5 + 3) / 4)

    def test_what_is_rare_is_left_out_or_must_not_be_named(self):
        count_sass.RARE = {"store_value": "at the end"}
        store = ["@P1 BRA `(.L_on)", f"in {LOAD} > store_value@elements.h", "STG.E [R2.64], R4",
                 "STG.E [R2.64], R5", f"in {LOAD}", ".L_on:", "NOP"]
        self.assertEqual(self.numbers(loop(*PLAIN, *store))["most"], 6 / 4)
        with self.assertRaisesRegex(ValueError, "store_value"):
            self.count(loop(*PLAIN))

    def test_types_that_a_loop_branches_on(self):
        table = self.count(loop(
            "in " + LOAD, "@P1 BRA `(.L_half)", f"in {LOAD} > load_vector<Vector32>@cuda_context.cuh",
            "LDS.128 R4, [R2]", "in " + LOAD, "BRA `(.L_on)",
            ".L_half:", f"in {LOAD} > load_vector<Vector16>@cuda_context.cuh", "LDS.64 R4, [R2]", "in " + LOAD,
            "@P2 BRA `(.L_bf16)", f"in {LOAD} > widen_f16@float_bits.h", *["HADD2.F32 R4, -RZ, R4.H0_H0"] * 4,
            "BRA `(.L_on)", ".L_bf16:", f"in {LOAD} > widen_bf16@float_bits.h",
            *["IMAD.U32 R4, R4, 0x10000, RZ"] * 2, ".L_on:", "in " + LOAD, "NOP"))
        most = {element: numbers["most"] * 4 for (_, _, element), numbers in table.items()}
        self.assertEqual(most, {"f32": 5, "f16": 10, "bf16": 7})
        self.assertEqual(table["plain", "load_row", "f16"]["read"], 8)

    def test_types_that_are_told_by_how_they_are_widened(self):
        table = self.count(loop(*read(), "@P1 BRA `(.L_half)", "FADD R4, R4, R5", "BRA `(.L_on)", ".L_half:",
                                f"in {LOAD} > widen_f16@float_bits.h", *["HADD2.F32 R4, -RZ, R4.H0_H0"] * 4,
                                f"in {LOAD}", ".L_on:", "NOP"))
        self.assertEqual({element: numbers["most"] for (_, _, element), numbers in table.items()},
                         {"f32": 6 / 4, "f16": 8 / 8})

    def test_types_that_are_told_by_what_they_read(self):
        table = self.count(loop(*read(), "@P1 BRA `(.L_less)", *read(), ".L_less:", "NOP", "@P1 BRA `(.L_half)",
                                "FADD R4, R4, R5", "BRA `(.L_on)", ".L_half:", f"in {LOAD} > widen@row.cuh",
                                "IMAD.U32 R4, R4, 0x10000, RZ", ".L_on:", f"in {LOAD}", "NOP"))
        self.assertEqual({element: numbers["most"] for (_, _, element), numbers in table.items()},
                         {"f32": 9 / 8, "bf16": 7 / 8})

    def test_a_pass_may_be_named_as_what_reads(self):
        lines = loop(*PLAIN, f"in {LOAD.replace('load_each', 'load')} > TeamRow::for_each_tile()@row.cuh > "
                     "TeamRow::start()@row.cuh", "LDS R7, [R8]", "LDS.128 R12, [R8]")
        self.assertEqual(self.numbers(lines)["most"], 6 / 4)

    def test_too_many_ways(self):
        branches = [line for i in range(11) for line in
                    (f"@P{i % 7} BRA `(.L_on{i})", f"in {LOAD} > load_vector@cuda_context.cuh",
                     *["LDS.64 R4, [R2]"] * 2 ** i, f"in {LOAD}", f".L_on{i}:", "NOP")]
        with self.assertRaisesRegex(ValueError, "more ways"):
            self.count(loop(*branches))

    def test_a_row_made_of_two_types_counts_as_f32(self):
        lines = loop(*read(), f"in {LOAD} > widen_bf16@float_bits.h", "IMAD.U32 R4, R4, 0x10000, RZ",
                     f"in {LOAD} > widen_f16@float_bits.h", "HADD2.F32 R4, -RZ, R4.H0_H0")
        self.assertEqual(self.numbers(lines)["most"], 4 / 4)

    def test_ids_of_a_list_are_not_the_row(self):
        self.assertEqual(self.count(loop(f"in {LOAD} > value@row.cuh > load_id@elements.h", "LDG.64 R4, [R2]")), {})

    def test_names(self):
        lines = loop(*read(WEIGH), f"in {WEIGH} > contract::weight(float)@weight.h", "FADD R3, R3, R4")
        self.assertEqual(list(self.count(lines)), [("plain", "add_kept,by-id,weights", "f32")])

    def test_the_worst_of_several_places_counts(self):
        lines = loop(*PLAIN, "LDL R3, [R1]")
        second = [line.replace(".L_loop", ".L_second") for line in loop(*PLAIN, *PLAIN)[3:]]
        numbers = self.numbers(lines[:-1] + second)
        self.assertEqual((numbers["most"], numbers["local"]), (5 / 4, 1))

    def test_jumps_that_are_not_understood(self):
        with self.assertRaisesRegex(ValueError, "BRX"):
            self.count(loop(*PLAIN, "BRX R4 -0x10"))
        with self.assertRaisesRegex(ValueError, "two entries"):
            self.count(listing("in " + LOAD, "@P1 BRA `(.L_b)", ".L_a:", "NOP", ".L_b:", "NOP", "@P0 BRA `(.L_a)",
                               "EXIT"))


class Comparing(unittest.TestCase):
    KEY = ("plain", "load_row", "f32")
    NUMBERS = {"least": 10.0, "work": 15.0, "most": 20.0, "copying": 0, "skip": None, "local": 0,
               "read": 16, "copy": 16, "write": None}

    def faults(self, **changes):
        then = {column: None if number is None else float(number) for column, number in self.NUMBERS.items()}
        return count_sass.compare({self.KEY: {**self.NUMBERS, **changes}}, {self.KEY: then})

    def test_the_same(self):
        self.assertEqual(self.faults(), [])
        self.assertEqual(self.faults(most=20.04), [])

    def test_any_rise(self):
        for change in ({"least": 10.1}, {"most": 20.1}, {"local": 1}, {"read": 8}, {"copy": 8}):
            self.assertRegex(self.faults(**change)[0], "which is worse$")

    def test_a_fall(self):
        self.assertEqual(self.faults(most=19.5), [])
        self.assertRegex(self.faults(most=19.3)[0], "most was 20.0 and is 19.3: write the table$")

    def test_what_was_not_there(self):
        self.assertRegex(self.faults(copy=None)[0], "copy was 16 and is -$")
        self.assertRegex(self.faults(skip=1.5)[0], "skip was - and is 1.5$")
        table = {self.KEY: self.NUMBERS}
        self.assertRegex(count_sass.compare(table, {})[0], "a new pass$")
        self.assertRegex(count_sass.compare({}, table)[0], "no such pass any more$")


class Checking(unittest.TestCase):
    def setUp(self):
        count_sass.RARE = {}
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.object, self.table = Path(folder.name) / "a.sass", Path(folder.name) / "table.txt"

    def check(self, lines, compiler="13.0.88", writes=False):
        self.object.write_text("\n".join(lines))
        return count_sass.check("90", compiler, str(self.table), [str(self.object)], writes)

    def test_a_table_that_was_written_holds_until_a_number_rises(self):
        self.assertEqual(self.check(loop(*PLAIN), writes=True), 0)
        self.assertEqual(self.check(loop(*PLAIN)), 0)
        self.assertEqual(self.check(loop(*PLAIN, "NOP")), 1)
        self.assertEqual(self.check(loop(*PLAIN[:-1])), 1)
        self.assertEqual(self.check(loop(*PLAIN, "NOP"), compiler="13.1.2"), count_sass.SKIPPED)


class LineTable(unittest.TestCase):
    """A program in which `f` calls `g`, which calls `h`; numbers of rows are too small by 1 after the third."""

    def test_calls_are_found_though_their_numbers_are_too_small(self):
        names = b"\0f\0g\0h\0"
        header = bytes([1, 1, 0xFB, 14, 10]) + bytes(9) + b"\0" + b"a.cu\0\0\0\0b.h\0\0\0\0" + b"\0"

        def inlined(call, function):
            return bytes([0, 3, 0x90, call, function])

        row, next_address = b"\1", bytes([2, 16])
        program = (bytes([0, 9, 2]) + bytes(8) + row  # row 1: the kernel's own
                   + row + bytes([4, 2]) + inlined(2, 1) + row  # row 2 calls f, row 3 is in it
                   + next_address + inlined(2, 1) + row  # row 4, not counted, calls g
                   + inlined(3, 3) + row  # row 5 is in g and calls h
                   + inlined(4, 5) + row  # row 6 is in h
                   + next_address + inlined(3, 3) + row)  # row 7 is in g
        lines = struct.pack("<HI", 2, len(header)) + header + program
        lines = struct.pack("<I", len(lines)) + lines
        start = len(lines) - len(program) + 3

        class Object:
            sections = {".debug_line": lines, ".debug_str": names,
                        ".rela.debug_line": struct.pack("<QQq", start, 7 << 32, 0)}

            def symbol(self, index):
                return {7: "kernel"}[index]

        rows = sass_listing.read_lines(Object())["kernel"]

        def functions(row):
            _, _, call, name = rows[row]
            return (functions(call) if call is not None else []) + [name]

        self.assertEqual([functions(row) for row in range(7)],
                         [[""], [""], ["", "f"], ["", "f"], ["", "f", "g"], ["", "f", "g", "h"], ["", "f", "g"]])
        self.assertEqual([rows[row][:2] for row in (0, 2, 6)], [(0, "a.cu"), (0, "b.h"), (32, "b.h")])


if __name__ == "__main__":
    unittest.main()
