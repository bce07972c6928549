"""The programs generate and sampler-server with a model that has a SentencePiece tokenizer.

usage: sentencepiece_test.py SAMPLER_SERVER GENERATE MODEL_DIR SENTENCEPIECE_TOOL

The model is that of MODEL_DIR with another tokenizer: texts make no sense, and biases choose their tokens. What they
must be is what the library decodes.
"""

import contextlib
import http.client
import json
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import unittest

TOOL = sys.argv.pop(4)
MODEL = pathlib.Path(sys.argv.pop(3))
GENERATE = sys.argv.pop(2)
PROGRAM = sys.argv.pop(1)
TIMEOUT = 60  # seconds, of anything that is waited for
BEGIN, END = 1, 2
HAS_JINJA = subprocess.run(["python3", "-I", "-c", "import jinja2"], capture_output=True, check=False).returncode == 0
TEMPLATE = "{{ bos_token }}{% for one in messages %}{{ one.content }}{{ eos_token }}{% endfor %}"


def ask_tool(*arguments):
    run = subprocess.run([TOOL, *map(str, arguments)], capture_output=True, check=True)
    return run.stdout.decode("utf-8", "replace")


class Folder:
    """A model's folder; its tokenizer is one of sentencepiece_models.h."""

    def __init__(self, test, kind, name="spiece.model"):
        folder = tempfile.TemporaryDirectory()
        test.addClassCleanup(folder.cleanup)
        self.path = pathlib.Path(folder.name)
        self.pieces = self.path / name
        (self.path / "model.safetensors").symlink_to((MODEL / "model.safetensors").resolve())
        config = json.loads((MODEL / "config.json").read_text())
        config.pop("eos_token_id", None)
        (self.path / "config.json").write_text(json.dumps(config))
        ask_tool("train", kind, config["vocab_size"], MODEL / "vocab.json", self.pieces)

    def encode(self, text):
        return [int(id) for id in ask_tool("encode", self.pieces, text).split()]

    def decode(self, ids):
        return ask_tool("decode", self.pieces, *ids)

    def text_after(self, prompt, ids):
        before, text = self.decode(prompt), self.decode(prompt + ids)
        assert text.startswith(before), (before, text)
        return text[len(before):]

    def write_config(self, **members):
        (self.path / "tokenizer_config.json").write_text(json.dumps(members))


class Server:
    def __init__(self, folder, *options):
        command = [PROGRAM, "--model", folder.path, "--port", "0", *options]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        line = self.process.stdout.readline()
        assert line, self.process.wait()
        self.port = int(re.search(r":(\d+)\n", line)[1])

    def post(self, request, path="/v1/completions"):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=TIMEOUT)
        with contextlib.closing(connection):
            connection.request("POST", path, json.dumps({"seed": 1, **request}))
            response = connection.getresponse()
            content = response.read().decode()
            assert response.status == 200, content
            return content if request.get("stream") else json.loads(content)

    def choice(self, prompt, **request):
        (choice,) = self.post({"prompt": prompt, **request})["choices"]
        return choice

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        with self.process:
            return self.process.wait(TIMEOUT)


def only(*ids):
    """A bias after which nothing but these is drawn."""
    return {str(id): 100 for id in ids}


class Texts:
    KIND = NAME = ""

    @classmethod
    def setUpClass(cls):
        cls.folder = Folder(cls, cls.KIND, cls.NAME)
        cls.server = Server(cls.folder)
        cls.addClassCleanup(cls.server.end)
        (cls.space_the,) = cls.folder.encode(" the")[-1:]
        cls.space = cls.folder.encode("the \u2603")[1]

    def test_texts_are_what_the_library_decodes(self):
        for token in (0, BEGIN, 5, 100, self.space_the, self.space, 2047):
            for prompt in ("", "a", "the king"):
                with self.subTest(token=token, prompt=prompt):
                    ids = self.folder.encode(prompt) or [BEGIN]
                    expected = self.folder.text_after(ids, [token] * 5)
                    choice = self.server.choice(prompt, logit_bias=only(token), max_tokens=5)
                    self.assertEqual(choice["text"], expected)
                    stream = self.server.post({"prompt": prompt, "logit_bias": only(token), "max_tokens": 5,
                                               "stream": True})
                    parts = [json.loads(event[6:]) for event in stream.split("\n\n")[:-2]]
                    self.assertEqual("".join(part["choices"][0]["text"] for part in parts), expected)

    def test_sampled_texts_are_those_of_generate(self):
        for prompt in ("", "the king"):
            choice = self.server.choice(prompt, max_tokens=30, temperature=0.8)
            run = subprocess.run([GENERATE, "--model", self.folder.path, "--prompt", prompt, "--seed", "1", "--length",
                                  "30", "--temperature", "0.8"], capture_output=True, text=True, check=False)
            self.assertEqual(run.stdout, prompt + choice["text"] + "\n", run.stderr)

    def test_prompts_of_ids_are_echoed_as_the_library_decodes_them(self):
        ids = [BEGIN, self.space_the, END, self.space_the, self.space_the]
        choice = self.server.choice(ids, echo=True, logit_bias=only(self.space_the), max_tokens=2)
        self.assertEqual(choice["text"], self.folder.decode(ids + [self.space_the] * 2))

    def test_the_end_piece_has_no_text_and_a_name(self):
        choice = self.server.choice("a", logit_bias=only(END), logprobs=1)
        self.assertEqual((choice["text"], choice["finish_reason"]), ("", "stop"))
        self.assertEqual(choice["logprobs"]["tokens"], ["</s>"])
        run = subprocess.run([GENERATE, "--model", self.folder.path, "--prompt", "a", "--preset", "sampler", "--params",
                              '{"forced_token_id": 2}'], capture_output=True, text=True, check=False)
        self.assertEqual(run.stdout, "a\n", run.stderr)
        self.assertIn("1 new token, ended with </s>", run.stderr)

    def test_names_of_control_pieces_are_one_token(self):
        usage = self.server.post({"prompt": "</s><s></s>", "max_tokens": 1})["usage"]
        self.assertEqual(usage["prompt_tokens"], 3)


class DroppedSpaces(Texts):
    """A tokenizer that puts a space before each text, and drops it."""

    def test_stop_strings_are_of_the_text_without_it(self):
        for stop, expected in (("the", ""), (" the", "the"), ("he the t", "t")):
            choice = self.server.choice("", logit_bias=only(self.space_the), max_tokens=9, stop=stop)
            self.assertEqual((choice["text"], choice["finish_reason"]), (expected, "stop"))
        choice = self.server.choice("a", logit_bias=only(self.space_the), max_tokens=9, stop=" the")
        self.assertEqual((choice["text"], choice["finish_reason"]), ("", "stop"))

    def test_an_expression_is_of_the_text_without_it(self):
        request = {"logit_bias": only(self.space_the), "logprobs": 1, "max_tokens": 3}
        choice = self.server.choice("", regex="the( the)*", **request)
        self.assertEqual(choice["text"], "the the the")
        self.assertEqual(choice["logprobs"]["tokens"], [" the"] * 3)
        self.assertEqual(choice["logprobs"]["text_offset"], [0, 3, 7])
        choice = self.server.choice("a", regex="( the)*", **request)
        self.assertEqual(choice["text"], " the the the")
        for prompt, regex in (("", r"[a-z]{3,5}( [a-z]{2,4}){2}"), ("a", r"( [a-z]{2,4}){3}")):
            choice = self.server.choice(prompt, regex=regex, max_tokens=60)
            self.assertRegex(choice["text"], f"^{regex}$")


class Unigram(DroppedSpaces, unittest.TestCase):
    KIND, NAME = "unigram", "spiece.model"


class Bpe(DroppedSpaces, unittest.TestCase):
    KIND, NAME = "bpe", "tokenizer.model"


class Plain(Texts, unittest.TestCase):
    KIND, NAME = "plain", "spiece.model"


class Folders(unittest.TestCase):
    def setUp(self):
        self.folder = Folder(type(self), "unigram")

    def test_prompts_begin_with_the_token_that_the_model_wants(self):
        self.folder.write_config(add_bos_token=True, bos_token="<s>", eos_token="</s>", chat_template=TEMPLATE)
        server = Server(self.folder)
        self.addCleanup(server.end)
        num_tokens = len(self.folder.encode("the king"))
        usage = server.post({"prompt": "the king", "max_tokens": 1})["usage"]
        self.assertEqual(usage["prompt_tokens"], num_tokens + 1)
        if not HAS_JINJA:
            return
        # A template has its own: <s>, and </s> after each message.
        message = {"role": "user", "content": "the king"}
        chat = server.post({"messages": [message] * 2, "max_tokens": 4, "logit_bias": {"2": -100}},
                           "/v1/chat/completions")
        self.assertEqual(chat["usage"]["prompt_tokens"], 2 * num_tokens + 3)
        texts = [server.choice(prompt, max_tokens=4, logit_bias={"2": -100})["text"]
                 for prompt in ("the king</s>the king</s>", [BEGIN, END])]
        self.assertEqual(chat["choices"][0]["message"]["content"], texts[0])

    def test_a_damaged_model_is_an_error_of_one_line(self):
        good = self.folder.pieces.read_bytes()
        for bytes_ in (b"", b"\n", good[:-9], good[:-100000], b"no model\n" * 100):
            self.folder.pieces.write_bytes(bytes_)
            for program, *options in ((PROGRAM, "--port", "0"), (GENERATE, "--prompt", "a")):
                run = subprocess.run([program, "--model", self.folder.path, *options], capture_output=True, text=True,
                                     timeout=TIMEOUT, check=False)
                self.assertEqual(run.returncode, 1)
                self.assertIn(f"{self.folder.pieces}: not a SentencePiece model, or a damaged one\n", run.stderr)


if __name__ == "__main__":
    unittest.main()
