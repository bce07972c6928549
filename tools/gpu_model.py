"""Predicts how long operations take on a GPU. Nothing here is measured.

usage: gpu_model.py show INSTRUCTIONS PASSES
       gpu_model.py check INSTRUCTIONS PASSES DOCUMENT [--write]

INSTRUCTIONS is the table of count_sass.py, PASSES says which passes an operation makes
(tests/cuda/passes.txt). `show` prints the tables. `check` fails where DOCUMENT does not have them between its
two markers; with --write it puts them there.

    time = launch + waits + max(memory, instructions, waits of the teams before on a multiprocessor)

  memory        bytes that come and go, by what the device's memory gives; for few rows, by what a block's
                copies under way can ask for
  instructions  those of the passes, by what the schedulers give to so many warps
  waits         barriers, and the part of the row that one warp goes through alone

Sorts, scans of histograms, and conflicts of atomics are left out, so operations that sort tokens take
somewhat longer. Teams are dealt out evenly, and all that are planned to run at once do.
"""

import math
import sys

import count_sass

BEGIN, END = "<!-- predicted -->", "<!-- end of predicted -->"

# Each with what it is and where it is from.
CLOCK = 1755  # clocks a microsecond
SCHEDULERS = 4
MULTIPROCESSORS = 132
CLOCKS_BETWEEN = 6
HIGHEST_SHARE = 0.6
LAUNCH = 2.5  # microseconds, as are the next two
BARRIER = 0.15
LATENCY = 0.8
WARPS = 8  # of a block
BLOCKS = 2  # of a multiprocessor
IN_FLIGHT = 7 * WARPS * 512  # bytes of f32
BANDWIDTH = {"H100 SXM": 3.0e6, "H200 SXM": 4.3e6}  # bytes a microsecond

CONSTANTS = [
    ("multiprocessors", MULTIPROCESSORS, "both devices; published"),
    ("schedulers of a multiprocessor", SCHEDULERS, "each issues one instruction of a warp a clock; published"),
    ("clock", f"{CLOCK} MHz", "under load; published boost clocks are 1,830 to 1,980 MHz"),
    ("bandwidth", "3.0 and 4.3 TB/s", "H100 and H200, about 90 % of what is published: assumed"),
    ("clocks between two instructions of a warp", CLOCKS_BETWEEN, "assumed: arithmetic takes 4, reads more"),
    ("issue slots filled, at most", f"{HIGHEST_SHARE:.0%}".replace("%", " %"), "assumed"),
    ("launch", f"{LAUNCH} µs", "assumed, from a graph"),
    ("barrier", f"{BARRIER} µs", "assumed, between that of a block and that of a cluster"),
    ("latency of memory", f"{LATENCY} µs", "assumed, under load"),
    ("blocks of a multiprocessor", f"{BLOCKS} of {WARPS} warps", "`kernels/plan.h`"),
    ("bytes under way", f"{IN_FLIGHT:,} a block, half of it for 16 bits", "`kernels/row.cuh`"),
]

ROWS = (1, 8, 64, 256, 1024)
COLUMNS = (32000, 128256, 200000)
ELEMENTS = {"f32": 4, "bf16": 2}

# What others have published for rows of 131,072 f32, in microseconds.
PEERS = "https://github.com/vllm-project/vllm/pull/40376"
PUBLISHED = [  # operation, rows, FlashInfer, vLLM's Triton kernel
    ("top-k 50, top-p 0.95", "top-k and top-p", 64, 199, 311),
    ("top-k 50, top-p 0.95", "top-k and top-p", 128, 267, 359),
    ("top-k 50, top-p 0.95", "top-k", 128, 198, 302),
    ("top-p 0.95", "top-p", 128, 139, 528),
]


class Operation:
    def __init__(self, line):
        fields = [field.strip() for field in line.split("|")]
        self.name, self.kernel = fields[0], fields[5]
        self.read, self.copied, self.barriers, self.written = map(float, fields[1:5])
        self.passes, self.part = [], None
        for text in fields[6].split():
            name, column, *share = text.split(":")
            if column == "part":
                self.part = name
            else:
                self.passes.append((name, column, float(share[0])))
        read = sum(share for _, column, share in self.passes if column != "skip")
        if abs(read - self.read) > 0.05:
            raise ValueError(f"{self.name}: the passes read {read} rows, and {self.read} are counted")

    def numbers(self, table, name, element):
        key = (self.kernel, name, element)
        if key not in table:
            raise ValueError(f"{self.name}: there is no pass {' '.join(key)}")
        return table[key]

    def instructions(self, table, element):
        """A warp's for each 32 elements of the row."""
        total = 0
        for name, column, share in self.passes:
            numbers = self.numbers(table, name, element)
            if column == "copied":
                total += share * (numbers["work"] + numbers["copying"])
            else:
                total += share * numbers[column]
        return total

    def time(self, table, device, element, num_rows, num_cols):
        size = ELEMENTS[element]
        team = team_size(num_rows, num_cols, size)
        blocks = num_rows * team
        resident = min(max(math.ceil(blocks / MULTIPROCESSORS), 1), BLOCKS)
        waves = max(blocks / (MULTIPROCESSORS * BLOCKS), 1)
        rate = issue_rate(resident)
        # Of the multiprocessors together, and of one whose blocks begin at once.
        work = self.instructions(table, element) * num_cols / 32
        issue = max(num_rows * work / (MULTIPROCESSORS * rate), work / team * resident / rate)

        row_bytes = num_cols * size
        moved = num_rows * row_bytes * (self.copied + self.written) / BANDWIDTH[device]
        asked = LATENCY + row_bytes * self.copied / team / (IN_FLIGHT * size / 4 / LATENCY)
        memory = max(moved, asked)

        waits = self.barriers * BARRIER
        if self.part:
            part = num_cols / (team * WARPS) / 32 * self.numbers(table, self.part, element)["work"]
            waits += part / 2 * CLOCKS_BETWEEN / CLOCK
        return LAUNCH + waits + max(memory, issue, (waves - 1) * waits)


def issue_rate(resident):
    """Instructions of warps that a multiprocessor issues in a microsecond."""
    share = min(resident * WARPS / SCHEDULERS / CLOCKS_BETWEEN, HIGHEST_SHARE)
    return SCHEDULERS * CLOCK * share


def team_size(num_rows, num_cols, size):
    """Blocks for a row: as kernels/plan.cpp has it for devices with clusters."""
    tiles = math.ceil((num_cols + 3) / 128)
    team = 1
    while team < 8 and math.ceil(tiles / team) * 128 * size > 64 * 1024:
        team *= 2
    while team < 8 and num_rows * team * 2 <= MULTIPROCESSORS and tiles >= team * 2 * WARPS:
        team *= 2
    return team


def rounded(time):
    return f"{time:.2f}" if time < 1 else f"{time:.1f}" if time < 10 else f"{time:,.0f}"


def of_devices(times):
    texts = [rounded(time) for time in times]
    return texts[0] if len(set(texts)) == 1 else " / ".join(texts)


def read_limit(device, element, num_rows, num_cols):
    return num_rows * num_cols * ELEMENTS[element] / BANDWIDTH[device]


def tables(table, operations):
    lines = ["*Predicted*, not measured: µs on an H100 SXM / an H200 SXM, one number where they are the same.",
             ""]
    for element in ELEMENTS:
        for num_cols in COLUMNS:
            def line(name, time):
                cells = [of_devices(time(device, num_rows) for device in BANDWIDTH) for num_rows in ROWS]
                return f"| {name} | " + " | ".join(cells) + " |"

            heads = " | ".join(f"B = {num_rows:,}" for num_rows in ROWS)
            lines += [f"| {element}, V = {num_cols:,}, predicted | {heads} |", "|---|" + "--:|" * len(ROWS)]
            lines.append(line("one read of the rows", lambda device, num_rows: read_limit(
                device, element, num_rows, num_cols)))
            for operation in operations:
                lines.append(line(operation.name, lambda device, num_rows: operation.time(
                    table, device, element, num_rows, num_cols)))
            lines.append("")
    lines += ["Rows of 131,072 f32, predicted, beside what others have "
              f"[published]({PEERS}), on their machine:", "",
              "| operation | B | predicted | FlashInfer | Triton, in vLLM |", "|---|--:|--:|--:|--:|"]
    by_name = {operation.name: operation for operation in operations}
    for name, shown, num_rows, flashinfer, triton in PUBLISHED:
        predicted = of_devices(by_name[name].time(table, d, "f32", num_rows, 131072) for d in BANDWIDTH)
        lines.append(f"| {shown} | {num_rows} | {predicted} | {flashinfer} | {triton} |")
    lines += ["", "| taken for the prediction | | from |", "|---|--:|---|"]
    lines += [f"| {name} | {value} | {source} |" for name, value, source in CONSTANTS]
    return lines


def read_operations(path):
    with open(path) as file:
        return [Operation(line) for line in file if line.strip() and not line.startswith("#")]


def check(lines, document, writes):
    with open(document, encoding="utf-8") as file:
        text = file.read()
    before, rest = text.split(BEGIN)
    _, after = rest.split(END)
    wanted = f"{before}{BEGIN}\n" + "\n".join(lines) + f"\n{END}{after}"
    if writes:
        with open(document, "w", encoding="utf-8") as file:
            file.write(wanted)
    elif text != wanted:
        print(f"{document} has other tables: {' '.join(sys.argv)} --write")
        return 1
    return 0


def main(arguments):
    if len(arguments) < 3 or arguments[0] not in ("show", "check"):
        sys.exit(__doc__)
    _, table = count_sass.read_table(arguments[1])
    lines = tables(table, read_operations(arguments[2]))
    if arguments[0] == "show" and len(arguments) == 3:
        print("\n".join(lines))
        return 0
    if arguments[0] == "check" and arguments[4:] in ([], ["--write"]):
        return check(lines, arguments[3], len(arguments) == 5)
    sys.exit(__doc__)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
