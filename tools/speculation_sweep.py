#!/usr/bin/env python3
"""Measures each source of drafts on a model: what is kept, tokens a call of the target, time a token.

usage: speculation_sweep.py GENERATE MODEL DRAFTER RESULTS.jsonl [--rounds N] [--only-table]

Runs `generate --json` on one core for each drafter (a model, counted n-grams, prompt lookup) and each
rule of gamma, sampled and greedy. Each run goes in turn with runs without drafts, and the sweep goes
over all drafters again in each round, with other seeds, so that what else the machine does meets all
of them alike; times are those in which the program ran. Prints a table of
ratios; docs/decoding.md has some of it. With --only-table it prints that of results which are there.

Rows: "known" is stop_if_unknown, "filler" filler_top_k, "count" and "share" ngram_least_count and
ngram_least_share, "lookup of 3 or more" prompt lookup with min_match 3, "probability"
least_draft_probability, "trees of 2" draft_top_k 2. Columns: "kept" is the share of the drafts that
became text; drafts and tokens are for each call of the target; drafter, target and rest are times of
a round in calls of the target for one token; time and speed-up are over runs without drafts.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys

from bench_report import Record, ReportError, table

PROMPTS = ("ROMEO:", "Once upon a time", "KING RICHARD III:\nNow is the winter of our")
SAMPLINGS = {"greedy": ["--greedy"],
             "T 0.8, top-p 0.95": ["--temperature", "0.8", "--top-p", "0.95"]}  # fmt: skip
NGRAM = ["--mode", "ngram"]
LENGTH = 150


def drafters(drafter):
    """Name of a row: options of generate."""
    model = ["--mode", "speculative", "--draft", drafter]
    rows = {f"model, gamma {g}": [*model, "--gamma", str(g)] for g in (1, 2, 3, 4, 6, 8)}
    rows["model, entropy, gamma_max 8"] = [*model, "--adaptive", "--gamma-max", "8"]
    rows["model, measured, at most 8"] = [*model, "--measured", "--gamma", "8"]
    for least in ("0.3", "0.6"):
        stop = [*model, "--gamma", "8", "--least-draft-probability", least]
        rows[f"model, gamma 8, probability {least}"] = stop
        rows[f"model, measured, at most 8, probability {least}"] = [*stop, "--measured"]
    for gamma in (4, 8):
        rows[f"model, trees of 2, gamma {gamma}"] = [
            *model, "--gamma", str(gamma), "--draft-top-k", "2"]
    for gamma in (2, 4):
        rows[f"n-grams, gamma {gamma}"] = [*NGRAM, "--gamma", str(gamma)]
    known = [*NGRAM, "--stop-if-unknown"]
    rows["n-grams, gamma 4, known"] = [*known, "--gamma", "4"]
    rows["n-grams, gamma 4, known, filler 0"] = [*known, "--gamma", "4", "--filler-top-k", "0"]
    rows["n-grams, gamma 4, filler 0, count 2"] = [
        *NGRAM, "--gamma", "4", "--filler-top-k", "0", "--ngram-least-count", "2"]
    rows["n-grams, gamma 4, filler 0, share 0.5"] = [
        *NGRAM, "--gamma", "4", "--filler-top-k", "0", "--ngram-least-share", "0.5"]
    rows["n-grams, measured, at most 4"] = [*NGRAM, "--measured", "--gamma", "4"]
    lookup = [*NGRAM, "--lookup", "--stop-if-unknown"]
    rows["lookup, gamma 4"] = [*lookup, "--gamma", "4"]
    rows["lookup of 2 or more, gamma 4"] = [*lookup, "--gamma", "4", "--lookup-min-match", "2"]
    rows["lookup of 3 or more, gamma 4"] = [*lookup, "--gamma", "4", "--lookup-min-match", "3"]
    rows["lookup, measured, at most 4"] = [*lookup, "--measured", "--gamma", "4"]
    return rows


def sweep(arguments):
    arguments.results.write_text("", encoding="utf-8")
    line = arguments.results.with_suffix(".line")
    with arguments.results.open("a", encoding="utf-8") as results:
        for number in range(arguments.rounds):
            for sampling, sampled in SAMPLINGS.items():
                for name, options in drafters(arguments.drafter).items():
                    for prompt in PROMPTS:
                        line.unlink(missing_ok=True)
                        subprocess.run(
                            [arguments.generate, "--model", arguments.model, *options, *sampled,
                             "--prompt", prompt, "--length", str(LENGTH), "--end-ids", "none", "--cpu-times",
                             "--repeats", "3", "--json", line, *(
                                 [] if "--greedy" in sampled else ["--seed", str(10 * number)])],
                            check=True, capture_output=True)  # fmt: skip
                        values = json.loads(line.read_text(encoding="utf-8"))
                        json.dump({"row": name, "sampling": sampling, **values}, results)
                        results.write("\n")
    line.unlink(missing_ok=True)


def read(path):
    """Sampling: row: its records."""
    results = {}
    for i, content in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        place = f"{path}:{i}"
        try:
            record = Record(json.loads(content), place)
        except ValueError as error:
            raise ReportError(f"{place} is not JSON: {error}") from error
        rows = results.setdefault(record.text("sampling"), {})
        rows.setdefault(record.text("row"), []).append(record)
    if not results:
        raise ReportError(f"{path} has no line")
    return results


def costs_of(record):
    """A round's costs in calls of the target for one token: the drafter, the target, the rest."""
    runs, plain = record.record("all_runs"), record.record("all_autoregressive_runs")
    call = plain.time("target_seconds") / plain.integer("target_forwards")
    target, drafter = runs.time("target_seconds"), runs.values.get("drafter_seconds", 0)
    rest = runs.time("seconds") - target - drafter
    return [seconds / runs.integer("rounds") / call for seconds in (drafter, target, rest)]


def row_of(name, records):
    runs = [record.record("all_runs") for record in records]
    drafted = sum(run.integer("drafted") for run in runs)
    tokens = sum(run.integer("new_tokens") for run in runs)
    calls = sum(run.integer("target_forwards") for run in runs)
    kept = sum(run.integer("accepted") for run in runs)
    drafter, target, rest = map(statistics.median, zip(*map(costs_of, records)))
    speed = statistics.median(record.time("speed_up") for record in records)
    return [name, f"{100 * kept / drafted:.0f} %" if drafted else "none", f"{drafted / calls:.2f}",
            f"{tokens / calls:.2f}", f"{drafter:.2f}", f"{target:.2f}", f"{rest:.2f}",
            f"{1 / speed:.2f}", f"{speed:.2f}"]  # fmt: skip


def print_tables(path):
    header = ["drafts", "kept", "drafts a call", "tokens a call", "drafter", "target", "rest",
              "time a token", "speed-up"]  # fmt: skip
    for sampling, rows in read(path).items():
        print(f"{sampling}:\n")
        print(table(header, [row_of(name, records) for name, records in rows.items()]))
        print()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("generate", type=pathlib.Path, help="the program")
    parser.add_argument("model", type=pathlib.Path, help="folder of the target")
    parser.add_argument("drafter", type=pathlib.Path, help="folder of the drafter")
    parser.add_argument("results", type=pathlib.Path, help="lines of JSON")
    parser.add_argument("--rounds", type=int, default=3, help="sweeps over all drafters")
    parser.add_argument("--only-table", action="store_true", help="measure nothing")
    arguments = parser.parse_args()
    try:
        if not arguments.only_table:
            os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
            sweep(arguments)
        print_tables(arguments.results)
    except (ReportError, OSError) as error:
        sys.exit(f"speculation_sweep: {error}")
    except subprocess.CalledProcessError as error:
        sys.exit(f"speculation_sweep: {error.stderr.decode().strip()}")


if __name__ == "__main__":
    main()
