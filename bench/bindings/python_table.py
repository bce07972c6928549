#!/usr/bin/env python3
"""Prints the table of docs/performance.md for a file that python_peers.py has written; --check only says
whether DOCUMENT has it.

usage: python_table.py FILE [--check DOCUMENT]
"""

import argparse
import json
import pathlib
import sys

OWN = "libsampler.torch"


def table(result):
    programs = [name for name in result["results"][0]["microseconds"] if name != OWN]
    lines = [
        f"{result['processor']}, {result['isa']}, {result['threads']} threads, {result['date']}, "
        f"torch {result['torch']}, V = {result['columns']:,}:", "",
        f"| microseconds (x) | B | {OWN} | {' | '.join(programs)} |",
        "|---|--:|" + "--:|" * (len(programs) + 1)]
    for each in result["results"]:
        times = each["microseconds"]
        cells = [f"{times[name]:,.0f} ({times[name] / times[OWN]:.1f})" for name in programs]
        lines.append(f"| {each['case']} | {each['rows']} | {times[OWN]:,.0f} | {' | '.join(cells)} |")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("file", type=pathlib.Path)
    parser.add_argument("--check", type=pathlib.Path)
    arguments = parser.parse_args()
    text = table(json.loads(arguments.file.read_text(encoding="utf-8")))
    if not arguments.check:
        print(text)
    elif text not in arguments.check.read_text(encoding="utf-8"):
        sys.exit(f"{arguments.check} has not the table of {arguments.file}, which this program prints")


if __name__ == "__main__":
    main()
