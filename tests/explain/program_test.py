"""The program sampler-explain as its user meets it: table, plot, and what it says of wrong input.

usage: program_test.py SAMPLER_EXPLAIN PROJECT_DIR
"""

import collections
import json
import math
import pathlib
import re
import struct
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

PROJECT = pathlib.Path(sys.argv.pop(2))
EXAMPLES = PROJECT / "examples"
PROGRAM = sys.argv.pop(1)

# The worked example of docs/contract.md, section 11: its row, parameters by TensorRT-LLM's names,
# which filters in that order and cuts ties, and its weights.
ROW = [2, 0.5, 2, -1, -math.inf, 1.5, 0.5, 3]
PARAMS = ["--preset", "tensorrt_llm", "--params", '{"temperature": 0.8, "top_k": 5, "top_p": 0.9}',
          "--seed", "42", "--offset", "7"]
KEPT = {7: 17592186044416, 0: 5040245309440, 2: 5040245309440, 5: 2697848684544}
FATE = {1: "removed by TOP_P", 6: "removed by TOP_K", 3: "removed by TOP_K",
        4: "without probability"}


def run(*arguments, text=None):
    return subprocess.run([PROGRAM, *map(str, arguments)], input=text, capture_output=True,
                          text=True, check=False)


def explain_row(*arguments, row=None):
    result = run("-", *arguments, text=" ".join(map(str, ROW if row is None else row)))
    assert result.returncode == 0, result.stderr
    return result.stdout


def stages_of(table):
    """By name: changed, removed, left, probability, and what is set."""
    rows = re.findall(r"^([A-Z_]+) +(\d+) +(\d+) +(\d+) +([\d.]+)  (.*)$", table, re.M)
    return {name: (*map(int, numbers[:3]), float(numbers[3]), numbers[4])
            for name, *numbers in rows}


class ProgramTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def file(self, name, text):
        path = self.folder / name
        path.write_text(text)
        return path

    def test_the_table_of_the_worked_example(self):
        weights = [math.exp(logit) for logit in ROW]
        given = [weight / sum(weights) for weight in weights]
        table = explain_row(*PARAMS)
        expected = {"TEMPERATURE": (0, 0, 7, 0, "temperature 0.8"),
                    "TOP_K": (0, 2, 5, given[3] + given[6], "top_k 5"),
                    "TOP_P": (0, 1, 4, given[1], "top_p 0.9")}
        stages = stages_of(table)
        self.assertEqual(list(stages), list(expected))
        for name, stage in stages.items():
            self.assertEqual(stage[:3] + stage[4:], expected[name][:3] + expected[name][4:])
            self.assertAlmostEqual(stage[3], expected[name][3], delta=2e-6)
        self.assertIn(f"drawn: 5, number 4 of 4 that were kept, "
                      f"probability {math.exp(float.fromhex('-0x1.35e3eap+1')):.6f} "
                      f"({math.exp(float.fromhex('-0x1.21772p+1')):.6f} as given)\n", table)
        tokens = table[table.index("  rank"):].splitlines()[1:]
        for rank, (token, line) in enumerate(zip([7, 0, 2, 5, 1, 6, 3, 4], tokens), 1):
            drawn_from = KEPT.get(token, 0) / sum(KEPT.values())
            words = line.split()
            self.assertEqual(words[:4], [f"{rank}", f"{token}", *2 * [f"{ROW[token]:.4f}"]])
            self.assertAlmostEqual(float(words[4]), given[token], delta=2e-6)
            self.assertAlmostEqual(float(words[5]), drawn_from, delta=2e-6)
            if token in FATE:
                self.assertTrue(line.endswith(FATE[token]), line)
            else:
                self.assertEqual(line.count("█"), int(drawn_from * 24 + 1 / 16), line)
            self.assertEqual(line.endswith("<- drawn"), token == 5)
        self.assertEqual(len(tokens), len(ROW))

    def test_top_is_the_number_of_tokens(self):
        self.assertEqual(explain_row("--top", "0").splitlines()[-1].split()[0], "rank")
        self.assertEqual(explain_row("--top", "3").splitlines()[-1].split()[0], "3")

    def test_parameters_come_from_a_file(self):
        path = self.file("params.json", PARAMS[3])
        self.assertEqual(explain_row(*PARAMS[:3], f"@{path}", *PARAMS[4:]), explain_row(*PARAMS))

    def test_a_seed_may_stand_among_the_parameters(self):
        params = json.dumps({**json.loads(PARAMS[3]), "seed": 42})
        self.assertEqual(explain_row(*PARAMS[:3], params, *PARAMS[6:]), explain_row(*PARAMS))

    def test_the_history_is_what_penalties_and_bad_words_see(self):
        params = ('{"repetition_penalty": 2, "frequency_penalty": 0.5, '
                  '"bad_words_token_ids": [[5, 7], [3, 2]]}')
        ids = self.file("ids", "3,0 5\n")
        for history in ["3,0,5", f"@{ids}"]:
            table = explain_row("--preset", "vllm", "--params", params, "--history", history,
                                "--prompt-length", "1")
            stages = stages_of(table)
            self.assertEqual(stages["MASK"][:3], (1, 1, 6))  # 7, for the text ends with 5
            self.assertEqual(stages["PENALTIES"][:3], (3, 0, 6))
            edited = {int(line.split()[1]): line.split()[3]
                      for line in table[table.index("  rank"):].splitlines()[1:]}
            # 0 and 5 are output: halved, then less 0.5. 3 is prompt: its repetition counts alone.
            self.assertEqual([edited[i] for i in (0, 5, 3, 7)],
                             ["0.5000", "0.2500", "-2.0000", "-inf"])

    def test_rows_of_a_model_with_the_texts_of_tokens(self):
        logits = EXAMPLES / "recorded_logits" / "logits.f16"
        tokens = (EXAMPLES / "recorded_logits" / "tokens.txt").read_text().split()
        # As recorded_logits.c draws them.
        params = ["--preset", "tensorrt_llm",
                  "--params", '{"top_k": 50, "top_p": 0.95, "temperature": 0.8, "seed": 1}',
                  "--tokenizer", EXAMPLES / "tiny_gpt2" / "target"]
        for row in (0, 17, 47):
            result = run(logits, "--cols", 2048, "--row", row, "--offset", row, *params)
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertRegex(result.stdout, rf'\ndrawn: {tokens[row]} "[^\n]+", number ')
            self.assertEqual(stages_of(result.stdout)["TOP_K"][1:3], (1998, 50))

    def test_the_plot_is_an_svg_of_the_tokens(self):
        path = self.folder / "plot.svg"
        explain_row(*PARAMS, "--svg", path)
        root = xml.etree.ElementTree.parse(path).getroot()
        name = "{http://www.w3.org/2000/svg}"
        self.assertEqual(root.tag, name + "svg")
        texts = [text.text for text in root.iter(name + "text")]
        for text in ["kept: 4", "removed by TOP_K: 2", "removed by TOP_P: 1",
                     "without probability: 1", "rank, after the edits", "probability",
                     "The row's tokens, by what removed them"]:
            self.assertIn(text, texts)
        circles = list(root.iter(name + "circle"))
        colours = collections.Counter(circle.get("fill") for circle in circles)
        # A mark for each token, and one in the legend.
        self.assertEqual(sorted(colours.values()), [2, 2, 3, 5])
        self.assertEqual(len([circle for circle in circles if circle.get("stroke")]), 1)
        marks = circles[:len(ROW)]
        heights = [float(circle.get("cy")) for circle in marks]
        self.assertEqual(heights, sorted(heights))  # there are no edits: the likeliest is the highest
        left, top, width, height = map(float, root.get("viewBox").split())
        for circle in circles:
            self.assertTrue(left <= float(circle.get("cx")) <= width)
            self.assertTrue(top <= float(circle.get("cy")) <= height)

    def test_the_page_shows_what_its_commands_give(self):
        page = (PROJECT / "docs" / "explain.md").read_text()
        blocks = re.findall(r"^```text\n\$ (.*?[^\\])\n(.*?)^```$", page, re.M | re.S)
        self.assertEqual(len(blocks), 2)
        path = self.folder / "plot.svg"
        for number, (command, expected) in enumerate(blocks):
            command = command.replace("sampler-explain", f"'{PROGRAM}'", 1)
            if number == 0:
                command += f" --svg '{path}'"
            result = subprocess.run(["bash", "-c", command], cwd=PROJECT, capture_output=True,
                                    text=True, check=False)
            self.assertEqual(result.stderr, "")
            self.assertEqual(result.stdout, expected)
        self.assertEqual(path.read_text(), (PROJECT / "docs" / "explain.svg").read_text())

    def test_a_bitmask_and_a_dense_bias_come_from_files(self):
        # Tokens 0 to 5 may be drawn; the second mask and the second bias of their files.
        mask = self.folder / "mask.u32"
        mask.write_bytes(struct.pack("<2I", 0xFFFFFFFF, 0b00111111))
        bias = self.folder / "bias.f32"
        bias.write_bytes(struct.pack("<16f", *[9] * 8, *[0] * 5, 2, 0, 0))
        table = explain_row("--bitmask", mask, "--bitmask-row", "1", "--dense-bias", bias,
                            "--dense-bias-row", "1", "--preset", "vllm", "--params",
                            '{"logit_bias": {"0": 1}}')
        stages = stages_of(table)
        self.assertEqual(list(stages), ["MASK", "BIAS"])
        self.assertEqual(stages["MASK"][:3] + stages["MASK"][4:], (2, 2, 5, "token_bitmasks (2)"))
        self.assertEqual(stages["BIAS"][:3] + stages["BIAS"][4:],
                         (2, 0, 5, "biased (1), dense_bias (1)"))
        edited = {int(line.split()[1]): line.split()[3]
                  for line in table[table.index("  rank"):].splitlines()[1:]}
        self.assertEqual([edited[i] for i in (0, 5, 2, 6, 7)],
                         ["3.0000", "3.5000", "2.0000", "-inf", "-inf"])
        self.assertEqual(stages_of(explain_row("--bitmask", mask, "--preset", "vllm"))["MASK"][0],
                         0)

    def test_guidance_comes_from_a_file(self):
        guidance = self.folder / "guidance.f32"
        guidance.write_bytes(struct.pack("<16f", *[9] * 8, *ROW[:6], ROW[6] - 1, ROW[7]))
        stages = stages_of(explain_row("--guidance", guidance, "--guidance-row", "1", "--preset",
                                       "sampler", "--params", '{"guidance_scale": 3}'))
        self.assertEqual(stages["BIAS"][:2] + stages["BIAS"][4:],
                         (1, 0, "guidance_logits (1), guidance_scale 3"))

    def test_adaptive_stages_and_their_values(self):
        # mirostat v2 keeps tokens with at least 2^-mu of the probability in the row at temperature 1.
        weights = [math.exp(logit) for logit in ROW]
        given = [weight / sum(weights) for weight in weights]
        params = ["--params", '{"mirostat": 2, "mirostat_tau": 1.5, "temperature": 1}']
        for mu in (3.0, 2.0):  # 3 is its start
            values = ["--adaptive-values", json.dumps({"mu": mu})] if mu != 3 else []
            table = explain_row(*params, *values)
            kept = sum(share >= 2**-mu for share in given)
            self.assertEqual(stages_of(table)["ADAPTIVE"][1:3], (7 - kept, kept))
            self.assertRegex(table, rf"\nmu: {mu:.4f}, then \d+\.\d+, by a surprise of ")
        table = explain_row(
            "--params", '{"samplers": ["adaptive_p"], "adaptive_target": 0.2}',
            "--adaptive-values", '{"weighted_sum": 1, "total_weight": 5}', "--svg",
            self.folder / "plot.svg")
        self.assertEqual(stages_of(table)["ADAPTIVE"][0], 7)
        self.assertIn("\nweighted sum: 1.0000, then ", table)
        self.assertIn("before ADAPTIVE changed it", (self.folder / "plot.svg").read_text())

    def test_the_librarys_own_names(self):
        table = explain_row("--preset", "sampler", "--params",
                            '{"stages": ["TOP_H", "TEMPERATURE"], "top_h": 0.4, '
                            '"temperature": 0.5}')
        stages = stages_of(table)
        self.assertEqual(list(stages), ["TOP_H", "TEMPERATURE"])
        self.assertEqual(stages["TOP_H"][4], "top_h 0.4")

    def test_wrong_input_is_named_with_its_rule(self):
        row = self.file("row", "1 2 3")
        bad_row = self.file("bad", "1 2 x3")
        no_tokenizer = EXAMPLES / "recorded_logits"
        cases = [
            ([], "LOGITS is required"),
            (["/nonexistent"], "/nonexistent: cannot be opened: No such file or directory"),
            ([bad_row], f'{bad_row}: "x3" is no number'),
            ([row, "--row", "1"], f"{row}: row 1 is not in [0, 1), the rows of 3 logits"),
            ([row, "--row=-1"], '--row: "-1" is given; it must be an integer in [0, '),
            ([row, "--cols", "2"], "has 3 logits, which are no rows of 2"),
            ([row, "--cols", "1048576"], '--cols: "1048576" is given; it must be an integer in '
                                         "[0, 1048575]"),
            ([row, "--dtype", "f8"], "--dtype: f8 not in {f32,f16,bf16,npy,text}"),
            ([row, "--dtype", "f32"], "ends within a logit"),
            ([row, "--preset", "vll"], '--preset: "vll" is given; it must be one of sampler, llama'),
            ([row, "--params", '{"top_q": 1}'], "top_q is no parameter of llama.cpp"),
            ([row, "--params", '{"top_k": 1.5}'], "top_k is 1.5; it must be an integer"),
            ([row, "--params", "{"], "--params: not valid JSON"),
            ([row, "--params", '{"top_k": 1, "top_k": 2}'], '--params: key "top_k" stands twice'),
            ([row, "--params", "@/nonexistent"], "/nonexistent: cannot be opened"),
            ([row, "--bitmask", "/nonexistent"], "/nonexistent: cannot be opened"),
            ([row, "--bitmask", self.file("mask", "1 2"), "--bitmask-row", "2"],
             "bitmask 2 is not in [0, 2)"),
            ([row, "--bitmask-row", "1"], "--bitmask-row requires --bitmask"),
            ([row, "--dense-bias", self.file("bias", "1 2")],
             "has 2 logits, which are no rows of 3"),
            ([row, "--dense-bias-row", "1"], "--dense-bias-row requires --dense-bias"),
            ([row, "--adaptive-values", '{"mux": 1}'], '--adaptive-values: "mux" is 1; there are '
                                                       "mu, weighted_sum"),
            ([row, "--adaptive-values", '{"mu": "1"}'], '--adaptive-values: "mu" is "1"; there'),
            ([row, "--adaptive-values", '{"mu": 1e40}', "--params", '{"mirostat": 2}'],
             '--adaptive-values: "mu" is 1e+40; there are mu, weighted_sum, total_weight and '
             "top_p, numbers that f32 has"),
            ([row, "--adaptive-values", '{"mu": 4.5}'],
             "--adaptive-values: mu is given; it must be so with mirostat alone"),
            ([row, "--adaptive-values", '{"top_p": 0.5}', "--params", '{"mirostat": 2}'],
             "--adaptive-values: top_p is given; it must be so with a decay of top_p alone"),
            ([row, "--adaptive-values", '{"weighted_sum": 1}', "--params",
              '{"samplers": ["adaptive_p"], "adaptive_target": 0.2}'],
             "--adaptive-values: weighted_sum is given; it must be so with adaptive-p, with both"),
            ([row, "--history", "1,a"], '--history: "a" is given; it must be an integer in '
                                        "[0, 2147483647]"),
            ([row, "--history", "@/nonexistent"], "/nonexistent: cannot be opened"),
            ([row, "--history", "1,2", "--prompt-length", "3"],
             "--prompt-length is 3; it must be at most the number of tokens in --history, 2"),
            ([row, "--seed", "-1"], '--seed: "-1" is given'),
            ([row, "--offset", "x"], '--offset: "x" is given'),
            ([row, "--top", "-1"], '--top: "-1" is given'),
            ([row, "--tokenizer", no_tokenizer], f"{no_tokenizer}: no vocab.json, spiece.model, tokenizer.model or tokenizer.json"),
            ([row, "--svg", "/nonexistent/plot.svg"], "--svg: /nonexistent/plot.svg cannot be "
                                                      "written"),
            ([row, "--bogus"], "--bogus"),
        ]  # fmt: skip
        for arguments, message in cases:
            result = run(*arguments)
            self.assertIn(message, result.stderr, arguments)
            self.assertTrue(0 < result.returncode < 128, arguments)

    def test_a_row_without_a_token_is_an_error_that_names_what_is_wrong(self):
        own = ["--preset", "sampler", "--params"]
        no_bit = self.file("mask", "0")
        cases = [
            ("-inf -inf", [], "EMPTY (there is no token to choose: every logit is -inf)"),
            ("1 2 nan", [], "INVALID_VALUE (a logit is NaN or +inf: logit 2 is nan)"),
            ("1 inf nan", [], "INVALID_VALUE (a logit is NaN or +inf: logit 1 is inf)"),
            ("1 2", [*own, '{"allowed": [2, 3]}'],
             "EMPTY (there is no token to choose: allowed has no id of the row, which are those in "
             "[0, 2))"),
            ("1 2", [*own, '{"banned": [0], "biased": {"1": false}}'],
             "EMPTY (there is no token to choose: what is set leaves none: biased, banned)"),
            ("1 2", [*own, '{"no_repeat_ngram_size": 1}', "--history", "0,1"],
             "EMPTY (there is no token to choose: what is set leaves none: no_repeat_ngram_size)"),
            ("1 2", ["--bitmask", no_bit],
             "EMPTY (there is no token to choose: what is set leaves none: token_bitmasks)"),
            ("1 2", [*own, '{"bad_words": [[1], []]}'],
             "INVALID_LIST (a list of tokens breaks its rule: bad_words has a list of 0 tokens; it "
             "must be 1 or more)"),
            ("1 2", [*own, '{"dry_multiplier": 1, "dry_breakers": [[]]}'],
             "dry_breakers has a list of 0 tokens; it must be 1 to 20)"),
            ("1 2", ["--dense-bias", self.file("bias", "0 inf")],
             "INVALID_VALUE (a logit is NaN or +inf: dense_bias 1 is inf)"),
            ("1 2", [*own, '{"forced_token_id": 2}'],
             "INVALID_PARAMETER (a number of the row breaks its rule: forced_token_id is 2; the row "
             "has ids in [0, 2))"),
        ]  # fmt: skip
        for row, arguments, reason in cases:
            result = run("-", *arguments, text=row)
            self.assertTrue(result.stderr.startswith("sampler-explain: no token: SAMPLER_ROW_"))
            self.assertIn(reason, result.stderr, arguments)
            self.assertIn(f"\n{result.stderr.removeprefix('sampler-explain: ')}", result.stdout)
            self.assertEqual(result.returncode, 1)

    def test_a_forced_token(self):
        # A list forces its entry for the next new token, one id itself, kept or not.
        params = json.dumps({"forced_token_id": [3, 7, 1], "top_k": 5})
        arguments = ["--preset", "sampler", "--params", params, "--history"]
        for prompt_length, expected in [
                (2, "forced: 3, none of the 5 that were kept, probability 0.000000 ("),
                (1, "forced: 7, number 1 of 5 that were kept, probability 0."),
                (0, "forced: 1, ")]:
            table = explain_row(*arguments, "3,0", "--prompt-length", prompt_length)
            self.assertIn(f"\n{expected}", table)
            self.assertEqual(table.count("<- forced\n"), 1)
        after = explain_row(*arguments, "3,0,1")
        self.assertNotIn("forced", after)
        self.assertIn("\ndrawn: ", after)
        always = explain_row("--preset", "sampler", "--params", '{"forced_token_id": 3}',
                             "--history", "1,2,3,4")
        self.assertIn("\nforced: 3, ", always)

    def test_output_that_cannot_be_written_is_an_error(self):
        with open("/dev/full", "w") as full:
            result = subprocess.run([PROGRAM, self.file("row", "1 2")], stdout=full,
                                    stderr=subprocess.PIPE, text=True, check=False)
        self.assertEqual(result.returncode, 1)
        self.assertEqual(result.stderr,
                         "sampler-explain: the table cannot be written to standard output\n")


unittest.main()
