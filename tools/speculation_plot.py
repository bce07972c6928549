#!/usr/bin/env python3
"""Plots acceptance rate and speed-up over gamma from what `generate --mode speculative --json` wrote.

usage: speculation_plot.py RESULTS.jsonl PLOT.svg [--title TEXT] [--check]

Lines with the same gamma (with --adaptive: the same gamma_max) are one point: all their accepted
drafts over all drafts, and the median of their speed-ups over autoregressive runs. Prints a table
of what rounds with a fixed gamma cost, and what speed-up that gives; docs/decoding.md explains it.
With --check nothing is written: status 1 when the plot is not what the results give.
"""

import argparse
import json
import pathlib
import statistics
import sys

from bench_report import (
    CARD, INK, MARGIN, MARKS, TOP, Record, ReportError, line, mark, number, table, text,
)  # fmt: skip

PANEL_WIDTH, PANEL_HEIGHT, AXIS_WIDTH = 330, 220, 44
SETTINGS = ("temperature", "top_k", "top_p", "min_p", "cache", "samples", "prompts")


def read_lines(path):
    lines = []
    for i, content in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        place = f"{path}:{i}"
        try:
            lines.append(Record(json.loads(content), place))
        except ValueError as error:
            raise ReportError(f"{place} is not JSON: {error}") from error
        if lines[-1].text("mode") != "speculative":
            raise ReportError(f"{place}: mode is {lines[-1].text('mode')}; it must be speculative")
        for key in SETTINGS:
            if lines[-1].values.get(key) != lines[0].values.get(key):
                raise ReportError(f"{place}: {key} is not that of the first line")
    if not lines:
        raise ReportError(f"{path} has no line")
    return lines


def settings_of(record):
    """temperature 0.8, top-p 0.95: what is not as if it were left out."""
    values = [("temperature", None), ("top_k", 0), ("top_p", 1), ("min_p", 0)]
    return ", ".join(
        f"{key.replace('_', '-')} {record.values[key]:g}"
        for key, default in values
        if record.values.get(key, default) != default
    )


def points_of(lines):
    """Name of a series: gamma: the lines with it."""
    series = {"fixed": {}, "adaptive": {}}
    for record in lines:
        adaptive = record.values.get("adaptive") is True
        gamma = record.integer("gamma_max" if adaptive else "gamma")
        series["adaptive" if adaptive else "fixed"].setdefault(gamma, []).append(record)
    return {name: dict(sorted(points.items())) for name, points in series.items() if points}


def acceptance_percent(lines):
    drafted = sum(record.integer("drafted") for record in lines)
    return 100 * sum(record.integer("accepted") for record in lines) / max(drafted, 1)


def speed_up(lines):
    return statistics.median(record.time("speed_up") for record in lines)


# ---- Table --------------------------------------------------------------------------------------


def of_target_forward(record, seconds, count):
    """How often `seconds / count` holds a forward of the target over one token, from the run beside."""
    plain = record.record("autoregressive")
    return seconds / count * plain.integer("target_forwards") / plain.time("target_seconds")


def costs_of(record):
    """A round's costs in forwards of the target over one token: all drafts, the target, the rest."""
    rounds = record.integer("rounds")
    rest = record.time("seconds") - record.time("target_seconds") - record.time("drafter_seconds")
    seconds = (record.time("drafter_seconds"), record.time("target_seconds"), rest)
    return [of_target_forward(record, part, rounds) for part in seconds]


def table_of(points):
    """A row a gamma; the likelihood that a draft is kept is the acceptance rate of the lowest gamma."""
    kept = acceptance_percent(next(iter(points.values()))) / 100
    rows = []
    for gamma, lines in points.items():
        drafts, target, rest = map(statistics.median, zip(*map(costs_of, lines)))
        expected = sum(kept**i for i in range(gamma + 1))
        tokens = sum(r.integer("new_tokens") for r in lines) / sum(r.integer("rounds") for r in lines)
        cells = [f"{acceptance_percent(lines):.0f} %", f"{tokens:.2f}", f"{expected:.2f}"]
        cells += [f"{cost:.2f}" for cost in (drafts / gamma, target, rest)]
        cells += [f"{expected / (drafts + target + rest):.2f}", f"{speed_up(lines):.2f}"]
        rows.append([str(gamma), *cells])
    header = ["gamma", "accepted", "tokens a round", "E", "c", "v", "s", "S", "measured"]
    return table(header, rows)


# ---- Plot ---------------------------------------------------------------------------------------


def panel(left, title, values, ticks):
    """A curve a series; `values` is name: gamma: value."""
    gammas = sorted({gamma for points in values.values() for gamma in points})
    low, high = ticks[0], ticks[-1]
    bottom, width = TOP + PANEL_HEIGHT, PANEL_WIDTH

    def x_of(gamma):
        return left + width * (gamma - gammas[0] + 0.5) / (gammas[-1] - gammas[0] + 1)

    def y_of(value):
        return bottom - PANEL_HEIGHT * (value - low) / (high - low)

    parts = [text(left, TOP - 14, title)]
    for tick in ticks:
        parts += [line(left, y_of(tick), left + width, y_of(tick))]
        parts += [text(left - 8, y_of(tick) + 4.5, f"{tick:g}", "end")]
    parts += [text(x_of(gamma), bottom + 18, str(gamma), "middle") for gamma in gammas]
    parts.append(text(left + width / 2, bottom + 40, "gamma; adaptive: gamma_max", "middle"))
    for (name, points), (colour, shape) in zip(values.items(), MARKS):
        places = [(x_of(gamma), y_of(value)) for gamma, value in points.items()]
        path = "L".join(f"{x:.1f},{y:.1f}" for x, y in places)
        parts.append(f'<path d="M{path}" fill="none" stroke="{colour}" stroke-width="1.5"/>')
        for (x, y), (gamma, value) in zip(places, points.items()):
            parts.append(mark(shape, x, y, colour, f"gamma {gamma}, {name}: {number(value)}"))
    return parts


def plot(lines, title):
    series = points_of(lines)
    rates = {name: {g: acceptance_percent(l) for g, l in p.items()} for name, p in series.items()}
    ratios = {name: {g: speed_up(l) for g, l in p.items()} for name, p in series.items()}
    fastest = max(max(points.values()) for points in ratios.values())
    steps = [0.25 * i for i in range(int(fastest / 0.25) + 2)]
    left, right = MARGIN + AXIS_WIDTH, 2 * (MARGIN + AXIS_WIDTH) + PANEL_WIDTH
    width, height = right + PANEL_WIDTH + MARGIN, TOP + PANEL_HEIGHT + 56
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
        f'height="{height}" font-family="sans-serif" font-size="13" fill="{INK}">',
        f'<rect width="{width}" height="{height}" rx="6" fill="{CARD}"/>',
        text(MARGIN, 28, title, weight="bold"),
        *panel(left, "accepted drafts, %", rates, list(range(0, 101, 20))),
        *panel(right, "tokens/s over autoregressive", ratios, steps),
    ]
    legend_x = right + PANEL_WIDTH - 150
    for name, (colour, shape) in zip(series, MARKS):
        parts += [mark(shape, legend_x, 24, colour, name, "key"), text(legend_x + 12, 28.5, name)]
        legend_x += 80
    return "\n".join([*parts, "</svg>", ""])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("results", type=pathlib.Path, help="lines of JSON")
    parser.add_argument("plot", type=pathlib.Path, help="SVG to write")
    parser.add_argument("--title", default="Speculation over gamma", help="stands above the plot")
    parser.add_argument("--check", action="store_true", help="write nothing, compare")
    arguments = parser.parse_args()
    try:
        lines = read_lines(arguments.results)
        content = plot(lines, f"{arguments.title}, {settings_of(lines[0])}")
    except (ReportError, OSError) as error:
        sys.exit(f"speculation_plot: {error}")
    if not arguments.check:
        arguments.plot.write_text(content, encoding="utf-8")
        print(table_of(points_of(lines).get("fixed") or points_of(lines)["adaptive"]))
    elif not arguments.plot.exists() or arguments.plot.read_text(encoding="utf-8") != content:
        sys.exit(f"{arguments.plot} is not what {arguments.results} gives")


if __name__ == "__main__":
    main()
