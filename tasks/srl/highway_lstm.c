/* One direction of a highway LSTM over padded sequences: the loops over time that highway_lstm.py calls.

   REAL is float or double. Arrays are contiguous: tokens [batch, length, …] as they stand, keep [batch, hidden] or NULL.
   A sequence has lengths[b] tokens; what is behind them is neither read nor written, unless said. */

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef REAL real;
typedef real lanes __attribute__((vector_size(32), aligned(sizeof(real)), may_alias)); /* one vector register */

enum { GATES = 5, BLOCKS = 6, WIDE = 2 * sizeof(lanes) / sizeof(real) }; /* blocks: g, i, f, o, r, V x */

/* σ(x) = 1 / (1 + e⁻ˣ). A float's e⁻ˣ is 2ᵏ eʳ with |r| <= ln 2 / 2, eʳ by Taylor's series: the compiler makes
   vectors of it, which it could not of the library's exp. Its error is some units of the last place. */
static inline real sigma(real x) {
  if (sizeof(real) > 4) return 1 / (1 + (real)exp(-(double)x));
  float y = x > 87 ? -87 : x < -87 ? 87 : -(float)x;
  float k = floorf(y * 1.44269504f + 0.5f);
  float r = y - k * 0.693145752f - k * 1.42860677e-6f; /* ln 2 in two parts, the first one exact times k */
  float e = 1 + r * (1 + r * (1 / 2.0f + r * (1 / 6.0f + r * (1 / 24.0f + r * (1 / 120.0f + r * (1 / 720.0f))))));
  int32_t bits = ((int32_t)k + 127) << 23;
  float power;
  memcpy(&power, &bits, sizeof power);
  return 1 / (1 + e * power);
}

/* y[i] += x[i] w for at most 6 rows, in columns n to n + WIDE; w is [inner, outer]. */
static inline void tile(real **y, real **x, const real *w, int rows, long inner, long outer, long n) {
  lanes sum[6][2] = {{{0}}};
  for (long k = 0; k < inner; k++) {
    const lanes *row = (const lanes *)(w + k * outer + n);
    for (int i = 0; i < rows; i++) sum[i][0] += x[i][k] * row[0], sum[i][1] += x[i][k] * row[1];
  }
  for (int i = 0; i < rows; i++) ((lanes *)(y[i] + n))[0] += sum[i][0], ((lanes *)(y[i] + n))[1] += sum[i][1];
}

/* y[i] += x[i] w for every row. */
static void multiply(real **y, real **x, const real *w, long rows, long inner, long outer) {
  long n = 0;
  for (; n + WIDE <= outer; n += WIDE)
    for (long i = 0; i < rows; i += 6) switch (rows - i) { /* a number that the compiler knows keeps sums in registers */
        case 1: tile(y + i, x + i, w, 1, inner, outer, n); break;
        case 2: tile(y + i, x + i, w, 2, inner, outer, n); break;
        case 3: tile(y + i, x + i, w, 3, inner, outer, n); break;
        case 4: tile(y + i, x + i, w, 4, inner, outer, n); break;
        case 5: tile(y + i, x + i, w, 5, inner, outer, n); break;
        default: tile(y + i, x + i, w, 6, inner, outer, n);
      }
  if (n < outer)
    for (long i = 0; i < rows; i++)
      for (long k = 0; k < inner; k++)
        for (long j = n; j < outer; j++) y[i][j] += x[i][k] * w[k * outer + j];
}

/* blocks [.., BLOCKS hidden]: W x + b and V x; overwritten with the activations. weight [hidden, GATES hidden]: U.
   Fills before (the h that a step reads; 0 when called), c, s (tanh c) and h, all [.., hidden]. 0 if memory lacks. */
int forward(long batch, long length, long hidden, const int64_t *lengths, int backwards, const real *weight,
            const real *keep, real *blocks, real *before, real *c, real *s, real *h) {
  real **y = malloc(2 * batch * sizeof *y), **x = y + batch, *zeros = calloc(hidden, sizeof *zeros);
  for (long t = 0; y && zeros && t < length; t++) {
    long rows = 0;
    for (long b = 0; b < batch; b++)
      if (t < lengths[b]) {
        long at = b * length + (backwards ? lengths[b] - 1 - t : t);
        y[rows] = blocks + at * BLOCKS * hidden, x[rows++] = before + at * hidden;
      }
    multiply(y, x, weight, rows, hidden, GATES * hidden);
    for (long b = 0; b < batch; b++)
      if (t < lengths[b]) {
        long at = b * length + (backwards ? lengths[b] - 1 - t : t), last = backwards ? at + 1 : at - 1;
        real *restrict g = blocks + at * BLOCKS * hidden, *restrict i = g + hidden, *restrict f = i + hidden;
        real *restrict o = f + hidden, *restrict r = o + hidden, *restrict v = r + hidden;
        real *restrict c1 = c + at * hidden, *restrict s1 = s + at * hidden, *restrict h1 = h + at * hidden;
        const real *restrict c0 = t ? c + last * hidden : zeros, *restrict m = keep ? keep + b * hidden : NULL;
        for (long j = 0; j < hidden; j++) g[j] *= 2;
        for (long j = 0; j < GATES * hidden; j++) g[j] = sigma(g[j]);
        for (long j = 0; j < hidden; j++) {
          g[j] = 2 * g[j] - 1; /* tanh(x) = 2 σ(2x) - 1 */
          c1[j] = f[j] * c0[j] + i[j] * g[j];
          s1[j] = 2 * sigma(2 * c1[j]) - 1;
          h1[j] = v[j] + r[j] * (o[j] * s1[j] - v[j]);
        }
        if (m)
          for (long j = 0; j < hidden; j++) h1[j] *= m[j];
        if (t + 1 < lengths[b]) memcpy(before + (backwards ? at - 1 : at + 1) * hidden, h1, hidden * sizeof *h1);
      }
  }
  int done = y && zeros;
  free(y), free(zeros);
  return done;
}

/* The gradient of h -> the gradient of what entered the blocks, which overwrites them; 0 behind a sequence.
   weight [GATES hidden, hidden]: U transposed. 0 if memory lacks. */
int backward(long batch, long length, long hidden, const int64_t *lengths, int backwards, const real *weight,
             const real *keep, real *blocks, const real *c, const real *s, const real *d_h) {
  real **y = malloc(2 * batch * sizeof *y), **x = y + batch, *zeros = calloc(hidden, sizeof *zeros);
  real *from_next = calloc(2 * batch * hidden, sizeof *from_next), *d_c = from_next + batch * hidden;
  int done = y && zeros && from_next;
  for (long b = 0; done && b < batch; b++)
    memset(blocks + (b * length + lengths[b]) * BLOCKS * hidden, 0,
           (length - lengths[b]) * BLOCKS * hidden * sizeof *blocks);
  for (long t = length - 1; done && t >= 0; t--) {
    long rows = 0;
    for (long b = 0; b < batch; b++)
      if (t < lengths[b]) {
        long at = b * length + (backwards ? lengths[b] - 1 - t : t), last = backwards ? at + 1 : at - 1;
        real *restrict g = blocks + at * BLOCKS * hidden, *restrict i = g + hidden, *restrict f = i + hidden;
        real *restrict o = f + hidden, *restrict r = o + hidden, *restrict v = r + hidden;
        real *restrict next = from_next + b * hidden, *restrict dc = d_c + b * hidden;
        const real *restrict c0 = t ? c + last * hidden : zeros, *restrict s1 = s + at * hidden;
        const real *restrict above = d_h + at * hidden, *restrict m = keep ? keep + b * hidden : NULL;
        for (long j = 0; j < hidden; j++) next[j] = (above[j] + next[j]) * (m ? m[j] : 1);
        for (long j = 0; j < hidden; j++) {
          real d = next[j], through = d * r[j]; /* of r ∘ o ∘ tanh(c) + (1 - r) ∘ V x, and of o ∘ tanh(c) */
          real e = dc[j] + through * o[j] * (1 - s1[j] * s1[j]); /* of c */
          r[j] = r[j] * (1 - r[j]) * (o[j] * s1[j] - v[j]) * d;
          v[j] = d - through;
          o[j] = o[j] * (1 - o[j]) * s1[j] * through;
          dc[j] = e * f[j];
          f[j] = f[j] * (1 - f[j]) * c0[j] * e;
          real d_g = i[j] * (1 - g[j] * g[j]) * e;
          i[j] = i[j] * (1 - i[j]) * g[j] * e;
          g[j] = d_g;
          next[j] = 0;
        }
        x[rows] = g, y[rows++] = next;
      }
    multiply(y, x, weight, rows, GATES * hidden, hidden);
  }
  free(y), free(zeros), free(from_next);
  return done;
}
