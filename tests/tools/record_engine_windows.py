#!/usr/bin/env python3
"""Records which tokens the logits warpers of Hugging Face's transformers keep.

    record_engine_windows.py tests/contract/engine_windows.txt

needs torch and transformers (recorded with 2.15.0 and 5.23.0). windows_test.cpp replays the file. It
has a line for each row, its logits as the bits of their f32, and then a line for each warper:

    row 3f800000 40000000 ...
    typical_p PARAMETER MIN_KEEP MASK

The parameter is the bits of an f32, too. The mask is a hexadecimal number, bit i for id i: those kept.
"""

import random
import struct
import sys

import torch
from transformers import EpsilonLogitsWarper, EtaLogitsWarper, TopHLogitsWarper, TypicalLogitsWarper


def bits(x):
  return '%08x' % struct.unpack('<I', struct.pack('<f', x))[0]


def f32(x):
  return struct.unpack('<f', struct.pack('<f', x))[0]


def logits(rng, count):
  deviation = 2.0**rng.uniform(-3, 4)
  row = torch.tensor([rng.gauss(0, deviation) for _ in range(count)], dtype=torch.float32)
  kind = rng.randrange(4)
  if kind == 0:
    row = row.to(torch.bfloat16).to(torch.float32)  # ties
  if kind == 1:
    row[torch.tensor([rng.random() < 0.2 for _ in range(count)])] = -1e30
  return row


def parameters(rng):
  """Yields name, parameter, min_keep, warper for one row."""
  for _ in range(2):
    p, min_keep = f32(rng.uniform(0.02, 0.98)), rng.choice([1, 1, 3])
    yield 'typical_p', p, min_keep, TypicalLogitsWarper(mass=p, min_tokens_to_keep=min_keep)
    epsilon = f32(2.0**-rng.uniform(1, 14))
    yield 'epsilon', epsilon, min_keep, EpsilonLogitsWarper(epsilon, min_tokens_to_keep=min_keep)
    epsilon = f32(2.0**-rng.uniform(1, 14))
    yield 'eta', epsilon, min_keep, EtaLogitsWarper(epsilon, min_tokens_to_keep=min_keep)
    share = f32(rng.uniform(0.02, 0.98))
    yield 'top_h', share, 1, TopHLogitsWarper(top_h=share)


def main():
  rng = random.Random(1)
  sizes = [rng.randrange(1, 49) for _ in range(300)]
  sizes += [rng.randrange(95, 200) for _ in range(60)] + [1000] * 12
  with open(sys.argv[1], 'w') as out:
    out.write('# Made by tests/tools/record_engine_windows.py.\n')
    for size in sizes:
      row = logits(rng, size)
      out.write('row ' + ' '.join(bits(float(x)) for x in row) + '\n')
      for name, parameter, min_keep, warper in parameters(rng):
        kept = warper(None, row.clone().unsqueeze(0))[0] > -float('inf')
        mask = sum(1 << i for i in torch.nonzero(kept).flatten().tolist())
        out.write('%s %s %d %x\n' % (name, bits(parameter), min_keep, mask))


main()
