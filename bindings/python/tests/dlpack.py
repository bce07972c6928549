"""Objects with DLPack around Python's own arrays, as other packages have them, made with ctypes."""

import array
import ctypes

CPU, CUDA = 1, 2
_CODES = {"f": (2, 32), "i": (0, 32), "q": (0, 64), "I": (1, 32), "B": (1, 8), "Q": (1, 64),
          "d": (2, 64)}
_api = ctypes.pythonapi
_api.PyCapsule_New.restype = ctypes.py_object
_api.PyCapsule_New.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]


class Tensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int32),
                ("device_id", ctypes.c_int32), ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8),
                ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
                ("shape", ctypes.POINTER(ctypes.c_int64)),
                ("strides", ctypes.POINTER(ctypes.c_int64)), ("byte_offset", ctypes.c_uint64)]


class Managed(ctypes.Structure):
    _fields_ = [("tensor", Tensor), ("manager", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]


class Versioned(ctypes.Structure):
    _fields_ = [("major", ctypes.c_uint32), ("minor", ctypes.c_uint32),
                ("manager", ctypes.c_void_p), ("deleter", ctypes.c_void_p),
                ("flags", ctypes.c_uint64), ("tensor", Tensor)]


class Foreign:
    """An array of another package: no buffer, but DLPack. `elements` is an array.array."""

    def __init__(self, elements, shape=None, strides=None, device=(CPU, 0), version=1, flags=0,
                 dtype=None, byte_offset=0):
        assert isinstance(elements, array.array)
        self.elements, self.device, self.version, self.streams = elements, device, version, []
        self.shape = shape or (len(elements),)
        code, bits = dtype or _CODES[elements.typecode]
        sizes = ctypes.c_int64 * len(self.shape)
        self._shape = sizes(*self.shape)
        self._strides = sizes(*strides) if strides else None
        tensor = Tensor(elements.buffer_info()[0], *device, len(self.shape), code, bits, 1,
                        self._shape, self._strides, byte_offset)
        self._managed = Managed(tensor) if version == 0 else \
            Versioned(version, 0, None, None, flags, tensor)
        self._name = b"dltensor" if version == 0 else b"dltensor_versioned"

    def __dlpack_device__(self):
        return self.device

    def __dlpack__(self, **keywords):
        if self.version == 0 and "max_version" in keywords:
            raise TypeError("unexpected argument max_version")
        self.streams.append(keywords.get("stream"))
        return _api.PyCapsule_New(ctypes.addressof(self._managed), self._name, None)


class ExchangeAPI(ctypes.Structure):
    _fields_ = [("major", ctypes.c_uint32), ("minor", ctypes.c_uint32),
                ("previous", ctypes.c_void_p), ("allocate", ctypes.c_void_p),
                ("from_object", ctypes.c_void_p), ("to_object", ctypes.c_void_p),
                ("tensor_from_object", ctypes.c_void_p), ("current_stream", ctypes.c_void_p)]


def exchanging_class(stream=0):
    """A class like Foreign whose type exchanges tensors without capsules, with the calls it got."""
    calls = []

    @ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.POINTER(Tensor))
    def tensor_from_object(value, out):
        calls.append(value)
        out[0] = value._managed.tensor
        return 0

    @ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_int32, ctypes.c_int32, ctypes.POINTER(ctypes.c_void_p))
    def current_stream(_, __, out):
        calls.append("stream")
        out[0] = stream
        return 0

    api = ExchangeAPI(1, 3, None, None, None, None,
                      ctypes.cast(tensor_from_object, ctypes.c_void_p),
                      ctypes.cast(current_stream, ctypes.c_void_p))

    class Exchanging(Foreign):
        calls_of_c = calls
        keep = (api, tensor_from_object, current_stream)
        __dlpack_c_exchange_api__ = _api.PyCapsule_New(ctypes.addressof(api),
                                                       b"dlpack_exchange_api", None)

        def __dlpack__(self, **keywords):
            raise AssertionError("a capsule was asked for")

    return Exchanging
