"""XLA's side of custom calls without XLA: frames, and the functions that handlers call, by ctypes."""

import array
import ctypes
from ctypes import POINTER, byref, c_char_p, c_int32, c_int64, c_size_t, c_uint32, c_void_p

from libsampler import _core

DTYPES = {"u8": 6, "i32": 4, "i64": 5, "u32": 8, "u64": 9, "f16": 10, "f32": 11, "f64": 12, "bf16": 16}
INVALID_ARGUMENT, RESOURCE_EXHAUSTED, UNIMPLEMENTED, INTERNAL = 3, 8, 12, 13
EXECUTE = 3


def struct(name, *members):
    """A struct that begins with its size."""
    return type(name, (ctypes.Structure,), {"_fields_": [("struct_size", c_size_t), *members]})


HEAD = ("extensions", c_void_p)
Version = struct("Version", HEAD, ("major", c_int32), ("minor", c_int32))
Metadata = struct("Metadata", ("version", Version), ("traits", c_uint32),
                  ("state_type", c_int64))
MetadataExtension = struct("MetadataExtension", ("type", c_int32), ("next", c_void_p),
                           ("metadata", POINTER(Metadata)))
Buffer = struct("Buffer", HEAD, ("dtype", c_int32), ("data", c_void_p), ("rank", c_int64),
                ("dims", POINTER(c_int64)))
Values = struct("Values", HEAD, ("size", c_int64), ("types", POINTER(c_int32)),
                ("values", POINTER(c_void_p)))
Attributes = struct("Attributes", HEAD, ("size", c_int64), ("types", POINTER(c_int32)),
                    ("names", POINTER(c_void_p)), ("values", POINTER(c_void_p)))


class Span(ctypes.Structure):
    _fields_ = [("text", c_char_p), ("length", c_size_t)]


class Scalar(ctypes.Structure):
    _fields_ = [("dtype", c_int32), ("value", c_void_p)]


class Array(ctypes.Structure):
    _fields_ = [("dtype", c_int32), ("size", c_size_t), ("data", c_void_p)]


FUNCTIONS = {  # in the table's order; arguments after the size and extensions
    "error_create": [("message", c_char_p), ("code", c_int32)],
    "error_get_message": [],
    "error_destroy": [("error", c_void_p)],
    "handler_register": [],
    "stream_get": [("context", c_void_p), ("stream", c_void_p)],
    "type_register": [], "execution_context_get": [], "state_set": [], "state_get": [],
    "memory_allocate": [("context", c_void_p), ("size", c_size_t), ("alignment", c_size_t),
                        ("data", c_void_p)],
    "memory_free": [("context", c_void_p), ("size", c_size_t), ("data", c_void_p)],
    "thread_pool_schedule": [("context", c_void_p), ("task", ctypes.CFUNCTYPE(None, c_void_p)),
                             ("data", c_void_p)],
    "thread_pool_count": [("context", c_void_p), ("num_threads", POINTER(c_int64))],
    "future_create": [], "future_set_available": [], "future_set_error": [], "run_id_get": [],
    "device_ordinal": [("context", c_void_p), ("ordinal", c_int32)]}
ARGUMENTS = {name: struct(name, HEAD, *members) for name, members in FUNCTIONS.items()}
TYPES = {name: ctypes.CFUNCTYPE(c_void_p, POINTER(of)) for name, of in ARGUMENTS.items()}
Api = struct("Api", HEAD, ("version", Version), ("internal", c_void_p), *TYPES.items())
Frame = struct("Frame", HEAD, ("api", POINTER(Api)), ("context", c_void_p), ("stage", c_int32),
               ("arguments", Values), ("results", Values), ("attributes", Attributes))
Handler = ctypes.CFUNCTYPE(c_void_p, POINTER(Frame))

CONTEXT = 0x5A5A


def handler(name, on_cuda=False):
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = c_void_p, [ctypes.py_object, c_char_p]
    return Handler(pointer(_core._xla_handlers()[name][on_cuda], None))


class XlaError(Exception):
    def __init__(self, code, text):
        super().__init__(text)
        self.code = code


class Runtime:
    """Calls handlers. Its functions, and what they were called for, may be looked at and replaced."""

    def __init__(self, minor=3, threads=1, device=0):
        self.minor, self.threads, self.device, self.stream = minor, threads, device, None
        self.errors, self.tasks, self.memory, self.allocated = {}, [], {}, []
        self.fails = None  # the name of a function that is to fail
        self.api = Api(struct_size=ctypes.sizeof(Api))
        self.api.version = Version(ctypes.sizeof(Version), None, 0, minor or 0)
        for name, of in TYPES.items():
            if hasattr(self, name):
                setattr(self.api, name, of(self.serve(name)))

    def serve(self, name):
        def call(pointer):
            arguments = pointer.contents
            assert arguments.struct_size == ctypes.sizeof(ARGUMENTS[name])
            if hasattr(arguments, "context"):
                assert arguments.context == CONTEXT
            if self.fails == name:
                return self.new_error(INTERNAL, f"{name} fails")
            return getattr(self, name)(arguments)

        return call

    def new_error(self, code, text):
        self.errors[len(self.errors) + 1] = XlaError(code, text)
        return len(self.errors)

    def error_create(self, arguments):
        return self.new_error(arguments.code, arguments.message.decode())

    def error_destroy(self, arguments):
        self.errors[arguments.error] = None

    def stream_get(self, arguments):
        arguments.stream = self.stream

    def memory_allocate(self, arguments):
        memory = ctypes.create_string_buffer(arguments.size)
        arguments.data = ctypes.addressof(memory)
        self.memory[arguments.data] = memory
        self.allocated.append(arguments.size)

    def memory_free(self, arguments):
        assert ctypes.sizeof(self.memory.pop(arguments.data)) == arguments.size

    def thread_pool_schedule(self, arguments):
        self.tasks.append((arguments.task, arguments.data))

    def thread_pool_count(self, arguments):
        arguments.num_threads[0] = self.threads

    def device_ordinal(self, arguments):
        arguments.ordinal = self.device

    def version_told_by(self, handler):
        metadata = Metadata(struct_size=Metadata.state_type.offset, traits=9, state_type=9)
        extension = MetadataExtension(ctypes.sizeof(MetadataExtension), 1, None, ctypes.pointer(metadata))
        frame = Frame(struct_size=ctypes.sizeof(Frame))
        if self.minor is not None:
            frame.api = ctypes.pointer(self.api)
        frame.extensions = ctypes.addressof(extension)
        assert handler(byref(frame)) is None
        return metadata.version.major, metadata.version.minor, metadata.traits, metadata.state_type

    def run(self, handler, arguments, results, attributes, stage=EXECUTE):
        """Arguments and results are (dtype, shape, array); attributes str, int or bytes by name."""
        kept = []
        frame = Frame(struct_size=ctypes.sizeof(Frame), api=ctypes.pointer(self.api), context=CONTEXT,
                      stage=stage, arguments=values(arguments, kept), results=values(results, kept),
                      attributes=attributes_of(attributes, kept))
        error = handler(byref(frame))
        if error:
            raise self.errors[error]
        assert not self.memory


def keep(kept, thing):
    kept.append(thing)
    return ctypes.addressof(thing)


def values(buffers, kept):
    pointers = []
    for dtype, shape, data in buffers:
        dims = (c_int64 * len(shape))(*shape)
        address = data.buffer_info()[0] if data is not None and len(data) else None
        kept.extend([dims, data])
        pointers.append(keep(kept, Buffer(ctypes.sizeof(Buffer), None, DTYPES[dtype], address,
                                          len(shape), dims)))
    count = len(pointers)
    return Values(ctypes.sizeof(Values), None, count, (c_int32 * count)(*[1] * count),
                  (c_void_p * count)(*pointers))


def attribute(value, kept):
    """Its type and address."""
    if isinstance(value, str):
        return 4, keep(kept, Span(value.encode(), len(value)))
    if isinstance(value, int):
        return 3, keep(kept, Scalar(DTYPES["i32"], keep(kept, c_int32(value))))
    data = array.array("B", value)
    kept.append(data)
    return 1, keep(kept, Array(DTYPES["u8"], len(value), data.buffer_info()[0]))


def attributes_of(by_name, kept):
    names = [keep(kept, Span(name.encode(), len(name))) for name in sorted(by_name)]
    found = [attribute(by_name[name], kept) for name in sorted(by_name)]
    count = len(names)
    return Attributes(ctypes.sizeof(Attributes), None, count,
                      (c_int32 * count)(*[type_ for type_, _ in found]),
                      (c_void_p * count)(*names), (c_void_p * count)(*[at for _, at in found]))
