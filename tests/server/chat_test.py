"""Chats of the program sampler-server: prompts by a model's template, answers, and errors.

usage: chat_test.py SAMPLER_SERVER MODEL_DIR
"""

import concurrent.futures
import contextlib
import http.client
import json
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

MODEL = pathlib.Path(sys.argv.pop(2))
PROGRAM = sys.argv.pop(1)
TIMEOUT = 60  # seconds, of anything that is waited for

if subprocess.run(["python3", "-I", "-c", "import jinja2"], capture_output=True, check=False).returncode:
    print("skipped: no Jinja2 (Debian: python3-jinja2)")
    sys.exit(77)

# Trimmed blocks, loop controls, an undefined variable, a function, a filter, a refusal, a tag of transformers'.
TEMPLATE = """\
{% for message in messages %}
{% if message.role == 'never' %}{% continue %}{% endif %}
{% if message['role'] not in ['system', 'user', 'assistant'] %}
{{ raise_exception('there is no role ' + message.role) }}
{% endif %}
{% if message.content == 'for ever' %}{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}{% endif %}
<{{ message.role }}{{ ' ' + message.name if message.name else '' }}>
{%- generation %}{{ message['content'] | trim }}{{ eos_token }}{% endgeneration %}

{% endfor %}
{% if tools %}{{ tools | tojson }}{% endif %}
{% if add_generation_prompt %}<assistant>{% endif %}"""


def prompt_of(*messages, end="</s>", asks=True):
    """What the template makes of pairs of a role and a content."""
    return "".join(f"<{role}>{text}{end}\n" for role, text in messages) + ("<assistant>" if asks else "")


class Server:
    def __init__(self, model, *options):
        self.process = subprocess.Popen([PROGRAM, "--model", model, "--port", "0", *map(str, options)],
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        line = self.process.stdout.readline()
        assert line, self.process.stderr.read()
        self.port = int(re.search(r":(\d+)\n", line)[1])

    def post(self, path, request):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=TIMEOUT)
        with contextlib.closing(connection):
            connection.request("POST", path, json.dumps(request))
            response = connection.getresponse()
            return response.status, response.read().decode()

    def chat(self, *messages, **members):
        pairs = [{"role": role, "content": content} for role, content in messages]
        status, answer = self.post("/v1/chat/completions",
                                   {"messages": pairs, "seed": 1, "max_tokens": 8, **members})
        return status, answer if members.get("stream") else json.loads(answer)

    def texts(self, prompt, **members):
        """What /v1/completions gives for a prompt."""
        status, answer = self.post("/v1/completions",
                                   {"prompt": prompt, "seed": 1, "max_tokens": 8, **members})
        assert status == 200, answer
        return [choice["text"] for choice in json.loads(answer)["choices"]]

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        with self.process:
            return self.process.wait(TIMEOUT)


class Chat(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp())
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        for file in MODEL.iterdir():
            (cls.folder / file.name).symlink_to(file.resolve())
        cls.write_config(TEMPLATE)
        cls.server = Server(cls.folder, "--name", "target")
        cls.addClassCleanup(cls.server.end)

    @classmethod
    def write_config(cls, template):
        (cls.folder / "tokenizer_config.json").write_text(
            json.dumps({"chat_template": template, "eos_token": {"content": "</s>"}}))

    def expect(self, prompt, answer, **members):
        status, chat = answer
        self.assertEqual(status, 200, chat)
        self.assertEqual([choice["message"]["content"] for choice in chat["choices"]],
                         self.server.texts(prompt, **members))
        return chat

    def test_a_chat_is_the_text_after_its_prompt(self):
        messages = [("system", "Be brief."), ("user", " Who is there? "), ("assistant", "Romeo."),
                    ("user", "naïve ☃")]
        prompt = prompt_of(*((role, text.strip()) for role, text in messages))
        chat = self.expect(prompt, self.server.chat(*messages, model="target", n=2, temperature=0.8,
                                                    top_p=0.9, frequency_penalty=0.5),
                           n=2, temperature=0.8, top_p=0.9, frequency_penalty=0.5)
        self.assertEqual(chat["object"], "chat.completion")
        self.assertTrue(chat["id"].startswith("chatcmpl-"))
        self.assertEqual([choice["message"]["role"] for choice in chat["choices"]], ["assistant"] * 2)
        self.assertEqual([choice["logprobs"] for choice in chat["choices"]], [None] * 2)
        self.assertEqual(chat["usage"]["completion_tokens"], 16)

    def test_contents_may_be_parts_and_speakers_have_names(self):
        parts = [{"type": "text", "text": "Who is"}, {"type": "text", "text": " there?"}]
        self.expect(prompt_of(("user", "Who is there?")), self.server.chat(("user", parts)))
        status, answer = self.server.post("/v1/chat/completions", {
            "messages": [{"role": "user", "name": "Juliet", "content": "O"}], "seed": 1, "max_tokens": 8})
        self.expect("<user Juliet>O</s>\n<assistant>", (status, json.loads(answer)))

    def test_the_template_gets_variables(self):
        answer = self.server.chat(("user", "a"), chat_template_kwargs={
            "add_generation_prompt": False, "tools": [{"type": "é", "function": {"name": 1, "a": 2}}],
            "messages": []})
        tools = '[{"type": "é", "function": {"name": 1, "a": 2}}]'  # in their own order
        self.expect(prompt_of(("user", "a"), asks=False) + tools, answer)

    def test_without_a_number_the_context_is_filled(self):
        status, chat = self.server.chat(("user", "a"), max_tokens=None, logit_bias={"2047": -100})
        self.assertEqual(status, 200, chat)
        self.assertEqual(chat["usage"]["total_tokens"], 192)
        status, chat = self.server.chat(("user", "a"), max_completion_tokens=3)
        self.assertEqual(chat["usage"]["completion_tokens"], 3)

    def test_a_stream_has_the_same_text(self):
        for usage in (False, True):
            options = {"stream_options": {"include_usage": True}} if usage else {}
            status, content = self.server.chat(("user", "a"), n=2, stream=True, **options)
            self.assertEqual(status, 200, content)
            *chunks, end = [event[len("data: "):] for event in content[:-2].split("\n\n")]
            self.assertEqual(end, "[DONE]")
            chunks = [json.loads(chunk) for chunk in chunks]
            self.assertEqual({chunk["object"] for chunk in chunks}, {"chat.completion.chunk"})
            if usage:
                self.assertEqual(chunks.pop()["usage"]["completion_tokens"], 16)
            texts, reasons = ["", ""], [None, None]
            for chunk in chunks:
                (choice,) = chunk["choices"]
                texts[choice["index"]] += choice["delta"]["content"]
                reasons[choice["index"]] = choice["finish_reason"]
            self.assertEqual(texts, self.server.texts(prompt_of(("user", "a")), n=2))
            self.assertEqual(reasons, ["length"] * 2)

    def test_logprobs(self):
        status, chat = self.server.chat(("user", "a"), logprobs=True, top_logprobs=3)
        self.assertEqual(status, 200, chat)
        (choice,) = chat["choices"]
        tokens = choice["logprobs"]["content"]
        self.assertEqual(b"".join(bytes(token["bytes"]) for token in tokens).decode(),
                         choice["message"]["content"])
        for token in tokens:
            best = [one["logprob"] for one in token["top_logprobs"]]
            self.assertEqual(len(best), 3)
            self.assertEqual(best, sorted(best, reverse=True))
            self.assertLessEqual(token["logprob"], best[0])

    def test_what_is_refused(self):
        for name, *values in (
            ("messages", None, [], "a", {}, ["a"], [{}], [{"role": "user"}], [{"content": "a"}],
             [{"role": 5, "content": "a"}], [{"role": "user", "content": 5}],
             [{"role": "user", "content": None}], [{"role": "user", "content": [{"type": "image_url"}]}],
             [{"role": "user", "content": "a", "tool_calls": [{}]}],
             [{"role": "nobody", "content": "a"}], [{"role": "user", "content": "a " * 300}]),
            ("max_tokens", 0, 192), ("max_completion_tokens", 0, "5"), ("top_logprobs", 6, 2),
            ("logprobs", 1), ("response_format", {"type": "json_object"}, "text"),
            ("chat_template_kwargs", []), ("tools", [{}]), ("prompt", "a"), ("best_of", 2),
            ("temperature", 3), ("stream_options", {}),
        ):
            for value in values:
                with self.subTest(name=name, value=value):
                    status, answer = self.server.post("/v1/chat/completions", {
                        "messages": [{"role": "user", "content": "a"}], name: value})
                    error = json.loads(answer)["error"]
                    self.assertEqual((status, error["param"]), (400, name), error)
        _, chat = self.server.chat(("nobody", "a"))
        self.assertEqual(chat["error"]["message"], "the chat template says: there is no role nobody")
        status, chat = self.server.chat(("user", "a"), response_format={"type": "text"})
        self.assertEqual(status, 200, chat)
        status, chat = self.server.chat(("user", "a"), model="other")
        self.assertEqual((status, chat["error"]["param"]), (404, "model"))

    def test_a_template_that_does_not_end_is_given_up(self):
        start = time.monotonic()
        status, chat = self.server.chat(("user", "for ever"))
        self.assertEqual((status, chat["error"]["message"]),
                         (500, "the chat template took more than 2 seconds"))
        self.assertLess(time.monotonic() - start, 30)
        self.expect(prompt_of(("user", "a")), self.server.chat(("user", "a")))

    def test_templates_come_from_three_places(self):
        given, own = self.folder / "given.jinja", self.folder / "chat_template.jinja"
        given.write_text("given")
        own.write_text("own")
        self.addCleanup(self.write_config, TEMPLATE)
        self.write_config([{"name": "rag", "template": "rag"}, {"name": "default", "template": "named"}])
        for prompt in ("given", "own", "named"):
            if prompt == "named":
                own.unlink()
            server = Server(self.folder, *(["--chat-template", given] if prompt == "given" else []))
            status, chat = server.chat(("user", "a"))
            self.assertEqual(server.end(), 0)
            self.assertEqual(status, 200, chat)
            self.assertEqual([chat["choices"][0]["message"]["content"]], self.server.texts(prompt))

    def test_a_model_without_a_template_has_no_chats(self):
        server = Server(MODEL)
        status, chat = server.chat(("user", "a"))
        self.assertEqual(server.end(), 0)
        self.assertEqual((status, chat["error"]["message"]),
                         (404, "the model has no chat template; --chat-template names one"))

    def test_sigterm_lets_a_chat_end_whose_prompt_is_being_made(self):
        server = Server(self.folder, "--name", "target")
        with concurrent.futures.ThreadPoolExecutor(2) as threads:
            stuck = threads.submit(server.chat, ("user", "for ever"))
            time.sleep(0.3)
            later = threads.submit(server.chat, ("user", "a"), temperature=0)
            time.sleep(0.3)
            self.assertEqual(server.end(), 0)
            self.assertEqual(stuck.result()[0], 500)
            status, chat = later.result()
        self.expect(prompt_of(("user", "a")), (status, chat), temperature=0)

    def test_a_model_whose_own_template_is_none_has_no_chats(self):
        self.addCleanup(self.write_config, TEMPLATE)
        self.write_config("{% for %}")
        server = Server(self.folder)
        status, chat = server.chat(("user", "a"))
        self.assertEqual(server.end(), 0)
        self.assertEqual(status, 404)
        self.assertIn("the chat template needs", chat["error"]["message"])

    def test_a_given_template_that_is_none_is_told_at_the_start(self):
        wrong = self.folder / "wrong.jinja"
        wrong.write_text("{% for %}")
        run = subprocess.run([PROGRAM, "--model", MODEL, "--port", "0", "--chat-template", wrong],
                             capture_output=True, text=True, timeout=TIMEOUT, check=False)
        self.assertEqual(run.returncode, 1)
        self.assertIn("the chat template", run.stderr)


if __name__ == "__main__":
    unittest.main()
