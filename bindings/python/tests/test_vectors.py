"""Replays all recorded calls and compares them bit for bit."""

import re
import unittest

import libsampler
import vectors
from support import bytes_of, sampler
from vectors import Case

# What errors name with an arrow.
POINTERS = re.compile(r"^((draft_)?(row_)?params|pipeline|reports|layout|acceptance)\.")


def each_case():
    for operation in vectors.OPERATIONS:
        for recorded in vectors.cases(operation):
            yield operation, recorded


class Vectors(unittest.TestCase):
    def check(self, case, call, **more):
        """Makes the call, and compares what it did with what is recorded."""
        recorded = case.recorded
        if recorded["status"]:
            with self.assertRaises(libsampler.Error) as raised:
                call(**case.keywords(), **more)
            self.assertEqual(raised.exception.status, recorded["status"])
            self.assertEqual(str(raised.exception), recorded["error"])
        else:
            call(**case.keywords(), **more)
        for path, output in case.outputs.items():
            self.assertEqual(bytes_of(output), case.expected(path), path)

    def test_with_the_workspace_of_the_sampler(self):
        for operation, recorded in each_case():
            with self.subTest(f"{operation}: {recorded['name']}"):
                case = Case(recorded, operation)
                with case.sampler(16, 1500) as s:
                    self.check(case, getattr(s, operation))

    def test_with_the_workspace_that_the_sampler_keeps(self):
        for operation, recorded in each_case():
            with self.subTest(f"{operation}: {recorded['name']}"):
                case = Case(recorded, operation)
                with case.sampler(0, 0) as s:
                    self.check(case, getattr(s, operation))

    def test_with_a_workspace_per_call(self):
        for operation, recorded in each_case():
            if recorded["status"]:
                continue
            with self.subTest(f"{operation}: {recorded['name']}"):
                case = Case(recorded, operation)
                with case.sampler(0, 0) as s:
                    size = getattr(s, f"{operation}_workspace_size")(**case.keywords())
                    if size:
                        with self.assertRaises(libsampler.WorkspaceTooSmall):
                            getattr(s, operation)(**case.keywords(), workspace=bytearray(size - 1))
                    self.check(case, getattr(s, operation), workspace=bytearray(size))
                    self.assertEqual(s.kept_workspace_bytes, 0)

    def test_with_outputs_that_the_call_allocates(self):
        for operation, recorded in each_case():
            if recorded["status"]:
                continue
            # Entries that no rule writes are not the same.
            strides = {"output_stride", "reports.kept_bitmask_stride"} & set(recorded["args"])
            packed = "reports.out_kept_offsets" in recorded["outputs"]
            if strides or packed:
                continue
            with self.subTest(f"{operation}: {recorded['name']}"):
                case = Case(recorded, operation, allocates=True)
                with case.sampler(16, 1500) as s:
                    result = getattr(s, operation)(**case.keywords())
                for path in case.outputs:
                    found = result
                    for name in path.split("."):
                        found = getattr(found, name.removeprefix("out_"))
                    self.assertEqual(bytes_of(found), case.expected(path), path)

    def test_arrays_that_are_too_short(self):
        for operation, recorded in each_case():
            if recorded["status"]:
                continue
            full = Case(recorded, operation)
            for path, array in {**full.inputs, **full.outputs}.items():
                if not len(array) or path == "params.stages":
                    continue
                with self.subTest(f"{operation}: {recorded['name']}: {path}"):
                    case = Case(recorded, operation)
                    case.replace(path, array[:-1])
                    with case.sampler(16, 1500) as s, \
                            self.assertRaises(libsampler.InvalidArgument) as raised:
                        getattr(s, operation)(**case.keywords())
                    what = re.escape(POINTERS.sub(r"\1->", path))
                    self.assertRegex(str(raised.exception),
                                     f"^{what} has {len(array) - 1} elements; .* needs {len(array)}$")

    def test_states(self):
        for recorded in vectors.cases("state"):
            with sampler() as s, libsampler.State(s, **recorded["options"]) as state:
                for i, call in enumerate(recorded["calls"]):
                    with self.subTest(f"{recorded['name']}: {i} {call['name']}"):
                        self.replay_on(s, state, call)

    def replay_on(self, s, state, call):
        name = call["name"]
        case = Case(call, name)
        if name == "serialize":
            data = state.serialize(call["args"].get("first_slot", 0), call["args"]["num_slots"])
            self.assertEqual(data, case.expected("out_data"))
        elif name == "deserialize":
            first_slot = call["args"].get("first_slot", 0)
            if call["status"]:
                with self.assertRaises(libsampler.Error) as raised:
                    state.deserialize(case.inputs["data"], first_slot)
                self.assertEqual(str(raised.exception), call["error"])
            else:
                count = state.deserialize(case.inputs["data"], first_slot)
                self.assertEqual(count, call["outputs"]["out_num_slots"]["data"][0])
        elif name == "sample":
            case.replace("pipeline.state", state)
            self.check(case, s.sample)
        else:
            self.check(case, getattr(state, name))

    def test_every_file_is_replayed(self):
        files = {path.stem for path in vectors.FOLDER.glob("*.json")}
        self.assertEqual(files, {*vectors.OPERATIONS, "state"})


if __name__ == "__main__":
    unittest.main()
