#!/usr/bin/env python3
"""Fits the f32 base-2 logarithm of the contract and measures everything built on it.

    log2(1 + z) ~ z * Q(z),   1 + z in [sqrt(1/2), sqrt(2)),   Q by Horner with f32 fma

The script fits Q, rounds its coefficients to f32 one after the other, and prints them as C
hexfloats. It then measures, over every f32 that can occur, lg2, the Gumbel noise and the
logarithm of a weight sum. Any figure above its limit makes the exit status 1. The last bits of a
fit depend on the linear algebra under numpy: --measure checks coefficients already published.

Needs python3 and numpy (any version >= 1.17). Takes under a minute on one core.
"""

import argparse
import sys

import numpy as np

F32, F64, I32, I64 = np.float32, np.float64, np.int32, np.int64
LOG2E = 1 / np.log(F64(2))
# Bits of the f32 just below sqrt(1/2): the first mantissa of the decomposition.
SQRT_HALF_BITS = 0x3F3504F3
NOISE_C = F32(-np.log2(np.log(F64(2))))
CHUNK = 1 << 18


def fma(a, b, c):
  """f32 fma, correctly rounded, on arrays or scalars of f32.

  The product is exact in f64. The sum is rounded to odd, so that the conversion to f32 rounds
  the exact value and not one that was rounded before.
  """
  product = np.asarray(a, F64) * np.asarray(b, F64)
  c = np.asarray(c, F64)
  total = np.atleast_1d(product + c)
  back = total - product
  error = (product - (total - back)) + (c - back)
  bits = total.view(I64)
  step = np.where((error > 0) == (total > 0), 1, -1)
  bits += np.where((error != 0) & (bits & 1 == 0), step, 0)
  return total.astype(F32)


def hexfloat(value):
  """An f32 as a C hexfloat without trailing zeros."""
  digits, exponent = float(value).hex().split('p')
  return digits.rstrip('0').rstrip('.') + 'p' + exponent


def horner(coefficients, z):
  """Q(z), coefficients from the highest degree to the constant."""
  q = np.full(z.shape, coefficients[0], F32)
  for coefficient in coefficients[1:]:
    q = fma(q, z, coefficient)
  return q


def split_exponent(y):
  """k and m of y = 2^k * m, y a normal f32 > 0."""
  bits = y.view(I32)
  k = (bits - I32(SQRT_HALF_BITS)) >> 23
  return k, (bits - (k << 23)).view(F32)


def lg2_parts(coefficients, y):
  """k, z and Q(z) of log2(y) ~ k + z * Q(z), y a normal f32 > 0."""
  k, m = split_exponent(y)
  z = m - F32(1)
  return k, z, horner(coefficients, z)


def all_mantissas():
  """Every m of the decomposition, ascending, in chunks."""
  for start in range(SQRT_HALF_BITS, SQRT_HALF_BITS + (1 << 23), CHUNK):
    yield np.arange(start, start + CHUNK, dtype=I32).view(F32)


# ---- fit ----


def target(z):
  """log2(1 + z) / z in f64."""
  safe = np.where(z == 0, 1, z)
  return np.where(z == 0, LOG2E, np.log1p(safe) / safe * LOG2E)


def minimax(grid, values, fixed, degree):
  """Coefficients of z^len(fixed) ... z^degree for the least maximum relative error.

  `fixed` holds the coefficients of the lower powers. Lawson's reweighting: with powers fixed
  the basis vanishes at z = 0, where Remez exchange is not defined.
  """
  low = len(fixed)
  rest = (values - np.polyval(fixed[::-1], grid)) / values
  basis = grid[:, None]**np.arange(low, degree + 1) / values[:, None]
  weight = np.ones_like(grid)
  best, best_error = None, np.inf
  for _ in range(60):
    root = np.sqrt(weight)
    found = np.linalg.lstsq(basis * root[:, None], rest * root, rcond=None)[0]
    error = np.abs(rest - basis @ found)
    if error.max() < best_error:
      best, best_error = found, error.max()
    weight *= error
    weight /= weight.max()
  return best, best_error


def rounded_fit(degree, grid, values, nudges):
  """f32 coefficients, lowest first: each is rounded, then those above it are fitted again.

  `nudges[i]` moves coefficient i + 1 by that many ulp before the rest is fitted.
  """
  fixed = [F64(F32(LOG2E))]
  while len(fixed) <= degree:
    found, _ = minimax(grid, values, np.array(fixed), degree)
    value = F32(found[0])
    nudge = nudges[len(fixed) - 1] if len(fixed) <= len(nudges) else 0
    fixed.append(F64(value + F32(nudge) * np.spacing(np.abs(value))))
  return [F32(value) for value in fixed]


def relative_errors(coefficients, m):
  """Relative error of f32(z * Q(z)); the one entry with z = 0 is 0."""
  z = m - F32(1)
  got = F64(z * horner(coefficients, z))
  exact = np.log1p(F64(z)) * LOG2E
  return np.abs(got - exact) / np.where(exact == 0, 1, np.abs(exact))


def fit(degree):
  """Best of a few roundings, judged on one mantissa in 61; from the highest degree down."""
  low, high = np.sqrt(0.5) - 1, np.sqrt(2.0) - 1
  nodes = np.cos(np.linspace(0, np.pi, 801))
  grid = (low + high) / 2 + (high - low) / 2 * nodes
  values = target(grid)
  free = minimax(grid, values, np.array([]), degree)[1]
  sample = np.arange(SQRT_HALF_BITS, SQRT_HALF_BITS + (1 << 23), 61, dtype=I32).view(F32)
  best, best_error = None, np.inf
  for first in (0, -1, 1, -2, 2):
    for second in (0, -1, 1, -2, 2):
      candidate = rounded_fit(degree, grid, values, (first, second))[::-1]
      error = relative_errors(candidate, sample).max()
      if error < best_error:
        best, best_error = candidate, error
  return best, free


# ---- measurements ----


def measure_lg2(coefficients):
  """Maximum relative error of z * Q(z), maximum absolute error, inversions of lg2.

  Inversions are counted on the exact product z * Q(z), which fits in f64: where it never falls,
  fma(z, Q, k) never falls for any k, since rounding is monotone.
  """
  relative, absolute, approximation, inversions = 0.0, 0.0, 0.0, 0
  previous, first = -np.inf, None
  for m in all_mantissas():
    z = m - F32(1)
    q = horner(coefficients, z)
    product = F64(z) * F64(q)
    exact = np.log1p(F64(z)) * LOG2E
    relative = max(relative, relative_errors(coefficients, m).max())
    absolute = max(absolute, np.abs(F64(F32(product)) - exact).max())
    ideal = np.polyval(F64(coefficients), F64(z))
    approximation = max(approximation, np.abs(ideal / target(F64(z)) - 1).max())
    inversions += int((np.diff(np.append(previous, product)) < 0).sum())
    first = product[0] if first is None else first
    previous = product[-1]
  inversions += int(previous > 1 + first)  # the step from one k to the next
  return dict(relative=relative, absolute=absolute, approximation=approximation,
              inversions=inversions)


def reachable_v():
  """Every v, ascending, in chunks: one word for each value of f32(word)."""
  last = F32(0)
  for start in range(0, 1 << 24, CHUNK):
    v, last = distinct_v(np.arange(start, start + CHUNK).astype(F32), last)
    yield v
  for exponent in range(24, 33):
    count = 1 << 23 if exponent < 32 else 1
    for start in range(0, count, CHUNK):
      mantissa = np.arange(start, min(start + CHUNK, count), dtype=F64) + (1 << 23)
      v, last = distinct_v((mantissa * 2.0**(exponent - 23)).astype(F32), last)
      if v.size:
        yield v


def distinct_v(words, last):
  """The v of ascending f32 words, without repetitions and without `last`; and the largest."""
  v = np.minimum(fma(words, F32(2.0**-32), F32(2.0**-33)), F32(1 - 2.0**-24))
  return v[np.diff(np.append(last, v)) > 0], v[-1]


def exponential(coefficients, v):
  """E2 = -log2(1 - v) and the k it used."""
  k, _ = split_exponent(F32(1) - v)
  scale = np.ldexp(F32(1), -k)
  z = fma(-v, scale, scale - F32(1))
  return -fma(z, horner(coefficients, z), k.astype(F32)), k


def noise_sum_last(z, q, k):
  """(C - z * Q) - k: the only large rounding is the last one."""
  return fma(-z, q, NOISE_C) - k


def noise_sum_first(z, q, k):
  """(C - k) - z * Q: C - k is rounded before the product is added."""
  return fma(-z, q, NOISE_C - k)


NOISE_FORMS = {'fma(-z, Q, C) - k': noise_sum_last, 'fma(-z, Q, C - k)': noise_sum_first}


def measure_noise(coefficients):
  """Errors of E2 and of both forms of the noise over every reachable v."""
  out = dict(count=0, e2_min=np.inf, e2_max=0.0, e2_relative=0.0, e2_relative_small=0.0,
             e2_relative_switch=0.0, e2_inversions=0)
  forms = {name: dict(absolute=0.0, at=0.0, small_v_relative=0.0, below_8=0.0, in_ulp=0.0,
                      inversions=0, largest=-np.inf, least=np.inf) for name in NOISE_FORMS}
  last_e2, last_noise = F32(0), {name: F32(np.inf) for name in NOISE_FORMS}
  for v in reachable_v():
    exact_e2 = -np.log1p(-F64(v)) * LOG2E
    e2, k = exponential(coefficients, v)
    if not (np.isfinite(e2).all() and (e2 > 0).all()):
      raise ArithmeticError('E2 is not positive and finite')
    error = np.abs(F64(e2) / exact_e2 - 1)
    out['count'] += v.size
    out['e2_min'] = min(out['e2_min'], e2.min())
    out['e2_max'] = max(out['e2_max'], e2.max())
    out['e2_relative'] = max(out['e2_relative'], error.max())
    out['e2_relative_small'] = max(out['e2_relative_small'], error[v < 2.0**-8].max(initial=0))
    near = np.abs(v - F32(1 - np.sqrt(0.5))) < 2.0**-10
    out['e2_relative_switch'] = max(out['e2_relative_switch'], error[near].max(initial=0))
    out['e2_inversions'] += int((np.diff(np.append(last_e2, e2)) < 0).sum())
    last_e2 = e2[-1]
    exact = -np.log2(-np.log1p(-F64(v)))
    k, z, q = lg2_parts(coefficients, e2)
    for name, form in NOISE_FORMS.items():
      noise = form(z, q, k.astype(F32))
      update_noise(forms[name], v, noise, exact, last_noise[name])
      last_noise[name] = noise[-1]
  return out, forms


def update_noise(best, v, noise, exact, last):
  """Adds one chunk of noise values to the figures of their form."""
  error = np.abs(F64(noise) - exact)
  worst = error.argmax()
  if error[worst] > best['absolute']:
    best['absolute'], best['at'] = error[worst], float(v[worst])
  small = v < 2.0**-8
  relative = (error / np.abs(exact))[small].max(initial=0)
  best['small_v_relative'] = max(best['small_v_relative'], relative)
  best['below_8'] = max(best['below_8'], error[np.abs(exact) < 8].max(initial=0))
  unit = np.maximum(np.spacing(np.abs(noise)), F32(2.0**-24))
  best['in_ulp'] = max(best['in_ulp'], (error / unit).max())
  best['inversions'] += int((np.diff(np.append(last, noise)) > 0).sum())
  best['largest'] = max(best['largest'], float(noise.max()))
  best['least'] = min(best['least'], float(noise.min()))


def measure_weight_sum(coefficients):
  """Maximum absolute error of log2(W / 2^44) as f32(k) + f32(z * Q), over every integer W.

  W itself is rounded to f32, so the error is taken against both ends of the interval of W that
  rounds to each f32: half an ulp of the sum below and above.
  """
  worst = 0.0
  for m in all_mantissas():
    z = m - F32(1)
    frac = z * horner(coefficients, z)
    half = F64(np.spacing(m)) / 2
    below, above = (np.log1p(F64(z) + side) * LOG2E for side in (-half, half))
    for k in range(21):
      # The least W is 2^44 itself, the largest rounds to 2^64.
      reached = m >= 1 if k == 0 else m <= 1 if k == 20 else m > 0
      got = F64(F32(k) + frac[reached])
      errors = np.maximum(np.abs(got - k - below[reached]), np.abs(got - k - above[reached]))
      worst = max(worst, errors.max(initial=0))
  return worst


def measure_logprob(coefficients, count=1 << 22):
  """Random logprobs at T = 1 as (absolute error where |logprob| <= 10, relative error above).

  From d = x - m and W, both exact: what a logprob adds to the errors of the weights.
  """
  random = np.random.default_rng(1)
  d = F32(-np.exp2(random.uniform(-20, 10, count)))
  total = random.uniform(1, 2, count) * 2.0**random.integers(44, 64, count)
  k, z, q = lg2_parts(coefficients, F32(total))
  t = fma(d, F32(LOG2E), F32(-1))
  got = F32(np.log(2.0)) * ((t + F32(1)) - (F32(k - 44) + z * q))
  exact = F64(d) - np.log(total / 2.0**44)
  error = np.abs(got - exact)
  small = np.abs(exact) <= 10
  return error[small].max(), (error / np.abs(exact))[~small].max()


# ---- report ----


def report_lg2(coefficients):
  """Prints the figures of lg2; true when they are within the limits."""
  lg2 = measure_lg2(coefficients)
  print('lg2, every mantissa')
  print(f"  relative error of Q alone, exact arithmetic  {lg2['approximation']:.4g}")
  print(f"  relative error of f32(z * Q)                 {lg2['relative']:.4g}")
  print(f"  absolute error of f32(z * Q)                 {lg2['absolute']:.4g}")
  print(f"  inversions of fma(z, Q, k), any k            {lg2['inversions']}")
  return lg2['relative'] <= 1.5e-7 and lg2['inversions'] == 0


def report_weight_sum(coefficients):
  """Prints the figures of the logprob; true when they are within the limits."""
  weight_sum = measure_weight_sum(coefficients)
  absolute, relative = measure_logprob(coefficients)
  print('log2(W / 2^44) = k + f32(z * Q), every W')
  print(f'  absolute error                               {weight_sum:.4g}')
  print('logprob = ln2 * ((t + 1) - (k + f32(z * Q))), random rows')
  print(f'  absolute error, |logprob| <= 10              {absolute:.4g}')
  print(f'  relative error, |logprob| > 10               {relative:.4g}')
  return absolute <= 1e-5 and relative <= 1e-6


def report_noise(coefficients):
  """Prints the figures of the noise; true when they are within the limits."""
  e2, forms = measure_noise(coefficients)
  print(f"E2 = -log2(1 - v), all {e2['count']} reachable v")
  print(f"  range                                        {e2['e2_min']:.9g} .. {e2['e2_max']:.9g}")
  print(f"  relative error                               {e2['e2_relative']:.4g}")
  print(f"  relative error, v < 2^-8                     {e2['e2_relative_small']:.4g}")
  print(f"  relative error, next to the step of k        {e2['e2_relative_switch']:.4g}")
  print(f"  inversions                                   {e2['e2_inversions']}")
  for name, noise in forms.items():
    print(f'noise = {name}, C = {hexfloat(NOISE_C)}f')
    print(f"  range                                        "
          f"{noise['least']:.9g} .. {noise['largest']:.9g}")
    print(f"  absolute error                               {noise['absolute']:.4g} "
          f"at v = {hexfloat(noise['at'])}")
    print(f"  absolute error, |noise| < 8                  {noise['below_8']:.4g}")
    print(f"  error in ulp (of at least 2^-24)             {noise['in_ulp']:.4g}")
    print(f"  relative error, v < 2^-8                     {noise['small_v_relative']:.4g}")
    print(f"  inversions                                   {noise['inversions']}")
  return e2['e2_relative'] <= 2e-7 and forms['fma(-z, Q, C) - k']['absolute'] <= 1.5e-6


def main():
  parser = argparse.ArgumentParser(description=__doc__.split('\n', maxsplit=1)[0])
  parser.add_argument('--degree', type=int, default=8, help='degree of Q (default 8)')
  parser.add_argument('--measure', metavar='LIST',
                      help='measure these hexfloats, highest degree first, instead of fitting: '
                      '--measure="0x1.2p-3f, -0x1.4p-3f"')
  arguments = parser.parse_args()
  if arguments.measure:
    coefficients = [F32(float.fromhex(text.rstrip('f')))
                    for text in arguments.measure.replace(',', ' ').split()]
  else:
    coefficients, free = fit(arguments.degree)
    print(f'least relative error of any Q of degree {arguments.degree}: {free:.4g}')
  print(f'Q, degree {len(coefficients) - 1}, highest first')
  for coefficient in coefficients:
    print(f'  {hexfloat(coefficient)}f')
  reports = [report(coefficients) for report in (report_lg2, report_weight_sum, report_noise)]
  return 0 if all(reports) else 1


if __name__ == '__main__':
  sys.exit(main())
