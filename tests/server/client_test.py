"""The program sampler-server as the official client of the API, PyPI's openai, meets it.

usage: client_test.py SAMPLER_SERVER MODEL_DIR
"""

import re
import subprocess
import sys
import tempfile
import unittest

try:
    import openai
except ImportError:
    print("skipped: no openai, as PyPI has it")
    sys.exit(77)

MODEL = sys.argv.pop(2)
PROGRAM = sys.argv.pop(1)
REQUEST = {"model": "target", "prompt": "ROMEO:", "seed": 1, "max_tokens": 8}


class Client(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.template = tempfile.NamedTemporaryFile("w", suffix=".jinja")
        cls.addClassCleanup(cls.template.close)
        cls.template.write("{% for one in messages %}{{ one.role }}: {{ one.content }}\n{% endfor %}")
        cls.template.flush()
        has_chats = subprocess.run(["python3", "-I", "-c", "import jinja2"], capture_output=True,
                                   check=False).returncode == 0
        options = ["--chat-template", cls.template.name] if has_chats else []
        cls.process = subprocess.Popen([PROGRAM, "--model", MODEL, "--port", "0", *options],
                                       stdout=subprocess.PIPE, text=True)
        cls.addClassCleanup(cls.process.stdout.close)
        cls.addClassCleanup(cls.process.wait)
        cls.addClassCleanup(cls.process.kill)
        port = re.search(r":(\d+)\n", cls.process.stdout.readline())[1]
        cls.client = openai.OpenAI(base_url=f"http://127.0.0.1:{port}/v1", api_key="none",
                                   max_retries=0)

    def create(self, **members):
        return self.client.completions.create(**{**REQUEST, **members})

    def test_models(self):
        self.assertEqual([model.id for model in self.client.models.list()], ["target"])

    def test_a_text(self):
        answer = self.create(n=2, logprobs=1, stop=["zzz"], user="somebody", logit_bias={"11": -100},
                             presence_penalty=0.5, frequency_penalty=0.5, top_p=0.9, temperature=0.8,
                             extra_body={"top_k": 50, "min_p": 0.01})
        self.assertEqual([choice.index for choice in answer.choices], [0, 1])
        for choice in answer.choices:
            self.assertIn(choice.finish_reason, ("stop", "length"))
            self.assertEqual(len(choice.logprobs.tokens), len(choice.logprobs.token_logprobs))
        self.assertEqual(answer.usage.total_tokens,
                         answer.usage.prompt_tokens + answer.usage.completion_tokens)

    def test_prompts(self):
        texts = [choice.text for choice in self.create(prompt=["ROMEO:", [40, 41]]).choices]
        self.assertEqual(texts, [self.create().choices[0].text,
                                 self.create(prompt=[40, 41]).choices[0].text])

    def test_a_stream(self):
        whole = self.create()
        *events, last = self.create(stream=True, stream_options={"include_usage": True})
        self.assertEqual("".join(event.choices[0].text for event in events), whole.choices[0].text)
        self.assertEqual(events[-1].choices[0].finish_reason, whole.choices[0].finish_reason)
        self.assertEqual((last.choices, last.usage), ([], whole.usage))

    def test_the_best_of_several_behind_its_prompt(self):
        (choice,) = self.create(best_of=4, echo=True).choices
        self.assertTrue(choice.text.startswith("ROMEO:"))

    def test_chats(self):
        request = {"model": "target", "messages": [{"role": "user", "content": "Who is there?"}],
                   "seed": 1, "max_completion_tokens": 8, "logprobs": True, "top_logprobs": 2}
        try:
            answer = self.client.chat.completions.create(**request)
        except openai.NotFoundError as error:
            self.skipTest(str(error))
        (choice,) = answer.choices
        self.assertEqual((choice.message.role, choice.finish_reason), ("assistant", "length"))
        self.assertEqual(choice.message.content,
                         self.create(prompt="user: Who is there?\n").choices[0].text)
        self.assertEqual([len(token.top_logprobs) for token in choice.logprobs.content], [2] * 8)
        events = self.client.chat.completions.create(stream=True, **request)
        self.assertEqual("".join(event.choices[0].delta.content for event in events),
                         choice.message.content)
        with self.assertRaises(openai.BadRequestError) as raised:
            self.client.chat.completions.create(**{**request, "messages": []})
        self.assertEqual(raised.exception.param, "messages")

    def test_an_error(self):
        with self.assertRaises(openai.BadRequestError) as raised:
            self.create(temperature=3)
        self.assertEqual(raised.exception.param, "temperature")
        self.assertIn("it must be a number in [0, 2]", str(raised.exception))
        with self.assertRaises(openai.NotFoundError):
            self.create(model="other")


if __name__ == "__main__":
    unittest.main()
