"""Clients that mean the program sampler-server harm: what each of them may not do to it, and to the others.

usage: server_attack.py [--share N] SAMPLER_SERVER TINY_GPT2_DIR [unittest's arguments]

--share divides the numbers of clients and requests by N (default 1).
"""

import argparse
import contextlib
import gzip
import http.client
import json
import pathlib
import random
import re
import resource
import signal
import socket
import subprocess
import sys
import threading
import time
import unittest

TIMEOUT = 60  # seconds, of anything that is waited for
NO_END = {"logit_bias": {"2047": -100}}  # texts go on to max_tokens


class Server:
    def __init__(self, *options):
        command = [PROGRAM, "--model", MODEL, "--port", "0", *map(str, options)]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        self.port = int(re.search(r":(\d+)\n$", self.process.stdout.readline())[1])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.process.stdout.close()

    def open(self):
        return socket.create_connection(("127.0.0.1", self.port), TIMEOUT)

    def call(self, method, path, body=None, headers={}):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=TIMEOUT)
        with contextlib.closing(connection):
            connection.request(method, path, body, headers)
            response = connection.getresponse()
            return response.status, json.loads(response.read())

    def post(self, **request):
        return self.call("POST", "/v1/completions", json.dumps(request))

    def text(self, **request):
        status, answer = self.post(prompt="ROMEO:", seed=1, **NO_END, **request)
        assert status == 200, answer
        return answer["choices"][0]["text"]

    def memory(self):
        """MiB of the process that are not other files'."""
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(r"RssAnon:\s+(\d+) kB", status)[1]) / 1024

    def peak_memory(self):
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(r"VmHWM:\s+(\d+) kB", status)[1]) / 1024

    def seconds_to_end(self, *signals):
        begin = time.monotonic()
        for number in signals:
            self.process.send_signal(number)
            time.sleep(0.1)
        status = self.process.wait(TIMEOUT)
        assert status == 0, status
        return time.monotonic() - begin


def post_bytes(body, *lines):
    head = "\r\n".join(["POST /v1/completions HTTP/1.1", "Host: a", f"Content-Length: {len(body)}", *lines])
    return head.encode() + b"\r\n\r\n" + body


def stream_bytes(**request):
    return post_bytes(json.dumps({"prompt": "ROMEO:", "stream": True, **NO_END, **request}).encode())


class SlowClients:
    """Clients of a server that send a byte of `data` each, again and again."""

    def __init__(self, server, number, data, pause=1.5):
        self.sockets = [server.open() for _ in range(number)]
        self.data = data
        self.pause = pause
        self.is_over = threading.Event()
        self.thread = threading.Thread(target=self.run)

    def run(self):
        at = 0
        while not self.is_over.wait(self.pause if at else 0):
            for client in self.sockets:
                with contextlib.suppress(OSError):
                    client.send(self.data[at:at + 1])
            at += 1

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.is_over.set()
        self.thread.join()
        for client in self.sockets:
            client.close()


HEADER = b"POST /v1/completions HTTP/1.1\r\nHost: " + b"a" * 1000
BODY = post_bytes(b'{"prompt": "' + b"a" * 1000)


class Attacks(unittest.TestCase):
    def test_signals_end_it_whatever_slow_clients_do(self):
        for data, begin in ((HEADER, 1), (BODY, len(BODY) - 1000)):
            for number in (1, 20, of(300)):
                for options, signals in (([], [signal.SIGINT]), (["--drain-seconds", 0], [signal.SIGTERM]),
                                         ([], [signal.SIGTERM] * 2)):
                    with self.subTest(number=number, signals=signals), Server(*options) as server, \
                            SlowClients(server, number, data[begin:]) as clients:
                        if begin > 1:
                            for client in clients.sockets:
                                client.send(data[:begin])
                        time.sleep(0.2)
                        self.assertLess(server.seconds_to_end(*signals), 2)

    def test_sigterm_ends_it_while_it_streams(self):
        for size in (1, 16):
            with Server("--drain-seconds", 0) as server, contextlib.ExitStack() as stack:
                for _ in range(size):
                    client = stack.enter_context(server.open())
                    client.sendall(stream_bytes(max_tokens=180, n=2))
                    client.recv(100)
                self.assertLess(server.seconds_to_end(signal.SIGTERM), 2)

    def test_slow_clients_leave_room_for_others(self):
        with Server() as server:
            expected = server.text()
            for number in (of(150), of(500)):
                for data in (HEADER, BODY, b""):
                    with self.subTest(number=number, data=data[:80]), SlowClients(server, number, data):
                        begin = time.monotonic()
                        self.assertEqual(server.text(), expected)
                        self.assertLess(time.monotonic() - begin, 3)

    def test_a_slow_request_has_a_deadline(self):
        for data in (HEADER, BODY):
            with self.subTest(data=data[:80]), Server() as server, server.open() as client:
                client.setblocking(False)
                begin = time.monotonic()
                at = 0
                with contextlib.suppress(ConnectionError):
                    while time.monotonic() < begin + 20:
                        client.send(data[at:at + 1])
                        at += 1
                        time.sleep(0.05)
                        with contextlib.suppress(BlockingIOError):
                            if not client.recv(1000):
                                break
                self.assertLess(time.monotonic() - begin, 13)

    def test_many_connections_are_answered(self):
        with Server() as server, contextlib.ExitStack() as stack:
            expected = server.text()
            clients = [stack.enter_context(server.open()) for _ in range(of(500))]
            body = json.dumps({"prompt": "ROMEO:", "seed": 1, **NO_END}).encode()
            for client in clients:
                client.sendall(post_bytes(body, "Connection: close"))
            counts = {200: 0, 503: 0}
            for client in clients:
                answer = b""
                while data := client.recv(1 << 16):
                    answer += data
                head, content = answer.split(b"\r\n\r\n", 1)
                status = int(head.split()[1])
                counts[status] += 1
                if status == 200:
                    self.assertEqual(json.loads(content)["choices"][0]["text"], expected)
            self.assertEqual(sum(counts.values()), len(clients))
            self.assertGreater(counts[200], 0)

    def test_clients_that_leave_in_mid_stream(self):
        with Server("--sequences", 8) as server:
            expected = server.text()
            draw = random.Random(1)
            for _ in range(of(200)):
                with server.open() as client:
                    client.sendall(stream_bytes(max_tokens=180, n=draw.randint(1, 4)))
                    client.recv(draw.choice([1, 100, 2000]))
                    if draw.random() < 0.5:  # with a reset
                        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
            deadline = time.monotonic() + TIMEOUT
            while (health := server.call("GET", "/health")[1])["running"] + health["waiting"] > 0:
                self.assertLess(time.monotonic(), deadline)
            self.assertEqual(server.text(), expected)

    def test_clients_that_do_not_read(self):
        with Server() as server, contextlib.ExitStack() as stack:
            expected = server.text()
            for _ in range(of(150)):
                client = socket.socket()
                stack.enter_context(client)
                client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)
                client.connect(("127.0.0.1", server.port))
                client.sendall(stream_bytes(max_tokens=180, logprobs=5))
            begin = time.monotonic()
            deadline = begin + TIMEOUT
            while (answer := server.post(prompt="ROMEO:", seed=1, **NO_END))[0] == 503:
                self.assertLess(time.monotonic(), deadline)
            self.assertEqual(answer[1]["choices"][0]["text"], expected)
            self.assertLess(server.seconds_to_end(signal.SIGINT), 2)

    def test_bodies_take_little_memory(self):
        deep = b'{"prompt": ' + b"[" * 100000
        deep_object = b'{"prompt": ' + b'{"a":' * 100000
        million = b'{"prompt": [' + b"1," * 500000 + b"1]}"
        packed = gzip.compress(b'{"prompt": "' + b"a" * (1 << 28) + b'"}')
        many = b'{' + b",".join(b'"%d": 0' % i for i in range(90000)) + b"}"
        chunks = b"POST /v1/completions HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n" + b"100000\r\n"
        attacks = {
            "5 MB": post_bytes(b'{"prompt": "' + b"a" * 5_000_000 + b'"}'),
            "brackets": post_bytes(deep), "objects": post_bytes(deep_object), "ids": post_bytes(million),
            "members": post_bytes(many),
            "packed": post_bytes(packed, "Content-Encoding: gzip"),
            "one word": post_bytes(b'{"prompt": "' + b"a" * 1_000_000 + b'"}'),
            "one stop": post_bytes(b'{"prompt": "a", "max_tokens": 2, "stop": "' + b"a" * 1_000_000 + b'"}'),
            "parts": post_bytes(b"--x\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n" + b"a" * 1_000_000,
                                "Content-Type: multipart/form-data; boundary=x"),
            "form": post_bytes(b"a=1&" * 250_000, "Content-Type: application/x-www-form-urlencoded"),
            "chunks": chunks + (b"a" * 0x100000 + b"\r\n100000\r\n") * 30,
            "header lines": b"GET /health HTTP/1.1\r\n" + b"a: b\r\n" * 5_000_000,
            "a header line": b"GET /health HTTP/1.1\r\na: " + b"b" * 30_000_000,
            "a path": b"GET /" + b"b" * 30_000_000,
            "a long path": b"GET /" + b"b" * 8000 + b" HTTP/1.1\r\n\r\n",
            "arguments": b"GET /health?" + b"a&" * 4000 + b" HTTP/1.1\r\n\r\n",
            "ranges": b"GET /health HTTP/1.1\r\nRange: bytes=" + b"0-," * 2600 + b"0-\r\n\r\n",
            "a length": b"POST /v1/completions HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n" + b"a" * 30_000_000,
            "regexes": post_bytes(json.dumps({"prompt": "a", "regex": "(" * 999}).encode()),
        }  # fmt: skip
        with Server() as server:
            expected = server.text()
            before = server.peak_memory()
            for name, data in attacks.items():
                with self.subTest(name=name):
                    self.at_once(server, data, min(4, of(4) + 1))
                    self.assertEqual(server.text(), expected)
                    # JSON of a MiB becomes up to 40 of them.
                    self.assertLess(server.peak_memory() - before, 300)

    def at_once(self, server, data, number):
        """Sends data by several clients, which read what comes of it."""

        def run():
            with server.open() as client, contextlib.suppress(ConnectionError):
                client.sendall(data)
                client.shutdown(socket.SHUT_WR)
                while client.recv(1 << 16):
                    pass

        threads = [threading.Thread(target=run) for _ in range(number)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(TIMEOUT)
            self.assertFalse(thread.is_alive())

    def test_random_bytes(self):
        draw = random.Random(2)
        begin = post_bytes(json.dumps({"prompt": "a", "max_tokens": 2, "n": 2, "stop": ["a"], "stream": True,
                                       "regex": "(a|b){1,3}[^c]*", "logit_bias": {"1": 2}}).encode())
        with Server() as server:
            expected = server.text()
            for _ in range(of(1000)):
                data = bytearray(begin)
                for _ in range(draw.randint(1, 8)):
                    place = draw.randrange(len(data))
                    kind = draw.randrange(3)
                    if kind == 0:
                        data[place] = draw.randrange(256)
                    elif kind == 1:
                        del data[place:place + draw.randint(1, 10)]
                    else:
                        data[place:place] = bytes(draw.choices(b'{}[]":,\\0123\r\n()*+?|^$' + bytes(range(256)), k=5))
                with server.open() as client, contextlib.suppress(ConnectionError):
                    client.sendall(data)
                    client.shutdown(socket.SHUT_WR)
                    while client.recv(1 << 16):
                        pass
            self.assertEqual(server.text(), expected)

    def test_regular_expressions_that_explode(self):
        expressions = [r".*[a-z].{150}x", r"(.*[a-z]){20}.{400}", r"(a|b|ab)*c", r"((.*)*)*x", r"(x{0,20}.{0,20}){0,12}",
                       r"(.*){100}y", r".{0,500}z", r"(([a-z]*[a-y]*)*[a-x]*)*1"]
        with Server("--sequences", 64) as server:
            begin = time.monotonic()
            expected = server.text(max_tokens=4)
            usual = time.monotonic() - begin
            for expression in expressions:
                with self.subTest(expression=expression):
                    request = {"prompt": "a", "max_tokens": 180, "n": 31, "regex": expression, **NO_END}
                    with server.open() as client:
                        client.sendall(post_bytes(json.dumps(request).encode()))
                        times = []
                        for _ in range(10):
                            begin = time.monotonic()
                            self.assertEqual(server.text(max_tokens=4), expected)
                            times.append(time.monotonic() - begin)
                    self.assertLess(max(times), 0.5 + 10 * usual)
                    status, answer = server.post(**{**request, "n": 1})
                    if status != 200:  # before the first token
                        self.assertEqual((status, answer["error"]["param"]), (400, "regex"))

    def test_memory_stays_flat(self):
        draw = random.Random(3)

        def ask(server, number):
            for i in range(number):
                status, _ = server.post(prompt="ROMEO:", max_tokens=draw.choice([1, 5]), n=draw.choice([1, 3]),
                                        regex=draw.choice([None, "[a-z ]{30}"]), logprobs=draw.choice([None, 2]),
                                        stream=None, stop=draw.choice([None, "e"]))
                assert status == 200

        with Server() as server:
            ask(server, of(1000))
            before = server.memory()
            ask(server, of(5000))
            self.assertLess(server.memory() - before, 8)


def of(number):
    return max(1, number // SHARE)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--share", type=int, default=1)
    parser.add_argument("program")
    parser.add_argument("tiny_gpt2", type=pathlib.Path)
    arguments, rest = parser.parse_known_args()
    SHARE, PROGRAM, MODEL = arguments.share, arguments.program, arguments.tiny_gpt2 / "target"
    # This process holds its ends of 500 clients; the server inherits the limit.
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(4096, limits[1]), limits[1]))
    unittest.main(argv=[sys.argv[0], *rest])
