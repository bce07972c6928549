"""libsampler turns logits into tokens: softmax, top-k, top-p and every other sampler of today's
engines, verification of drafts, and decoding sessions, on CPUs and NVIDIA GPUs.

    import libsampler

    sampler = libsampler.Sampler()
    token_ids = sampler.top_k_top_p(logits, 50, 0.95, 0.8, seed, step)

Arrays are numpy's, torch's, array.array or whatever has the buffer protocol or DLPack. Names, ranges
and results are those of the C library.
"""

import array as _array
from collections.abc import Iterable as _Iterable

from ._core import *  # noqa: F403
from ._core import TokenLists
from ._enums import *  # noqa: F403


def token_lists(lists: _Iterable[_Iterable[int]]) -> TokenLists:
    """TokenLists of some lists of ids: [[1, 2], [], [3]]."""
    offsets, ids = _array.array("q", [0]), _array.array("i")
    for one in lists:
        ids.extend(one)
        offsets.append(len(ids))
    return TokenLists(offsets, ids)


__version__ = version()  # noqa: F405
