#!/usr/bin/env python3
"""Makes the tables of docs/performance.md, README.md's short ones, and the plots of bench/results/plots
from bench/results/*.json.

usage: bench_report.py [--check] [--root PROJECT_DIR]

Files are those of `./run bench --json FILE`, of gpu_check, and of gpu_check's torch_peer.py. The tables
of docs/performance.md stand between the comments "<!-- begin: cpu results -->" and "<!-- end: cpu
results -->", and likewise "gpu"; README.md has "cpu summary" and "gpu summary". Without a file of a kind
there is nothing. A dash marks what a run did not reach. The newest file that has a cell gives that cell of
a GPU. Facts of a GPU, without cells, are passed over. With --check nothing is written: status 1 when a
page or a plot is not what the files give.
"""

import argparse
import json
import math
import pathlib
import re
import sys
from xml.sax.saxutils import escape

NUM_COLS = 128256  # of what is shown for one vocabulary only
MISSING = "–"
PLOTS = "bench/results/plots"
README, PERFORMANCE = "README.md", "docs/performance.md"


class ReportError(Exception):
    """What is wrong with a file, in a line."""


# ---- Reading ------------------------------------------------------------------------------------


class Record:
    """An object of a JSON file that complains by the place where something is missing."""

    def __init__(self, values, place):
        if not isinstance(values, dict):
            raise ReportError(f"{place} is not an object")
        self.values, self.place = values, place

    def _get(self, key, types, what, default):
        value = self.values.get(key, default)
        if value is None or isinstance(value, bool) or not isinstance(value, types):
            raise ReportError(f"{self.place}: {key} is {json.dumps(value)}; it must be {what}")
        return value

    def text(self, key, default=None):
        return self._get(key, str, "a text", default)

    def integer(self, key, default=None):
        return self._get(key, int, "an integer", default)

    def time(self, key):
        value = self._get(key, (int, float), "a positive number", None)
        if not 0 < value < math.inf:
            raise ReportError(f"{self.place}: {key} is {value}; it must be a positive number")
        return value

    def record(self, key):
        return Record(self.values.get(key), f"{self.place}: {key}")

    def records(self, key):
        values = self.values.get(key)
        if not isinstance(values, list) or not values:
            raise ReportError(f"{self.place}: {key} is no list with results in it")
        return [Record(value, f"{self.place}: {key}[{i}]") for i, value in enumerate(values)]

    def __contains__(self, key):
        return key in self.values


class Results:
    """One file: `run` says what ran where, `times` maps a key of a cell to a Record."""

    def __init__(self, path, root):
        self.stem, self.path = path.stem, path.relative_to(root).as_posix()
        try:
            values = json.loads(path.read_text(encoding="utf-8"))
        except ValueError as error:
            raise ReportError(f"{self.path} is not JSON: {error}") from error
        top = Record(values, self.path)
        if "benchmarks" in top:
            self.kind, self.run, cells = "cpu", top.record("context"), top.records("benchmarks")
        elif "cells" in top:
            self.kind, self.run, cells = "gpu", top.record("run"), top.records("cells")
        elif "attributes" in top:
            self.kind, self.run, cells = "facts", top.record("run"), []
        else:
            raise ReportError(f"{self.path} has neither benchmarks (CPU) nor cells or attributes (GPU)")
        self.cells = {}
        for cell in cells:
            program = cell.text("program", "libsampler")
            shape = (cell.integer("num_cols"), cell.integer("num_rows"), cell.text("dtype"))
            rows = cell.text("rows", "lm")
            self.cells[(program, cell.text("operation"), rows, *shape)] = cell
        self.programs = list(dict.fromkeys(key[0] for key in self.cells))

    def operations(self):
        """In the order of the file, which is that of importance."""
        return list(dict.fromkeys(key[1] for key in self.cells if key[0] == "libsampler"))

    def cell(self, operation, num_cols, num_rows, dtype, rows="lm", program="libsampler"):
        return self.cells.get((program, operation, rows, num_cols, num_rows, dtype))


# ---- Text ---------------------------------------------------------------------------------------


def number(value):
    """Three digits, and all those before the point: 0.0123, 1.87, 28.4, 12,224."""
    if value is None:
        return MISSING
    rounded = float(f"{value:.2e}")  # first, so that 9.999 is 10.0
    if rounded >= 100:
        return f"{value:,.0f}"
    decimals = 2 - math.floor(math.log10(rounded))
    return f"{value:.{decimals}f}"


def percent(share):
    return MISSING if share is None else f"{100 * share:.0f} %"


def table(header, rows):
    lines = [header, ["---"] + ["--:"] * (len(header) - 1), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def note_on_dashes(text):
    return text + (f"\n\n{MISSING} was not measured." if f" {MISSING} " in text else "")


def mebibytes(size):
    return f"{size / 2**20:g} MiB"


# ---- CPU ----------------------------------------------------------------------------------------

CPU_COLS = (32000, NUM_COLS, 262144)
CPU_SUMMARY = (
    "greedy",
    "top_k50_top_p0.95",
    "top_k1000_top_p0.95",
    "min_p0.05",
    "temperature0.8",
    "top_p0.95",
    "llama_chain",
    "softmax",
)


def cpu_machine(run):
    return (
        f"{run.text('cpu')}, {run.integer('num_cpus')} processors, L2 "
        f"{mebibytes(run.integer('l2_bytes'))}, L3 {mebibytes(run.integer('l3_bytes'))}"
    )


def cpu_peer_versions(results):
    peers = [results.run.text("llama")] if "llama" in results.run else []
    return peers + [program for program in results.programs if program != "libsampler"]


def cpu_caption(results):
    run = results.run
    library = (
        f"libsampler {run.text('version')}, commit {run.text('commit')}, "
        f"{run.text('instructions')}, compiled by {run.text('compiler')}"
    )
    peers = cpu_peer_versions(results)
    peer_text = f" Beside {' and '.join(peers)}, “(x)” times slower." if peers else ""
    return (
        f"**{cpu_machine(run)}**: {library}, {run.text('date')[:10]}.{peer_text} "
        f"Made by `{run.text('command')}`.\n\n"
        "Microseconds for one f32 row as of a language model, warm in the cache, on one core. From “x max” on: V = "
        f"{NUM_COLS:,}. “x max”: over a plain maximum of the row ({run.text('limit_instructions')}). "
        f"“hardest row”: the slowest of {len(hard_rows(results))} kinds over the ordinary one. “2 threads”: the "
        "share of twice the speed, of 64 rows."
    )


def time_of(cell, key="real_time"):
    return cell.time(key) if cell is not None and key in cell else None


def hard_rows(results):
    """The kinds of rows in the order of the file, except the ordinary one."""
    return list(dict.fromkeys(key[2] for key in results.cells if key[2] != "lm"))


def hardest_row(results, operation, ordinary):
    times = {
        rows: time_of(results.cell(operation, NUM_COLS, 1, "f32", rows))
        for rows in hard_rows(results)
    }
    times = {rows: time for rows, time in times.items() if time is not None}
    if ordinary is None or not times:
        return MISSING
    rows = max(times, key=times.get)
    return f"{number(times[rows] / ordinary)} ({rows})"


def ratio(over, under):
    return None if over is None or under is None else over / under


# What the table leaves out, for its length: near others that it has.
LEFT_OUT = ("gumbel_top_p0.95", "top_p0.95_top20", "top_k50_raw_top20", "greedy_penalties64", "top_k50",
            "top_k50_penalties4096", "temperature0.8_logprob", "llama_filters_penalties4096", "top_p0.5",
            "greedy_state4096", "temperature0.8_state4096", "top_p0.95_logprob", "temperature0.8_bitmask64", "temperature0.8_top20", "greedy_penalties4096",
            "top_k64000")


def cpu_row(results, operation, peers, others=()):
    cells = {num_cols: results.cell(operation, num_cols, 1, "f32") for num_cols in CPU_COLS}
    cell = cells[NUM_COLS]
    own = time_of(cell)
    row = [f"`{operation}`"] + [number(time_of(cells[num_cols])) for num_cols in CPU_COLS]
    row.append(number(ratio(own, time_of(cell, "limit_us"))))
    for peer in peers:
        other = cpu_peer_time(results, operation, peer)
        row.append(MISSING if other is None else f"{number(other)} ({number(ratio(other, own))}x)")
    for other in others:
        row.append(number(time_of(other.cell(operation, NUM_COLS, 1, "f32"))))
    row.append(number(time_of(results.cell(operation, NUM_COLS, 1, "bf16"))))
    row.append(hardest_row(results, operation, own))
    row.append(percent(time_of(results.cell(operation, NUM_COLS, 64, "f32"), "thread_efficiency")))
    return row


def cpu_peers(results):
    return (["llama.cpp"] if "llama" in results.run else []) + [
        program for program in results.programs if program != "libsampler"
    ]


def cpu_peer_time(results, operation, peer):
    if peer == "llama.cpp":
        return time_of(results.cell(operation, NUM_COLS, 1, "f32"), "llama_us")
    return time_of(results.cell(operation, NUM_COLS, 1, "f32", program=peer))


def cpu_limit(results, num_cols):
    """The median over the operations that read a row once: each was measured beside its own pass."""
    times = sorted(
        time
        for operation in results.operations()
        for time in [time_of(results.cell(operation, num_cols, 1, "f32"), "limit_us")]
        if time is not None and not operation.startswith("chain")
    )
    return times[len(times) // 2] if times else None


def cpu_section(machine):
    results, *others = machine
    peers = cpu_peers(results)
    header = ["", *(f"V = {num_cols:,}" for num_cols in CPU_COLS), "x max", *peers]
    header += [*(other.run.text("instructions") for other in others), "bf16", "hardest row", "2 threads"]
    limits = [cpu_limit(results, num_cols) for num_cols in CPU_COLS]
    rows = [["a plain maximum", *map(number, limits)] + [""] * (len(header) - 4)]
    rows += [
        cpu_row(results, operation, peers, others)
        for operation in results.operations() if operation not in LEFT_OUT
    ]
    return "\n\n".join(
        [cpu_caption(results), note_on_dashes(table(header, rows)), plot_link(results)]
    )


def cpu_summary(machine):
    results, *others = machine
    run, peers = results.run, cpu_peers(results)
    versions = cpu_peer_versions(results)
    sets = [other.run.text("instructions") for other in others]
    rows = []
    for operation in CPU_SUMMARY:
        own = time_of(results.cell(operation, NUM_COLS, 1, "f32"))
        if own is not None:
            row = cpu_row(results, operation, peers, others)
            beside = row[5:]  # the peers, then the other instructions
            rows.append([row[0], row[2], *beside[len(peers) :][: len(others)], *beside[: len(peers)]])
    caption = (
        f"**{cpu_machine(run)}**, {run.text('instructions')}, one core, {run.text('date')[:10]}: "
        f"microseconds for one f32 row of V = {NUM_COLS:,}, warm in the cache."
        f"{' Peers: ' + ', '.join(versions) + '.' if versions else ''}"
    )
    return "\n\n".join([caption, note_on_dashes(table(["", "µs", *sets, *peers], rows))]) if rows else ""


def cpu_plot(results):
    operations = results.operations()
    series = {
        "a plain maximum": [
            time_of(results.cell(name, NUM_COLS, 1, "f32"), "limit_us") for name in operations
        ],
        "libsampler": [time_of(results.cell(name, NUM_COLS, 1, "f32")) for name in operations],
    }
    for peer in cpu_peers(results):
        series[peer] = [cpu_peer_time(results, name, peer) for name in operations]
    title = f"One f32 row of {NUM_COLS:,} logits as of a language model, {results.run.text('cpu')}"
    return dot_plot(title, "microseconds, less is better", operations, series)


# ---- GPU ----------------------------------------------------------------------------------------

GPU_ROWS = (1, 64, 256, 1024)
# What the table has, and what it is called there.
GPU_OPERATIONS = {
    "greedy": "greedy",
    "top_k50_top_p0.9": "top-k 50 + top-p 0.9",
    "top_p0.9": "top-p 0.9",
    "top_p0.9_probabilities": "top-p 0.9 of probabilities",
    "temperature": "temperature",
    "min_p0.05": "min-p 0.05",
    "top_p0.9_last": "top-p 0.9, then the temperature",
    "min_p0.05_top_p0.9": "min-p 0.05, then top-p 0.9",
    "joint": "joint",
    "top_k1000": "top-k 1000",
    "softmax": "softmax",
    "top_k_mask50": "top-k 50 mask",
    "top_k_renorm50": "top-k 50 renorm",
    "top_p_renorm0.9": "top-p 0.9 renorm",
    "chain7": "chain of 7 drafts",
    "lookup7_logits": "7 looked up drafts, logits",
    "lookup7_top20": "the same, 20 log-probabilities of each token",
    "lookup7_penalties1000": "7 looked up drafts, penalties",
    "match7": "7 drafts by sample-match",
    "threshold7": "7 drafts by threshold",
    "penalties1000": "penalties over 1,000 tokens",
    "penalties1000_top20": "the same, 20 log-probabilities",
    "bitmask": "bitmask",
    "top20_logprobs": "20 log-probabilities",
    "typical_p0.9": "typical-p 0.9",
    "top_n_sigma1": "top-n-sigma 1",
    "llama.cpp": "llama.cpp's stages",
    "llama.cpp_no_xtc": "the same without XTC",
    "llama.cpp_own_k": "llama.cpp's, top-k by slot",
    "mirostat_v2": "mirostat v2",
    "adaptive_p0.5": "adaptive-p 0.5",
}
GPU_SUMMARY = ("greedy", "top_k50_top_p0.9", "top_p0.9", "softmax")


def cuda_version(value):
    return f"{value // 1000}.{value % 1000 // 10}"


class Device:
    """A GPU: what all its files have together."""

    def __init__(self, files):
        files = sorted(files, key=lambda file: file.run.text("date"))
        self.newest = [file for file in files if "libsampler" in file.programs][-1]
        self.cells = {}  # (program, operation, number of rows): the newest file that has it, microseconds
        for file in files:
            for (program, operation, _, num_cols, num_rows, dtype), cell in file.cells.items():
                time = cell.record("kernel_cold").time("median_us")
                if (num_cols, dtype) == (NUM_COLS, "f32") and num_rows in GPU_ROWS:
                    self.cells[program, operation, num_rows] = file, time
        self.cells = {key: cell for key, cell in self.cells.items() if key[1] in GPU_OPERATIONS}
        # The first program that has an operation stands for the others, the newest file's first.
        programs = dict.fromkeys(p for file in reversed(files) for p in file.programs)
        self.peers = {}
        for program in programs:
            for operation in GPU_OPERATIONS:
                if program != "libsampler" and any((program, operation, b) in self.cells for b in GPU_ROWS):
                    self.peers.setdefault(operation, program)

    def operations(self):
        return [name for name in GPU_OPERATIONS if any(key[1] == name for key in self.cells)]

    def time(self, program, operation, num_rows):
        return self.cells.get((program, operation, num_rows), (None, None))[1]

    def times(self, operation, num_rows):
        """Times of the library and of its peer, each None where it was not measured."""
        peer = self.peers.get(operation)
        return self.time("libsampler", operation, num_rows), self.time(peer, operation, num_rows)

    def origins(self, programs):
        """From where the table has these programs' times: ((program, commit, date), operations).

        Those with the most operations come last.
        """
        found = {}
        for (program, operation, _), (file, _) in self.cells.items():
            if program in programs and program in ("libsampler", self.peers.get(operation)):
                commit = file.run.text("commit") if program == "libsampler" else ""
                key = program, commit, file.run.text("date")[:10]
                found.setdefault(key, set()).add(operation)
        newest_first = sorted(found.items(), key=lambda item: item[0][2], reverse=True)
        return sorted(newest_first, key=lambda item: len(item[1]))


def gpu_origins(device, programs):
    """Each commit and date, and where there are several what was measured then."""
    *some, (rest, _) = device.origins(programs)

    def origin(key):
        program, commit, date = key
        return f"commit {commit}, {date}" if commit else f"{program}, {date}"

    parts = []
    for key, operations in some:
        names = ", ".join(GPU_OPERATIONS[name] for name in GPU_OPERATIONS if name in operations)
        parts.append(f"{origin(key)} ({names})")
    return "; ".join([*parts, origin(rest) + (" (all else)" if some else "")])


def gpu_caption(device):
    run = device.newest.run
    driver = re.search(r"\d+\.\d+(\.\d+)?", run.text("driver", ""))
    driver_text = f"driver {driver.group()}" if driver else "driver"
    capability = run.integer("compute_capability")
    peers = list(dict.fromkeys(device.peers.values()))
    peer_text = f" Peers: {gpu_origins(device, peers)}." if peers else ""
    return (
        f"**{run.text('device')}**, compute capability {capability // 10}.{capability % 10}, "
        f"{driver_text} for CUDA {cuda_version(run.integer('driver_cuda_version'))}, runtime CUDA "
        f"{cuda_version(run.integer('runtime_cuda_version'))}: libsampler {run.text('version')}, "
        f"{gpu_origins(device, ['libsampler'])}.{peer_text}\n\n"
        f"Microseconds of kernel time, *library / peer*, for B f32 rows of V = {NUM_COLS:,}, from graph "
        f"replay with inputs that no cache holds.{gpu_verdict(device)}"
    )


def gpu_verdict(device):
    pairs = [device.times(name, num_rows) for name in device.operations() for num_rows in GPU_ROWS]
    pairs = [pair for pair in pairs if None not in pair]
    slower = sum(own > other for own, other in pairs)
    if not slower:
        return ""
    return f" In {slower} of {len(pairs)} cells the library takes longer than its peer."


def gpu_entry(own, other):
    return MISSING if own is None and other is None else f"{number(own)} / {number(other)}"


def gpu_table(device, operations=tuple(GPU_OPERATIONS)):
    header = ["library / peer, µs", *(f"B = {num_rows:,}" for num_rows in GPU_ROWS)]
    rows = [
        [GPU_OPERATIONS[name], *(gpu_entry(*device.times(name, num_rows)) for num_rows in GPU_ROWS)]
        for name in operations
        if name in device.operations()
    ]
    return note_on_dashes(table(header, rows))


def gpu_section(device):
    return "\n\n".join([gpu_caption(device), gpu_table(device)])


def gpu_summary(device):
    if not any(name in GPU_SUMMARY for name in device.operations()):
        return ""
    peers = ", ".join(dict.fromkeys(device.peers.values()))
    caption = (
        f"**{device.newest.run.text('device')}**, {device.newest.run.text('date')[:10]}: microseconds of kernel "
        f"time, *library / peer*, for B f32 rows of V = {NUM_COLS:,}.{f' Peers: {peers}.' if peers else ''}"
        f"{gpu_verdict(device)}"
    )
    return "\n\n".join([caption, gpu_table(device, GPU_SUMMARY)])


# ---- Plots --------------------------------------------------------------------------------------

# A card of its own colour, so that a page may be light or dark. The colours of marks are told apart
# by the colour-blind (Okabe and Ito), the shapes by all.
CARD, INK, GRID = "#ffffff", "#222222", "#d8d8d8"
MARKS = (("#0072b2", "circle"), ("#d55e00", "square"), ("#009e73", "diamond"), ("#aa4499", "triangle"))
PLOT_WIDTH, MARGIN, ROW_HEIGHT, TOP = 520, 20, 26, 76
CHARACTER = 7.2  # the mean width at 13 px of names with digits and underscores


class LogAxis:
    """From a power of ten to another."""

    def __init__(self, values):
        self.low = math.floor(math.log10(min(values)))
        self.high = max(math.ceil(math.log10(max(values))), self.low + 1)

    def place(self, value):
        return (math.log10(value) - self.low) / (self.high - self.low)

    def ticks(self):
        return [10.0**exponent for exponent in range(self.low, self.high + 1)]


def mark(shape, x, y, colour, title, css_class="mark"):
    path = {
        "circle": "M-5,0a5,5 0 1,0 10,0a5,5 0 1,0 -10,0z",
        "square": "M-4.5,-4.5h9v9h-9z",
        "diamond": "M0,-6L6,0L0,6L-6,0z",
        "triangle": "M0,-6L5.5,4.5L-5.5,4.5z",
    }[shape]
    return (
        f'<path class="{css_class}" transform="translate({x:.1f},{y:.1f})" d="{path}" '
        f'fill="{colour}"><title>{escape(title)}</title></path>'
    )


def text(x, y, content, anchor="start", weight="normal"):
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-weight="{weight}">'
        f"{escape(content)}</text>"
    )


def line(x1, y1, x2, y2):
    return f'<path d="M{x1:.1f},{y1:.1f}L{x2:.1f},{y2:.1f}" stroke="{GRID}"/>'


def dot_plot(title, axis_title, labels, series):
    """A row a label, a kind of mark a series; a series has a value or None for each label."""
    values = [value for row in series.values() for value in row if value is not None]
    axis = LogAxis(values or [1.0])
    labels_width = math.ceil(CHARACTER * max(map(len, labels), default=0)) + 12
    left, bottom = MARGIN + labels_width, TOP + ROW_HEIGHT * len(labels)
    width, height = left + PLOT_WIDTH + 2 * MARGIN, bottom + 56
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
        f'height="{height}" font-family="sans-serif" font-size="13" fill="{INK}">',
        f'<rect width="{width}" height="{height}" rx="6" fill="{CARD}"/>',
        text(MARGIN, 28, title, weight="bold"),
    ]
    for tick in axis.ticks():
        x = left + PLOT_WIDTH * axis.place(tick)
        parts += [line(x, TOP, x, bottom), text(x, bottom + 18, f"{tick:,g}", "middle")]
    parts.append(text(left + PLOT_WIDTH / 2, bottom + 40, axis_title, "middle"))
    for i, label in enumerate(labels):
        y = TOP + ROW_HEIGHT * (i + 0.5)
        parts += [text(left - 12, y + 4.5, label, "end"), line(left, y, left + PLOT_WIDTH, y)]
    legend_x = left
    for (name, row), (colour, shape) in zip(series.items(), MARKS):
        parts += [mark(shape, legend_x + 6, 52, colour, name, "key"), text(legend_x + 18, 56.5, name)]
        legend_x += 44 + 7 * len(name)
        for i, value in enumerate(row):
            if value is not None:
                x, y = left + PLOT_WIDTH * axis.place(value), TOP + ROW_HEIGHT * (i + 0.5)
                parts.append(mark(shape, x, y, colour, f"{labels[i]}, {name}: {number(value)}"))
    return "\n".join([*parts, "</svg>", ""])


def plot_link(results):
    return f"![Plot of the table](../{PLOTS}/{results.stem}.svg)"


# ---- The whole ----------------------------------------------------------------------------------


def between_markers(page, text, kind, content):
    begin, end = f"<!-- begin: {kind} -->\n", f"<!-- end: {kind} -->"
    if text.count(begin) != 1 or text.count(end) != 1 or text.find(begin) > text.find(end):
        raise ReportError(f"{page} needs one line {begin.strip()} and, after it, one {end}")
    head, rest = text.split(begin)
    tail = rest.split(end)[1]
    return head + begin + (f"\n{content}\n\n" if content else "") + end + tail


def machines(files):
    """The runs of each machine; first that with the instructions it runs the passes with by default."""
    by_machine = {}
    for file in sorted(files, key=lambda file: file.run.text("instructions") != file.run.text("limit_instructions")):
        by_machine.setdefault(cpu_machine(file.run), []).append(file)
    return list(by_machine.values())


def devices(files):
    """The GPUs that files are of, by name."""
    by_name = {}
    for file in files:
        by_name.setdefault(file.run.text("device"), []).append(file)
    for name, group in by_name.items():
        if not any("libsampler" in file.programs for file in group):
            raise ReportError(f"{group[0].path}: no file has libsampler's times on {name}")
    found = [Device(group) for group in by_name.values()]
    for device in found:
        if not device.origins(["libsampler"]):
            raise ReportError(f"{device.newest.path}: no operation of libsampler's is one of the GPU table")
    return found


def report(root):
    """Path: text of each file that this script is the author of."""
    files = [Results(path, root) for path in sorted(root.glob("bench/results/*.json"))]
    cpu = machines(file for file in files if file.kind == "cpu")
    gpu = devices(file for file in files if file.kind == "gpu")
    pages = {
        PERFORMANCE: {"cpu results": map(cpu_section, cpu), "gpu results": map(gpu_section, gpu)},
        README: {"cpu summary": map(cpu_summary, cpu), "gpu summary": map(gpu_summary, gpu)},
    }
    texts = {}
    for page, sections in pages.items():
        content = (root / page).read_text(encoding="utf-8")
        for kind, parts in sections.items():
            content = between_markers(page, content, kind, "\n\n".join(filter(None, parts)))
        texts[root / page] = content
    return texts | {root / PLOTS / f"{file.stem}.svg": cpu_plot(file) for file, *_ in cpu}


def differences(root, texts):
    for path, content in texts.items():
        if not path.exists():
            yield f"{path.relative_to(root)} is missing"
        elif path.read_text(encoding="utf-8") != content:
            yield f"{path.relative_to(root)} is not what bench/results gives"
    for path in sorted(root.glob(f"{PLOTS}/*")):
        if path not in texts:
            yield f"{path.relative_to(root)} belongs to no file of bench/results"


def write(root, texts):
    for path in root.glob(f"{PLOTS}/*.svg"):
        if path not in texts:
            path.unlink()
    for path, content in texts.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing, compare")
    here = pathlib.Path(__file__).resolve().parent.parent
    parser.add_argument("--root", type=pathlib.Path, default=here, help="the project's folder")
    arguments = parser.parse_args()
    root = arguments.root.resolve()
    try:
        texts = report(root)
    except ReportError as error:
        sys.exit(f"bench_report: {error}")
    if not arguments.check:
        write(root, texts)
        return
    problems = list(differences(root, texts))
    if problems:
        sys.exit("\n".join([*problems, "run tools/bench_report.py"]))


if __name__ == "__main__":
    main()
