#!/usr/bin/env python3
"""The tables and the plot of docs/sharding.md, from what `shards_bench` wrote.

usage: shards_model.py RESULTS.jsonl DOCUMENT PLOT.svg [--check]

Writes what stands between the marks <!-- shards: NAME --> and <!-- end --> of the document, and the plot. With
--check nothing is written: status 1 when they are not what the results give.

Of the measured cells all must be of one machine and number of steps, which the document tells, and of an operation
that took another number of exchanges than it does now the document says so.

The plot is of a model: an all-gather of m bytes from each of n ranks takes ceil(log2 n) latencies and (n - 1) m bytes
at the link's bandwidth. LINKS are assumptions, stated in the document, not measurements.
"""

import argparse
import json
import math
import pathlib
import re
import sys

from bench_report import CARD, INK, MARKS, line, text  # fmt: skip

# Seconds a message takes, and bytes a second of one direction of one rank.
LINKS = {
    "NVLink": (3e-6, 450e9),
    "InfiniBand": (5e-6, 50e9),
    "Ethernet": (30e-6, 12.5e9),
}
RANKS = (2, 4, 8, 16, 32, 72, 144, 288, 576, 1024)
SHOWN_RANKS = (1, 2)  # of those measured, in the table: the machine has two cores
OPERATION = "top-k 50, top-p 0.95"
TOP_P = "top-p 0.95"


def seconds(link, num_ranks, num_exchanges, sent_bytes):
    latency, bandwidth = LINKS[link]
    return (num_exchanges * math.ceil(math.log2(num_ranks)) * latency
            + (num_ranks - 1) * sent_bytes / bandwidth)


def table(header, rows):
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(str(cell) for cell in cells) + " |" for cells in lines)


def plan_table(plans):
    rows = []
    for plan in plans:
        rows.append([plan["operation"], plan["exchanges"], f"{plan['sent_bytes']:,}",
                     f"{plan['gather_bytes'] / plan['sent_bytes']:,.0f}"])
    first = plans[0]
    head = (f"{first['rows']} rows of {first['cols']:,} columns, {first['ranks']} ranks; gathering sends "
            f"{first['gather_bytes']:,} bytes of f32 from each.\n\n")
    return head + table(["operation", "exchanges", "bytes a rank sends", "times fewer than gathering"], rows)


def measured_table(measured, plans):
    names = list(dict.fromkeys(cell["operation"] for cell in measured))
    ranks = sorted({cell["ranks"] for cell in measured} & set(SHOWN_RANKS))
    for key in ("rows", "machine", "repeats"):
        if len({cell[key] for cell in measured}) > 1:
            sys.exit(f"the measured cells are of more than one {key}")
    first = measured[0]
    cols = max(cell["cols"] for cell in measured)  # less what the ranks do not divide
    head = (f"`mpirun -np n shards_bench {first['rows']} {cols} {first['repeats']}`: {first['machine']};\n"
            f"{first['rows']} rows of {cols:,} f32 logits, the least of {first['repeats']} steps, the slowest rank of "
            "each. Microseconds: shards (of\nwhich the exchanges alone) / all logits gathered to every rank and "
            "sampled there.")
    planned = {plan["operation"]: plan["exchanges"] for plan in plans}
    others = {cell["operation"]: cell["exchanges"] for cell in measured
              if cell["exchanges"] != planned[cell["operation"]]}
    for name, exchanges in others.items():
        head += f" {name[0].upper() + name[1:]} took {exchanges} exchanges then."
    if any(name.startswith("chains") for name in names):
        head += " Every second chain has its middle draft rejected."
    rows = []
    for name in names:
        cells = {cell["ranks"]: cell for cell in measured if cell["operation"] == name}
        rows.append([name, *(f"{cells[n]['shards_us']:,.0f} ({cells[n]['exchange_us']:,.0f}) / "
                             f"{cells[n]['gather_us']:,.0f}" for n in ranks)])
    return head + "\n\n" + table(["operation", *(f"{n} rank{'s' * (n > 1)}" for n in ranks)], rows)


def plot(plans):
    """Microseconds over ranks, both logarithmic."""
    width, height, left, top = 300, 220, 60, 60
    by_name = {plan["operation"]: plan for plan in plans}
    parts = []
    low, high = 0.0, 5.0  # decades of microseconds
    total = left + len(LINKS) * (width + 40)

    def place(num_ranks, value, begin):
        x = begin + width * math.log2(num_ranks / 2) / math.log2(RANKS[-1] / 2)
        y = top + height * (1 - (math.log10(value * 1e6) - low) / (high - low))
        return x, y

    curves = [(OPERATION, 0), ("temperature", 1), (TOP_P, 2), ("gathering", 3)]
    for i, link in enumerate(LINKS):
        begin = left + i * (width + 40)
        parts.append(text(begin, top - 12, link, weight="bold"))
        for decade in range(int(low), int(high) + 1):
            _, y = place(2, 10**decade * 1e-6, begin)
            parts.append(line(begin, y, begin + width, y))
            if i == 0:
                parts.append(text(begin - 6, y + 4, f"{10**decade:,} µs", anchor="end"))
        for num_ranks in (2, 8, 72, 1024):
            x, _ = place(num_ranks, 1e-6, begin)
            parts.append(text(x, top + height + 18, str(num_ranks), anchor="middle"))
        for name, color in curves:
            points = []
            for num_ranks in RANKS:
                if name == "gathering":
                    sent = 4 * plans[0]["rows"] * plans[0]["cols"] / num_ranks
                    value = seconds(link, num_ranks, 1, sent)
                else:
                    value = seconds(link, num_ranks, by_name[name]["exchanges"],
                                    by_name[name]["sent_bytes"])
                points.append("{:.1f},{:.1f}".format(*place(num_ranks, value, begin)))
            parts.append(f'<polyline points="{" ".join(points)}" fill="none" '
                         f'stroke="{MARKS[color][0]}" stroke-width="2"/>')
    for i, (name, color) in enumerate(curves):
        x = left + i * 200
        parts.append(f'<rect x="{x}" y="{top + height + 36}" width="12" height="12" '
                     f'fill="{MARKS[color][0]}"/>')
        parts.append(text(x + 18, top + height + 46, name))
    title = text(left, 26, f"Exchanges of a step over ranks: {plans[0]['rows']} rows of "
                 f"{plans[0]['cols']:,} columns, modelled", weight="bold")
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {total} {top + height + 66}" '
            f'font-family="sans-serif" font-size="12" fill="{INK}">\n'
            f'<rect width="{total}" height="{top + height + 66}" rx="8" fill="{CARD}"/>\n'
            + "\n".join([title, *parts]) + "\n</svg>\n")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("results", type=pathlib.Path)
    parser.add_argument("document", type=pathlib.Path)
    parser.add_argument("plot", type=pathlib.Path)
    parser.add_argument("--check", action="store_true")
    args = parser.parse_args()
    cells = [json.loads(content) for content in args.results.read_text().splitlines()]
    plans = [cell for cell in cells if "shards_us" not in cell]
    measured = [cell for cell in cells if "shards_us" in cell]
    document = args.document.read_text()
    for name, part in (("plan", plan_table(plans)), ("measured", measured_table(measured, plans))):
        marks = re.compile(f"(<!-- shards: {name} -->\n).*?(<!-- end -->)", re.S)
        if not marks.search(document):
            sys.exit(f"{args.document} has no mark of {name}")
        document = marks.sub(lambda found, part=part: found.group(1) + part + "\n" + found.group(2),
                              document)
    outputs = {args.document: document, args.plot: plot(plans)}
    for path, content in outputs.items():
        if not args.check:
            path.write_text(content)
        elif not path.exists() or path.read_text() != content:
            sys.exit(f"{path} is not what {args.results} gives")


main()
