"""Lets single files of a serving engine be imported without the rest of it."""

import importlib.abc
import importlib.machinery
import sys
import types
from unittest import mock


class Stub(types.ModuleType):
    """A module all of whose names exist. Questions such as is_cuda() are answered with no."""

    __path__ = []

    def __getattr__(self, name):
        if name.startswith('__'):
            raise AttributeError(name)
        if name.startswith('is_') or name.startswith('HAS_'):
            value = (lambda *_, **__: False) if name.startswith('is_') else False
        else:
            value = mock.MagicMock(name=name)
            value.is_enabled.return_value = False
            value.dispatch_key = 'CPU'
            for question in ('is_cuda', 'is_cpu', 'is_xpu', 'is_cuda_alike', 'is_rocm'):
                getattr(value, question).return_value = False
        setattr(self, name, value)
        return value


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Asked last: stands for the modules of packages that are not there."""

    def __init__(self, packages):
        self.packages = packages

    def find_spec(self, name, path=None, target=None):
        if name.split('.')[0] not in self.packages:
            return None
        return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec):
        return Stub(spec.name)

    def exec_module(self, module):
        pass


def allow_parts_of(package, folder, *others):
    """Takes `package` from the folder, which has some of its files; stubs stand for the rest and for `others`."""
    sys.path.insert(0, folder)
    sys.meta_path.append(Finder({package, *others}))


def use_triton(**more):
    """For vLLM, which looks for a GPU before it takes Triton: by Triton's interpreter there is none."""
    import triton
    import triton.language as tl
    utilities = Stub('vllm.triton_utils')
    utilities.__dict__.update(triton=triton, tl=tl, HAS_TRITON=True, **more)
    sys.modules['vllm.triton_utils'] = utilities
