"""Threads, forked processes, and memory."""

import gc
import os
import subprocess
import sys
import threading
import unittest

import libsampler
from libsampler import InvalidArgument, NgramStorage, Params, Reports, Session, State, token_lists
from support import Expects, floats, ints, resident_bytes, sampler

LOGITS = floats(2.0, 2.5, 1.5, -1.0, 0.0)
README_TOKENS = [2, 2, 1, 0, 1]
LONG = libsampler.Rows(floats(*((i * 7919) % 1000 / 100.0 for i in range(200_000))), num_rows=20,
                       num_cols=10_000)


def draw_readme(s, token_ids):
    for step, wanted in enumerate(README_TOKENS):
        s.top_k_top_p(LOGITS, 3, 0.95, 0.8, 1, step, token_ids)
        if token_ids[0] != wanted:
            raise AssertionError(f"step {step}: token {token_ids[0]}")


class Threads(Expects, unittest.TestCase):
    def in_threads(self, function, count=4):
        problems = []

        def run():
            try:
                function()
            except BaseException as problem:  # for the thread that waits
                problems.append(problem)

        threads = [threading.Thread(target=run) for _ in range(count)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return problems

    def test_a_sampler_for_each(self):
        def run():
            with sampler() as s:
                for _ in range(300):
                    draw_readme(s, ints(0))

        self.assertEqual(self.in_threads(run), [])

    def test_one_sampler_in_turn(self):
        lock, s = threading.Lock(), sampler()

        def run():
            for _ in range(300):
                with lock:
                    draw_readme(s, ints(0))

        self.assertEqual(self.in_threads(run), [])

    def test_one_sampler_at_once_is_an_error_and_no_crash(self):
        s = libsampler.Sampler()
        busy = "sampler is serving another call; it serves one at a time"
        outcomes = []

        def run():
            for _ in range(40):
                try:
                    s.filter(LONG)
                    outcomes.append("")
                except InvalidArgument as problem:
                    outcomes.append(str(problem))

        for _ in range(20):
            self.assertEqual(self.in_threads(run), [])
            if busy in outcomes:
                break
        self.assertEqual(set(outcomes), {"", busy})
        draw_readme(s, ints(0))

    def test_other_threads_run_during_a_call(self):
        ticks, stop = [], threading.Event()

        def tick():
            while not stop.wait(0.0002):
                ticks.append(1)

        count = 4000  # rows of output that share no work
        temperatures = floats(*(1.0 + i / count for i in range(count)))
        thread = threading.Thread(target=tick)
        thread.start()
        most = 0
        try:
            with libsampler.Sampler() as s:
                for _ in range(20):
                    before = len(ticks)
                    s.sample(LONG, row_indices=ints(*[0] * count),
                             row_params=libsampler.RowParams(temperature=temperatures))
                    most = max(most, len(ticks) - before)
                    if most > 5:
                        break
        finally:
            stop.set()
            thread.join()
        self.assertGreater(most, 5)

    def test_threads_of_the_library(self):
        with libsampler.Sampler(threads=3) as s, libsampler.Sampler() as one:
            self.assertEqual(s.sample(LONG, seed=4).token_ids, one.sample(LONG, seed=4).token_ids)


class Processes(unittest.TestCase):
    def in_child(self, function):
        child = os.fork()
        if child == 0:
            try:
                function()
                os._exit(0)
            finally:
                os._exit(1)
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

    @unittest.skipIf(sys.flags.dev_mode, "forks with threads are reported")
    def test_child_goes_on(self):
        for threads in (1, 3):
            with sampler(threads=threads) as s:
                draw_readme(s, ints(0))

                def child():
                    draw_readme(s, ints(0))
                    s.close()
                    with sampler() as own:
                        draw_readme(own, ints(0))

                self.assertEqual(self.in_child(child), 0)
                draw_readme(s, ints(0))

    def test_child_of_a_process_whose_thread_was_in_a_call(self):
        s, stop = libsampler.Sampler(), threading.Event()

        def run():
            while not stop.is_set():
                s.filter(LONG)

        thread = threading.Thread(target=run)
        thread.start()
        try:
            for _ in range(10):
                self.assertEqual(self.in_child(lambda: draw_readme(s, ints(0))), 0)
        finally:
            stop.set()
            thread.join()

    def test_interpreter_ends_with_open_handles(self):
        program = ("import libsampler\n"
                   "s = libsampler.Sampler(threads=2, log=lambda *a: None)\n"
                   "state = libsampler.State(s, num_slots=1, max_tokens=4)\n"
                   "ngrams = libsampler.NgramStorage(vocabulary_size=9)\n"
                   "session = libsampler.Session(s, max_sequences=1, max_context=4,\n"
                   "                             vocabulary_size=9)\n"
                   "s.self = None if hasattr(s, 'self') else None\n")
        program = program.rsplit("\n", 2)[0] + "\nprint('done')\n"
        run = subprocess.run([sys.executable, "-W", "error", "-c", program], capture_output=True,
                             text=True, check=False)
        self.assertEqual((run.returncode, run.stdout, run.stderr), (0, "done\n", ""))


class Memory(unittest.TestCase):
    def check(self, call, count):
        """Memory that a call leaves behind: a page for every thousand calls at most."""
        for _ in range(count // 10):
            call()
        gc.collect()
        before = resident_bytes()
        for _ in range(count):
            call()
        gc.collect()
        self.assertLess(resident_bytes() - before, 1 << 20)

    def test_calls(self):
        s, token_ids = sampler(), ints(0)
        self.check(lambda: s.top_k_top_p(LOGITS, 3, 0.95, 0.8, 1, 0, token_ids), 100_000)
        reports = Reports(out_logprobs=True, num_top_logprobs=2, out_top_token_ids=True)
        params = Params(top_k=3, repetition_penalty=1.5)
        history = token_lists([[1, 2]])
        self.check(lambda: s.sample(LOGITS, params=params, reports=reports,
                                    pipeline=libsampler.Pipeline(history=history)), 100_000)
        self.check(lambda: s.top_k_select(LOGITS, 2), 100_000)

    def test_errors(self):
        s = sampler()

        def call(error, function, *arguments, **keywords):
            try:
                function(*arguments, **keywords)
            except error:
                return
            raise AssertionError("no error")

        self.check(lambda: call(InvalidArgument, s.argmax, LOGITS, floats(0.0)), 100_000)
        self.check(lambda: call(TypeError, s.argmax, [1.0]), 20_000)
        self.check(lambda: call(InvalidArgument, s.sample, LOGITS, token_id_type=9), 20_000)
        self.check(lambda: call(TypeError, s.sample, LOGITS, nothing=9), 20_000)
        self.check(lambda: call(InvalidArgument, State, s, num_slots=0, max_tokens=1), 20_000)
        self.check(lambda: call(InvalidArgument, libsampler.Sampler, "nowhere"), 20_000)

    def test_handles(self):
        def handles():
            s = sampler(log=lambda level, line: None)
            s_state = State(s, num_slots=1, max_tokens=8)
            storage = NgramStorage(vocabulary_size=9)
            session = Session(s, max_sequences=1, max_context=8, vocabulary_size=5, max_drafts=2,
                              pipeline=libsampler.Pipeline(dense_bias=LOGITS))
            session.add(ints(1), draft_source=libsampler.DraftSource.NGRAM, ngram=storage)
            plan = session.plan()
            session.advance(plan.spans, LOGITS)
            session.get(0)
            s_state.serialize()

        self.check(handles, 3000)

    def test_cycles_are_collected(self):
        class Log:
            def __call__(self, level, line):
                pass

        log = Log()
        log.sampler = libsampler.Sampler(log=log)
        log.pipeline = libsampler.Pipeline()
        finalized = []
        import weakref
        weakref.finalize(log, finalized.append, 1)
        del log
        gc.collect()
        self.assertEqual(finalized, [1])


if __name__ == "__main__":
    unittest.main()
