"""Predicts how long operations take on a GPU. Nothing here is measured.

usage: gpu_model.py show INSTRUCTIONS PASSES PLANS
       gpu_model.py check INSTRUCTIONS PASSES PLANS DOCUMENT CELLS [--write]

INSTRUCTIONS is the table of count_sass.py; PASSES says which passes an operation makes
(tests/cuda/passes.txt), and PLANS what is launched (tests/cuda/plans.txt). `show` prints the tables. `check`
fails where DOCUMENT does not have them between its two markers, or CELLS not what gpu_check prints beside
its times; with --write it puts them there.

    time = launches + waits + max(memory, instructions, waits of the teams before on a multiprocessor)

  memory        bytes that come and go, by what the device's memory gives; for few rows, by what a block's
                copies under way can ask for
  instructions  those of the passes, by what the schedulers give to so many warps
  waits         barriers of the team and of its blocks, and the part of the row that one warp goes through
                alone

Sorts, scans of histograms, conflicts of atomics, the drafts' entries that a chain reads one by one, and lists,
texts and repeats of stages are left out, so operations that sort tokens, chains, and stages of long texts take
somewhat longer. Teams are dealt out evenly.
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
LAUNCH = 2.5  # microseconds, as are the next four
NEXT_LAUNCH = 1.5
TEAM_BARRIER = 0.2
BLOCK_BARRIER = 0.025
LATENCY = 0.8
WARPS = 8  # of a block
IN_FLIGHT = 3 * WARPS * 512  # elements
IN_FLIGHT_OF_TWO = 2 * WARPS * 512
BANDWIDTH = {"H100 SXM": 3.0e6, "H200 SXM": 4.3e6}  # bytes a microsecond

CONSTANTS = [
    ("multiprocessors", MULTIPROCESSORS, "both devices; published"),
    ("schedulers of a multiprocessor", SCHEDULERS, "each issues one instruction of a warp a clock; published"),
    ("clock", f"{CLOCK} MHz", "under load; published boost clocks are 1,830 to 1,980 MHz"),
    ("bandwidth", "3.0 and 4.3 TB/s", "H100 and H200, about 90 % of what is published: assumed"),
    ("clocks between two instructions of a warp", CLOCKS_BETWEEN, "assumed: arithmetic takes 4, reads more"),
    ("issue slots filled, at most", f"{HIGHEST_SHARE:.0%}".replace("%", " %"), "assumed"),
    ("launch", f"{LAUNCH} µs", "assumed, from a graph"),
    ("second launch, of rows that are spread", f"{NEXT_LAUNCH} µs", "assumed: the first has ended by then"),
    ("barrier of a team of several blocks", f"{1000 * TEAM_BARRIER:.0f} ns",
     "assumed; `gpu_check --facts` measures it"),
    ("barrier of a block", f"{1000 * BLOCK_BARRIER:.0f} ns", f"assumed, of {WARPS} warps"),
    ("latency of memory", f"{LATENCY} µs", "assumed, under load"),
    ("blocks, and multiprocessors that have some", "as planned", "[plans.txt](../tests/cuda/plans.txt)"),
    ("elements under way", f"{IN_FLIGHT:,} a block; {IN_FLIGHT_OF_TWO:,} of two rows at once",
     "`kernels/row.cuh`, `kernels/residual.cuh`"),
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


# What is aimed at for rows of 128,256 f32 on an H200: microseconds, or a share of the limit, which is one
# read of the rows.
TARGETS = [
    ("argmax", {1: 8, 64: 16, 256: 0.8, 1024: 0.8}),
    ("min-p 0.05", {1: 8, 64: 16, 256: 0.8, 1024: 0.8}),
    ("top-k 50, top-p 0.95", {1: 8, 64: 16, 256: 0.8, 1024: 0.8}),
    ("top-p 0.95", {1: 10, 64: 16}),
    ("sample", {1: 8, 64: 16}),
]

# The operations of gpu_check that are predicted, each as the nearest that is counted.
WORKS = {
    "greedy": "argmax",
    "temperature": "sample",
    "min_p0.05": "min-p 0.05",
    "top_k50_top_p0.9": "top-k 50, top-p 0.95",
    "top_p0.9": "top-p 0.95",
    "softmax": "softmax",
    "top_k_mask50": "top-k 50 mask",
    "chain7": "chain of 3, unlike probabilities",
    "residual": "residual",
}
ROWS_OF_WORKS = ROWS + (4096,)


class Operation:
    def __init__(self, line):
        fields = [field.strip() for field in line.split("|")]
        self.name, self.kernel = fields[0], fields[6]
        self.read, self.copied, self.team_barriers, self.block_barriers, self.written = map(float, fields[1:6])
        self.passes, self.part = [], None
        for text in fields[7].split():
            name, column, *share = text.split(":")
            if column == "part":
                self.part = name
            else:
                self.passes.append((name, column, float(share[0])))
        self.reads_two = any(column == "both" for _, column, _ in self.passes)
        read = sum(share * (2 if column == "both" else 1) for _, column, share in self.passes if column != "skip")
        if abs(read - self.read) > 0.05:
            raise ValueError(f"{self.name}: the passes read {read} rows, and {self.read} are counted")

    def numbers(self, table, name, element):
        key = (self.kernel, name, element)
        if key not in table:
            raise ValueError(f"{self.name}: there is no pass {' '.join(key)}")
        return table[key]

    def type_of_pass(self, name, element):
        """A residual is f32 whatever the rows are, once it has been loaded."""
        return "f32" if "residual" in name and not name.startswith("load") else element

    def is_of_all_slices(self, name):
        """Whether all teams of a row that is spread take part in a pass; else one does it alone."""
        return name.startswith(("load", "weigh", "fill_bins", "best")) and name != "weigh_above"

    def instructions(self, table, element):
        """A warp's for each 32 elements of the row: of passes of all slices, and of one team."""
        totals = [0, 0]
        for name, column, share in self.passes:
            numbers = self.numbers(table, name, self.type_of_pass(name, element))
            if column == "copied":
                total = share * (numbers["work"] + numbers["copying"])
            else:
                total = share * numbers["work" if column == "both" else column]
            totals[0 if self.is_of_all_slices(name) else 1] += total
        return totals

    def terms(self, table, plan, device, element, num_rows, num_cols):
        """Launches, barriers, one warp's part, and the larger of memory, instructions and earlier teams."""
        size = ELEMENTS[element]
        slices = max(plan.teams // num_rows, 1)
        launches = LAUNCH if slices == 1 else LAUNCH + NEXT_LAUNCH
        resident = math.ceil(min(plan.teams, plan.at_once) * plan.blocks / plan.multiprocessors)
        waves = max(num_rows / plan.at_once, 1)
        rate = issue_rate(resident)
        # Of the multiprocessors together, and of one whose blocks begin at once.
        of_slices, of_team = (each * num_cols / 32 for each in self.instructions(table, element))
        issue = max(num_rows * (of_slices + of_team) / (plan.multiprocessors * rate),
                    (of_slices / slices + of_team) / plan.blocks * resident / rate)

        row_bytes = num_cols * size
        moved = num_rows * row_bytes * (self.copied + self.written) / BANDWIDTH[device]
        in_flight = size * (IN_FLIGHT_OF_TWO if self.reads_two else IN_FLIGHT)
        memory = max(moved, LATENCY * max(row_bytes * self.copied / (plan.blocks * slices) / in_flight, 1))

        team_barrier = TEAM_BARRIER if plan.blocks > 1 else BLOCK_BARRIER
        barriers = self.team_barriers * team_barrier + self.block_barriers * BLOCK_BARRIER
        part = 0
        if self.part:
            elements = num_cols / (plan.blocks * WARPS)
            element = self.type_of_pass(self.part, element)
            part = elements / 32 * self.numbers(table, self.part, element)["work"] / 2 * CLOCKS_BETWEEN / CLOCK
        return {"launches": launches, "barriers": barriers, "one warp's part": part,
                **largest({"memory": memory, "instructions": issue,
                           "barriers of the teams before": (waves - 1) * (barriers + part)})}

    def time(self, table, plans, device, element, num_rows, num_cols):
        plan = plans[self.kernel, element, num_cols, num_rows]
        return sum(self.terms(table, plan, device, element, num_rows, num_cols).values())


def largest(terms):
    name = max(terms, key=terms.get)
    return {name: terms[name]}


def issue_rate(resident):
    """Instructions of warps that a multiprocessor issues in a microsecond."""
    share = min(resident * WARPS / SCHEDULERS / CLOCKS_BETWEEN, HIGHEST_SHARE)
    return SCHEDULERS * CLOCK * share


class Plan:
    """Teams of a launch, the blocks of each, teams that run at once, multiprocessors that have some. Where there
    are more teams than rows, rows are spread: each has several, and two launches."""

    def __init__(self, numbers):
        self.teams, self.blocks, self.at_once, self.multiprocessors = map(int, numbers)


def read_plans(path):
    plans = {}
    with open(path) as file:
        for line in file:
            if line.strip() and not line.startswith("#"):
                kernel, element, num_cols, num_rows, *numbers = line.split()
                plans[kernel, element, int(num_cols), int(num_rows)] = Plan(numbers)
    return plans


def rounded(time):
    return f"{time:.2f}" if time < 1 else f"{time:.1f}" if time < 10 else f"{time:,.0f}"


def of_devices(times):
    texts = [rounded(time) for time in times]
    return texts[0] if len(set(texts)) == 1 else " / ".join(texts)


def read_limit(device, element, num_rows, num_cols):
    return num_rows * num_cols * ELEMENTS[element] / BANDWIDTH[device]


def target_lines(table, plans, by_name):
    """What is aimed at beside what is predicted, and of each miss what it is made of."""
    device, element, num_cols = "H200 SXM", "f32", 128256
    columns = sorted({num_rows for _, targets in TARGETS for num_rows in targets})
    heads = " | ".join(f"B = {num_rows:,}" for num_rows in columns)
    lines = [f"Rows of {num_cols:,} f32, predicted for an H200, and what is aimed at: µs, 80 % of the speed at "
             "which the rows are read once where B is 256 or more.", "",
             f"| operation, predicted (aim) | {heads} |", "|---|" + "--:|" * len(columns)]
    misses = []
    for name, targets in TARGETS:
        cells = []
        for num_rows in columns:
            operation = by_name[name]
            time = operation.time(table, plans, device, element, num_rows, num_cols)
            if num_rows not in targets:
                cells.append(rounded(time))
                continue
            target = targets[num_rows]
            if target < 1:
                target = read_limit(device, element, num_rows, num_cols) / target
            is_missed = time > target
            cells.append(f"{'**' * is_missed}{rounded(time)}{'**' * is_missed} ({rounded(target)})")
            if is_missed:
                plan = plans[operation.kernel, element, num_cols, num_rows]
                terms = operation.terms(table, plan, device, element, num_rows, num_cols)
                made_of = ", ".join(f"{term} {rounded(part)}" for term, part in terms.items() if part > 0)
                misses.append(f"- {name}, B = {num_rows:,}: {made_of}.")
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return lines + [""] + (["Missed, and what these µs are:", ""] + misses + [""] if misses else [])


def tables(table, plans, operations):
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
                    table, plans, device, element, num_rows, num_cols)))
            lines.append("")
    by_name = {operation.name: operation for operation in operations}
    lines += target_lines(table, plans, by_name)
    lines += ["Rows of 131,072 f32, predicted, beside what others have "
              f"[published]({PEERS}), on their machine:", "",
              "| operation | B | predicted | FlashInfer | Triton, in vLLM |", "|---|--:|--:|--:|--:|"]
    for name, shown, num_rows, flashinfer, triton in PUBLISHED:
        predicted = of_devices(by_name[name].time(table, plans, d, "f32", num_rows, 131072) for d in BANDWIDTH)
        lines.append(f"| {shown} | {num_rows} | {predicted} | {flashinfer} | {triton} |")
    lines += ["", "| taken for the prediction | | from |", "|---|--:|---|"]
    lines += [f"| {name} | {value} | {source} |" for name, value, source in CONSTANTS]
    return lines


def cells(table, plans, operations):
    """What gpu_check is compiled with: a line for each of its cells that is predicted."""
    lines = ["// Written by tools/gpu_model.py: microseconds predicted for an H100 SXM and an H200 SXM.",
             "// clang-format off"]
    by_name = {operation.name: operation for operation in operations}
    for work, name in WORKS.items():
        for element in ELEMENTS:
            for num_cols in COLUMNS:
                for num_rows in ROWS_OF_WORKS:
                    times = [by_name[name].time(table, plans, device, element, num_rows, num_cols)
                             for device in ("H100 SXM", "H200 SXM")]
                    lines.append(f'{{"{work}", "{element}", {num_cols}, {num_rows}, '
                                 + ", ".join(f"{time:.1f}" for time in times) + "},")
    return lines


def read_operations(path):
    with open(path) as file:
        return [Operation(line) for line in file if line.strip() and not line.startswith("#")]


def check(lines, document, writes):
    with open(document, encoding="utf-8") as file:
        text = file.read()
    before, rest = text.split(BEGIN)
    _, after = rest.split(END)
    return keep(document, text, f"{before}{BEGIN}\n" + "\n".join(lines) + f"\n{END}{after}", writes)


def check_cells(lines, path, writes):
    with open(path, encoding="utf-8") as file:
        return keep(path, file.read(), "\n".join(lines) + "\n", writes)


def keep(path, text, wanted, writes):
    if writes:
        with open(path, "w", encoding="utf-8") as file:
            file.write(wanted)
    elif text != wanted:
        print(f"{path} has other times: {' '.join(sys.argv)} --write")
        return 1
    return 0


def main(arguments):
    if len(arguments) < 4 or arguments[0] not in ("show", "check"):
        sys.exit(__doc__)
    _, table = count_sass.read_table(arguments[1])
    operations, plans = read_operations(arguments[2]), read_plans(arguments[3])
    lines = tables(table, plans, operations)
    if arguments[0] == "show" and len(arguments) == 4:
        print("\n".join(lines))
        return 0
    if arguments[0] == "check" and len(arguments) >= 6 and arguments[6:] in ([], ["--write"]):
        writes = len(arguments) == 7
        return (check(lines, arguments[4], writes)
                | check_cells(cells(table, plans, operations), arguments[5], writes))
    sys.exit(__doc__)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
