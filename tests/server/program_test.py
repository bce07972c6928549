"""The program sampler-server as its clients meet it: texts, alone and beside others, and errors.

usage: program_test.py SAMPLER_SERVER GENERATE TINY_GPT2_DIR SHARE

SHARE is 1, or of how much one part is done where the server is slow, as under sanitizers.
"""

import concurrent.futures
import contextlib
import http.client
import json
import pathlib
import random
import re
import signal
import socket
import subprocess
import sys
import threading
import time
import unittest

SHARE = int(sys.argv.pop(4))
TINY_GPT2 = pathlib.Path(sys.argv.pop(3))
MODEL = TINY_GPT2 / "target"
GENERATE = sys.argv.pop(2)
PROGRAM = sys.argv.pop(1)
VOCABULARY = 2048
CONTEXT = 192
NUM_CLIENTS = 64
TIMEOUT = 60  # seconds, of anything that is waited for


class Server:
    """A running server; its options are those of the command line."""

    def __init__(self, *options):
        command = [PROGRAM, "--model", MODEL, "--port", "0", *map(str, options)]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        line = self.process.stdout.readline()
        match = re.fullmatch(r"listening on http://127\.0\.0\.1:(\d+)\n", line)
        assert match, line
        self.port = int(match[1])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.process.stdout.close()

    def connect(self):
        return contextlib.closing(
            http.client.HTTPConnection("127.0.0.1", self.port, timeout=TIMEOUT))

    def call(self, method, path, body=None):
        """Status and JSON of a call."""
        with self.connect() as connection:
            connection.request(method, path, body)
            response = connection.getresponse()
            return response.status, json.loads(response.read())

    def post(self, request):
        return self.call("POST", "/v1/completions", json.dumps(request))

    def complete(self, **request):
        """The choices of a request that must succeed, streamed or not in the same form."""
        with self.connect() as connection:
            connection.request("POST", "/v1/completions", json.dumps(request))
            response = connection.getresponse()
            content = response.read().decode()
            assert response.status == 200, content
            if not request.get("stream"):
                return json.loads(content)["choices"]
            assert response.getheader("Content-Type") == "text/event-stream"
        prompt = request["prompt"]
        num_prompts = len(prompt) if isinstance(prompt, list) and not isinstance(prompt[0], int) else 1
        return joined(content, num_prompts * (request.get("n") or 1))

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(TIMEOUT)


def post_bytes(request):
    return (b"POST /v1/completions HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n%s"
            % (len(request), request.encode()))


def events(content):
    assert content.endswith("\n\n"), content[-40:]
    for event in content[:-2].split("\n\n"):
        assert event.startswith("data: "), event
        yield event[len("data: "):]


def joined(content, num_choices):
    """The choices whose chunks a stream has."""
    *chunks, end = events(content)
    assert end == "[DONE]", end
    choices = [None] * num_choices
    for chunk in chunks:
        (part,) = json.loads(chunk)["choices"]
        choice = choices[part["index"]]
        if choice is None:
            choices[part["index"]] = part
            continue
        assert choice["finish_reason"] is None, "a chunk after the last one"
        choice["text"] += part["text"]
        choice["finish_reason"] = part["finish_reason"]
        for name, values in (part["logprobs"] or {}).items():
            choice["logprobs"][name] += values
    return choices


PROMPTS = ["ROMEO:", "Once upon a time", "", "The king is dead, and", "JULIET:\nO", "naïve – ☃ 雪",
           list(range(40, 140)), [2047], [11] * 7,
           "To be, or not to be, that is the question:\n" * 4]


NAMES = r"[A-Z][a-z]{2,7}(, [A-Z][a-z]{2,7}){1,8}\."


def some_requests():
    """One for each client. All that can be asked for is in several of them."""
    draw = random.Random(20)
    requests = []
    for index in range(NUM_CLIENTS):
        request = {
            "prompt": PROMPTS[index % len(PROMPTS)],
            "max_tokens": draw.choice([1, 2, 12, 30, 60]),
            "seed": draw.choice([index, 2**64 - 1 - index]),
            "temperature": draw.choice([0, 0.5, 0.8, 1, 1.4]),
            "stream": index % 2 == 0,
        }
        options = {
            "model": ["target"], "top_p": [0.3, 0.9], "top_k": [-1, 1, 5, 100], "min_p": [0.01, 0.2],
            "n": [2, 3, 5], "stop": ["\n", ["e", "th", "\n\n", "you"], [" the", ", "]],
            "regex": [NAMES, ".*"], "logprobs": [0, 1, 3, 5], "presence_penalty": [-0.5, 1.5],
            "frequency_penalty": [0.3, -0.7], "repetition_penalty": [1.2, 0.8],
            "logit_bias": [{"198": -100, "11": 2.5}, {"300": 5},
                           {str(i): -3.5 for i in range(300)}],
        }  # fmt: skip
        for name, values in options.items():
            if draw.random() < 0.4:
                request[name] = draw.choice(values)
        requests.append(request)
    return requests


def at_once(tasks):
    """What the tasks return, each run by a thread of its own when all have started."""
    barrier = threading.Barrier(len(tasks))

    def run(task):
        barrier.wait(TIMEOUT)
        return task()

    with concurrent.futures.ThreadPoolExecutor(len(tasks)) as threads:
        return [future.result() for future in [threads.submit(run, task) for task in tasks]]


def all_at_once(server, requests):
    return at_once([lambda request=request: server.complete(**request) for request in requests])


class ProgramTest(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        # Fewer sequences than clients, and forwards shorter than prompts.
        cls.server = cls.enterClassContext(
            Server("--sequences", 12, "--queue", NUM_CLIENTS, "--step-tokens", 50))

    @classmethod
    def enterClassContext(cls, context):  # as of Python 3.11
        cls.addClassCleanup(context.__exit__, None, None, None)
        return context.__enter__()

    def test_many_clients_get_what_each_gets_alone(self):
        requests = some_requests()
        together = all_at_once(self.server, requests)
        for index, request in enumerate(requests):
            # Also the other way of sending it gives the same.
            alone = self.server.complete(**{**request, "stream": not request["stream"]})
            self.assertEqual(together[index], alone, request)
        reasons = [choice["finish_reason"] for choices in together for choice in choices]
        self.assertEqual(set(reasons), {"length", "stop"})

    def test_drafts_and_threads_change_nothing(self):
        requests = some_requests()[:32]
        expected = all_at_once(self.server, requests)
        with Server("--sequences", 40, "--drafts", 4, "--threads", 2) as server:
            self.assertEqual(all_at_once(server, requests), expected)

    def test_the_text_is_the_one_that_generate_writes(self):
        for options, request in (
            (["--temperature", "0.8", "--top-p", "0.9"], {"temperature": 0.8, "top_p": 0.9}),
            (["--top-k", "20", "--min-p", "0.02"], {"top_k": 20, "min_p": 0.02}),
            (["--greedy"], {"temperature": 0}),
        ):
            run = subprocess.run(
                [GENERATE, "--model", MODEL, "--prompt", "ROMEO:", "--length", "50", "--seed", "9",
                 *options], capture_output=True, text=True, check=True)  # fmt: skip
            (choice,) = self.server.complete(prompt="ROMEO:", max_tokens=50, seed=9, **request)
            self.assertEqual("ROMEO:" + choice["text"] + "\n", run.stdout)

    def test_choices_have_seeds_in_a_row(self):
        request = {"prompt": "The king", "max_tokens": 20, "logprobs": 1}
        choices = self.server.complete(**request, seed=5, n=4)
        for index, choice in enumerate(choices):
            (single,) = self.server.complete(**request, seed=5 + index)
            self.assertEqual(choice, {**single, "index": index})
        self.assertEqual(len({choice["text"] for choice in choices}), 4)

    def test_a_stop_string_ends_the_text_before_it(self):
        request = {"prompt": "ROMEO:", "max_tokens": 60, "seed": 3, "logprobs": 0}
        (whole,) = self.server.complete(**request)
        text = whole["text"]
        self.assertEqual(whole["finish_reason"], "length")
        for begin in range(0, len(text) - 5, 3 * SHARE):
            stop = text[begin:begin + 5]
            for stream in (False, True):
                (choice,) = self.server.complete(**request, stop=["no such text", stop],
                                                 stream=stream)
                self.assertEqual(choice["text"], text[:text.find(stop)])
                self.assertEqual(choice["finish_reason"], "stop")
                # The tokens go on to the one that completed the stop string.
                tokens = choice["logprobs"]["tokens"]
                self.assertIn(stop, "".join(tokens))
                self.assertNotIn(stop, "".join(tokens[:-1]))

    def test_an_end_token_ends_the_text(self):
        (choice,) = self.server.complete(prompt="ROMEO:", logit_bias={"2047": 100}, logprobs=1)
        self.assertEqual((choice["text"], choice["finish_reason"]), ("", "stop"))
        self.assertEqual(choice["logprobs"]["tokens"], ["<|endoftext|>"])

    def test_edits_and_filters_have_their_effect(self):
        request = {"prompt": "ROMEO:\nI", "max_tokens": 60, "temperature": 0}
        (plain,) = self.server.complete(**request)
        for penalty in ("presence_penalty", "frequency_penalty"):
            self.assertNotEqual(self.server.complete(**request, **{penalty: 2})[0]["text"],
                                plain["text"])
        self.assertNotEqual(self.server.complete(**request, repetition_penalty=2)[0]["text"],
                            plain["text"])
        (biased,) = self.server.complete(**request, logit_bias={"11": 100})
        self.assertEqual(len(biased["text"]), 60)
        self.assertEqual(len(set(biased["text"])), 1)
        for only_one in ({"top_k": 1}, {"top_p": 0}, {"min_p": 1}):
            sampled = {**request, "temperature": 1.5, **only_one}
            self.assertEqual(self.server.complete(**sampled)[0]["text"], plain["text"])

    def test_a_regex_is_matched(self):
        for regex in (NAMES, "yes|no", r"\d{4}-\d{2}-\d{2}", "(ab|cd){0,9}", r"^\{\"age\": [0-9]{1,3}\}$",
                      "[^a-zA-Z]{5,9}!"):
            for choice in self.server.complete(prompt="Romeo, Juliet, ", regex=regex, n=6, seed=3,
                                               max_tokens=150, temperature=1.5, stop=None):
                self.assertEqual(choice["finish_reason"], "stop")
                self.assertRegex(choice["text"], "^(" + regex + ")\\Z")
        (cut,) = self.server.complete(prompt="ROMEO:", regex="[ab]{40}", max_tokens=5)
        self.assertRegex(cut["text"], r"^[ab]{5,39}\Z")
        self.assertEqual(cut["finish_reason"], "length")

    def test_logprobs(self):
        body = {"prompt": "naïve – ☃", "max_tokens": 30, "seed": 4, "temperature": 2, "logprobs": 3}
        status, answer = self.server.post(body)
        self.assertEqual(status, 200)
        (choice,) = answer["choices"]
        logprobs = choice["logprobs"]
        self.assertEqual({len(values) for values in logprobs.values()}, {30})
        self.assertEqual(answer["usage"]["completion_tokens"], 30)
        for token, logprob, top, offset in zip(
                logprobs["tokens"], logprobs["token_logprobs"], logprobs["top_logprobs"],
                logprobs["text_offset"]):
            self.assertEqual(top[token], logprob)
            self.assertIn(len(top), (3, 4))
            values = list(top.values())
            self.assertEqual(values, sorted(values, reverse=True))
            if not token.startswith("bytes:"):
                self.assertTrue(choice["text"].startswith(token, offset))

    def test_prompts_of_a_list_get_what_each_gets_alone(self):
        request = {"n": 2, "seed": 5, "max_tokens": 9, "logprobs": 1}
        prompts = ["ROMEO:", [40, 41, 42], "", "The king"]
        alone = [choice for prompt in prompts for choice in self.server.complete(prompt=prompt, **request)]
        for index, choice in enumerate(alone):
            choice["index"] = index
        for stream in (False, True):
            self.assertEqual(self.server.complete(prompt=prompts, stream=stream, **request), alone)
        self.assertEqual(self.server.complete(prompt=["ROMEO:"], **request), alone[:2])
        _, answer = self.server.post({"prompt": prompts, **request})
        usage = answer["usage"]
        counts = [self.server.post({"prompt": prompt, **request})[1]["usage"] for prompt in prompts]
        self.assertEqual(usage, {name: sum(one[name] for one in counts) for name in usage})
        # More than can run at once, of which some wait.
        choices = self.server.complete(prompt=["a"] * 30, max_tokens=3, temperature=0)
        self.assertEqual(len(choices), 30)
        self.assertEqual(len({choice["text"] for choice in choices}), 1)

    def test_the_best_of_several(self):
        request = {"prompt": "ROMEO:", "seed": 3, "max_tokens": 12, "temperature": 1.3, "logprobs": 0}
        written = self.server.complete(n=6, **request)

        def logprob_by_token(choice):
            logprobs = choice["logprobs"]["token_logprobs"]
            return sum(logprobs) / len(logprobs)

        best = sorted(written, key=logprob_by_token, reverse=True)
        _, answer = self.server.post({"n": 2, "best_of": 6, **request})
        self.assertEqual([choice["text"] for choice in answer["choices"]],
                         [choice["text"] for choice in best[:2]])
        self.assertEqual([choice["index"] for choice in answer["choices"]], [0, 1])
        self.assertEqual(answer["usage"]["completion_tokens"],
                         sum(len(choice["logprobs"]["tokens"]) for choice in written))
        del request["logprobs"]
        _, answer = self.server.post({"best_of": 6, **request})
        self.assertEqual([(choice["text"], choice["logprobs"]) for choice in answer["choices"]],
                         [(best[0]["text"], None)])
        self.assertEqual(self.server.complete(n=2, best_of=2, **request),
                         self.server.complete(n=2, **request))

    def test_echo(self):
        for prompt, text in (("ROMEO: naïve ☃", "ROMEO: naïve ☃"), ("", ""), ([40, 41], None)):
            request = {"prompt": prompt, "n": 2, "seed": 1, "max_tokens": 8}
            plain = self.server.complete(**request)
            for stream in (False, True):
                echoed = self.server.complete(echo=True, stream=stream, **request)
                for one, other in zip(echoed, plain):
                    self.assertTrue(one["text"].endswith(other["text"]))
                    begin = one["text"][:len(one["text"]) - len(other["text"])]
                    self.assertEqual(begin, begin if text is None else text)
                    self.assertEqual(begin == "", text == "")

    def test_usage_of_a_stream(self):
        request = {"prompt": "ROMEO:", "n": 2, "seed": 1, "max_tokens": 8, "user": "somebody"}
        _, whole = self.server.post(request)
        for options in ({"include_usage": True}, {"include_usage": False}, {}, None):
            with self.server.connect() as connection:
                connection.request("POST", "/v1/completions",
                                   json.dumps({**request, "stream": True, "stream_options": options}))
                *chunks, end = events(connection.getresponse().read().decode())
            self.assertEqual(end, "[DONE]")
            chunks = [json.loads(chunk) for chunk in chunks]
            if options == {"include_usage": True}:
                last = chunks.pop()
                self.assertEqual((last["choices"], last["usage"]), ([], whole["usage"]))
                self.assertEqual({chunk["usage"] for chunk in chunks}, {None})
            else:
                self.assertFalse(any("usage" in chunk for chunk in chunks))

    def test_without_a_seed_texts_differ(self):
        request = {"prompt": "The", "max_tokens": 40}
        self.assertNotEqual(self.server.complete(**request), self.server.complete(**request))

    def test_null_is_as_if_it_were_not_there(self):
        request = {"prompt": "The king", "seed": 1}
        names = ("model", "max_tokens", "temperature", "top_p", "n", "stop", "logprobs", "stream",
                 "logit_bias", "suffix", "user")
        self.assertEqual(self.server.complete(**request, **dict.fromkeys(names)),
                         self.server.complete(**request))

    def test_requests_that_are_refused(self):
        for name, *values in (
            ("prompt", None, 5, [], [[]], ["a", 5], [[1], [VOCABULARY]], [["a"]], ["a"] * 65,
             [VOCABULARY], [-1], [1.0], "a " * 300, [1] * CONTEXT, ["a", "a " * 300]),
            ("max_tokens", 0, -1, 1.5, "5", CONTEXT, 2**63, True),
            ("n", 0, 13, "1"),
            ("seed", -1, 2**64, 0.5),
            ("temperature", -0.1, 2.1, "1", 1e400, [1]),
            ("top_p", -1, 1.01), ("min_p", -0.1, 2), ("top_k", -2, 0.5, 2**40),
            ("presence_penalty", 2.1, "0"), ("frequency_penalty", -2.1),
            ("repetition_penalty", 0, -1),
            ("stop", "", [""], [1], {}, ["a", "b", "c", "d", "e"]),
            ("logprobs", -1, 6, True),
            ("logit_bias", [], {"a": 1}, {str(VOCABULARY): 1}, {"1": 101}, {"1": "1"}, {"": 0},
             {"-1": 0}, {"01": 0}, {"99999999999": 0}, {str(i): 1 for i in range(301)}),
            ("stream", 1, "true"),
            ("echo", 1), ("suffix", "end", 1), ("best_of", 0, 13, "2"), ("messages", []), ("user", 5),
            ("regex", 5, "(", r"(a)\1", r"\bword", "(?<=a)b", "a(?=b)", "a(?!b)", "(*UTF)a", "é",
             "x" * 1001, "(a{1,100}){1,100}", "b(a{1,100}){1,100}", "a^b", r"[^\x00-\xff]"),
            ("stream_options", {"include_usage": True}, 5),
        ):  # fmt: skip
            for value in values:
                with self.subTest(name=name, value=value):
                    status, answer = self.server.post({"prompt": "a", name: value})
                    self.assertEqual(status, 400, answer)
                    error = answer["error"]
                    self.assertIn(error["param"], (name, None) if value == 1e400 else (name,))
                    self.assertEqual(error["type"], "invalid_request_error")
                    self.assertRegex(error["message"], "[a-z]")
        for name, request in (
            ("best_of", {"n": 3, "best_of": 2}), ("best_of", {"best_of": 2, "stream": True}),
            ("echo", {"echo": True, "logprobs": 0}),
            ("stream_options", {"stream": True, "stream_options": []}),
            ("include_usage", {"stream": True, "stream_options": {"include_usage": 1}}),
            ("other", {"stream": True, "stream_options": {"other": True}}),
        ):
            with self.subTest(request=request):
                status, answer = self.server.post({"prompt": "a", **request})
                self.assertEqual((status, answer["error"]["param"]), (400, name))
        for body in ("", "{", "[]", "5", '{"prompt": "a", "prompt": "b"}', '{"prompt": "\\ud800"}',
                     b'{"prompt": "\xff"}', '{"prompt": ' + "[" * 100000):
            with self.subTest(body=body[:40]):
                status, answer = self.server.call("POST", "/v1/completions", body)
                self.assertEqual((status, answer["error"]["param"]), (400, None))
        status, answer = self.server.post({"prompt": "a", "model": "gpt-5"})
        self.assertEqual((status, answer["error"]["param"]), (404, "model"))
        status, answer = self.server.post({"prompt": "a" * (1 << 20)})
        self.assertEqual((status, answer["error"]["message"]), (413, "the body is too long"))

    def test_other_paths(self):
        status, answer = self.server.call("GET", "/health")
        self.assertEqual((status, answer["status"]), (200, "ok"))
        self.assertEqual(set(answer), {"status", "running", "waiting", "tokens"})
        status, answer = self.server.call("GET", "/v1/models")
        self.assertEqual((status, [model["id"] for model in answer["data"]]), (200, ["target"]))
        for method, path in (("GET", "/v1/completions"), ("POST", "/v1/embeddings")):
            status, answer = self.server.call(method, path)
            self.assertEqual((status, answer["error"]["message"]),
                             (404, f"there is no {method} {path}"))

    def test_a_connection_serves_several_requests(self):
        with self.server.connect() as connection:
            texts = set()
            for stream in (False, True, False):
                connection.request("POST", "/v1/completions", json.dumps(
                    {"prompt": "The king", "temperature": 0, "stream": stream}))
                content = connection.getresponse().read().decode()
                choices = joined(content, 1) if stream else json.loads(content)["choices"]
                texts.add(choices[0]["text"])
        self.assertEqual(len(texts), 1)

    def test_a_full_queue_refuses(self):
        request = {"prompt": "ROMEO:", "max_tokens": 180, "seed": 1, "logit_bias": {"2047": -100}}
        with Server("--sequences", 1, "--queue", 1) as server:
            answers = at_once([lambda: server.post(request)] * NUM_CLIENTS)
            (alone,) = server.complete(**request)
        for status, answer in answers:
            if status == 200:
                self.assertEqual(answer["choices"], [alone])
            else:
                self.assertEqual((status, answer["error"]["type"]), (503, "server_error"))
        self.assertEqual({status for status, _ in answers}, {200, 503})

    def test_clients_that_leave_are_forgotten(self):
        for stream in (True, False):
            request = json.dumps({"prompt": "ROMEO:", "max_tokens": 190, "n": 2, "stream": stream,
                                  "logit_bias": {"2047": -100}})
            with self.subTest(stream=stream), Server("--sequences", 2 * NUM_CLIENTS) as server:
                for _ in range(NUM_CLIENTS):
                    with socket.create_connection(("127.0.0.1", server.port), TIMEOUT) as client:
                        client.sendall(post_bytes(request))
                        if stream:
                            client.recv(100)
                        else:
                            self.wait_for(server, lambda health: health["running"] > 0)
                # All of them are let go of, and not only when they have their 190 tokens.
                health = self.wait_for(
                    server, lambda health: health["running"] + health["waiting"] == 0)
                self.assertLess(health["tokens"], NUM_CLIENTS * 2 * 190)
                self.assertEqual(server.complete(prompt="The king", seed=1),
                                 self.server.complete(prompt="The king", seed=1))

    def wait_for(self, server, condition):
        """The server's health as soon as it meets a condition."""
        deadline = time.monotonic() + TIMEOUT
        while not condition(health := server.call("GET", "/health")[1]):
            self.assertLess(time.monotonic(), deadline)
        return health

    def test_a_client_that_leaves_the_queue_makes_room(self):
        request = {"prompt": "ROMEO:", "max_tokens": 190, "n": 64, "logit_bias": {"2047": -100}}
        with Server("--sequences", 64, "--queue", 1) as server:
            with socket.create_connection(("127.0.0.1", server.port), TIMEOUT) as runs:
                runs.sendall(post_bytes(json.dumps(request)))
                self.wait_for(server, lambda health: health["running"] == 64)
                with socket.create_connection(("127.0.0.1", server.port), TIMEOUT) as waits:
                    waits.sendall(post_bytes(json.dumps(request)))
                    self.wait_for(server, lambda health: health["waiting"] == 1)
                    self.assertEqual(server.post(request)[0], 503)
            # Neither has an answer by now.
            self.wait_for(server, lambda health: health["running"] + health["waiting"] == 0)
            self.assertEqual(server.complete(prompt="The king", seed=1),
                             self.server.complete(prompt="The king", seed=1))
            self.assertLess(server.call("GET", "/health")[1]["tokens"], 64 * 190)

    def test_sigterm_lets_requests_end(self):
        with Server() as server:
            self.assertEqual(server.stop(), 0)
        # Long enough for all of them to have come.
        num_texts = 12 // SHARE
        with Server("--sequences", 2 * num_texts, "--drain-seconds", 10 * TIMEOUT) as server:
            requests = [{"prompt": "ROMEO:", "max_tokens": 180, "seed": seed, "n": num_texts,
                         "stream": seed % 2 == 0, "logit_bias": {"2047": -100}} for seed in range(8)]
            with concurrent.futures.ThreadPoolExecutor(len(requests)) as threads:
                futures = [threads.submit(server.complete, **request) for request in requests]
                # The first ones run, the others wait, as the signal comes.
                self.wait_for(server,
                              lambda health: (health["running"], health["waiting"])
                              == (2 * num_texts, 6))
                server.process.send_signal(signal.SIGTERM)
                texts = [future.result() for future in futures]
            self.assertEqual(server.process.wait(TIMEOUT), 0)
        self.assertEqual(texts, [self.server.complete(**request) for request in requests])

    def test_a_server_that_drains_takes_no_requests(self):
        num_texts = 64 // SHARE
        request = {"prompt": "ROMEO:", "max_tokens": 190, "n": num_texts,
                   "logit_bias": {"2047": -100}}
        with Server("--sequences", num_texts, "--drain-seconds", 10 * TIMEOUT) as server, \
                concurrent.futures.ThreadPoolExecutor(64) as threads:
            runs = threads.submit(server.post, request)
            self.wait_for(server, lambda health: health["running"] == num_texts)
            server.process.send_signal(signal.SIGTERM)
            # Those that come before the signal is looked at wait as long as the first one runs.
            others, statuses = [], set()
            while not runs.done() and 503 not in statuses:
                others.append(threads.submit(server.post, {"prompt": "a", "max_tokens": 1}))
                concurrent.futures.wait(others[-1:], 0.1)
                statuses = {one.result()[0] for one in others if one.done() and not one.exception()}
            self.assertIn(503, statuses)
            self.assertEqual(runs.result()[0], 200)
            self.assertEqual(server.process.wait(TIMEOUT), 0)

    def test_it_ends_at_once_where_it_may_not_drain(self):
        request = {"prompt": "ROMEO:", "max_tokens": 180, "logit_bias": {"2047": -100}}
        for options, signals in ((["--drain-seconds", 0], [signal.SIGTERM]), ([], [signal.SIGINT]),
                                 ([], [signal.SIGTERM, signal.SIGTERM])):
            with self.subTest(signals=signals), Server("--sequences", 1, *options) as server:
                threads = concurrent.futures.ThreadPoolExecutor(16)
                futures = [threads.submit(server.post, request) for _ in range(16)]
                concurrent.futures.wait(futures, TIMEOUT, concurrent.futures.FIRST_COMPLETED)
                start = time.monotonic()
                for one in signals:
                    server.process.send_signal(one)
                    time.sleep(0.05)  # two of a kind that are pending are one
                self.assertEqual(server.process.wait(TIMEOUT), 0)
                self.assertLess(time.monotonic() - start, 10)
                threads.shutdown()
                statuses = {future.result()[0] for future in futures if not future.exception()}
                self.assertIn(503, statuses)
                self.assertLessEqual(statuses, {200, 503})

    def test_wrong_command_lines(self):
        for options, message in (
            (["--model", TINY_GPT2 / "nothing"], "sampler-server: "),
            (["--model", MODEL, "--port", "65536"], "--port"),
            (["--model", MODEL, "--port", self.server.port], "cannot listen at"),
            (["--model", MODEL, "--drafts", "4", "--step-tokens", "4"], "--step-tokens"),
            ([], "--model"),
        ):
            run = subprocess.run([PROGRAM, *map(str, options)], capture_output=True, text=True,
                                 timeout=TIMEOUT, check=False)
            self.assertNotEqual(run.returncode, 0)
            self.assertIn(message, run.stderr)


if __name__ == "__main__":
    unittest.main()
