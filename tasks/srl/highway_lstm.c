/* One direction of a highway LSTM over padded sequences: the loops over time that highway_lstm.py calls.

   REAL is float or double. Arrays are contiguous: tokens [batch, length, …] as they stand, keep [batch, hidden] or NULL.
   A sequence has lengths[b] tokens; what is behind them is neither read nor written, unless said. */

#include "loops.h"

enum { GATES = 5, BLOCKS = 6 }; /* blocks: g, i, f, o, r, V x */

/* blocks [.., BLOCKS hidden]: W x + b and V x; overwritten with the activations. weight [hidden, GATES hidden]: U.
   Fills before (the h that a step reads; 0 when called), c, s (tanh c) and h, all [.., hidden]. 0 if memory lacks. */
int forward(long batch, long length, long hidden, const int64_t *lengths, int backwards, const real *weight,
            const real *keep, real *blocks, real *before, real *c, real *s, real *h) {
  real **y = malloc(2 * batch * sizeof *y), **x = y + batch, *zeros = calloc(hidden, sizeof *zeros);
  real *w = panels(weight, hidden, GATES * hidden);
  int done = y && zeros && w;
  for (long t = 0; done && t < length; t++) {
    long rows = 0;
    for (long b = 0; b < batch; b++)
      if (t < lengths[b]) {
        long at = token(b, t, length, lengths, backwards);
        y[rows] = blocks + at * BLOCKS * hidden, x[rows++] = before + at * hidden;
      }
    multiply(y, x, w, rows, hidden, GATES * hidden);
    for (long b = 0; b < batch; b++)
      if (t < lengths[b]) {
        long at = token(b, t, length, lengths, backwards), last = backwards ? at + 1 : at - 1;
        real *restrict g = blocks + at * BLOCKS * hidden, *restrict i = g + hidden, *restrict f = i + hidden;
        real *restrict o = f + hidden, *restrict r = o + hidden, *restrict v = r + hidden;
        real *restrict c1 = c + at * hidden, *restrict s1 = s + at * hidden, *restrict h1 = h + at * hidden;
        const real *restrict c0 = t ? c + last * hidden : zeros, *restrict m = keep ? keep + b * hidden : NULL;
        for (long j = 0; j < hidden; j++) g[j] *= 2;
        for (long j = 0; j < GATES * hidden; j++) g[j] = sigma(g[j]);
        for (long j = 0; j < hidden; j++) {
          g[j] = 2 * g[j] - 1; /* its tanh */
          c1[j] = f[j] * c0[j] + i[j] * g[j];
          s1[j] = tangent(c1[j]);
          h1[j] = v[j] + r[j] * (o[j] * s1[j] - v[j]);
        }
        if (m)
          for (long j = 0; j < hidden; j++) h1[j] *= m[j];
        if (t + 1 < lengths[b]) memcpy(before + (backwards ? at - 1 : at + 1) * hidden, h1, hidden * sizeof *h1);
      }
  }
  free(y), free(zeros), free(w);
  return done;
}

/* The gradient of h -> the gradient of what entered the blocks, which overwrites them; 0 behind a sequence.
   weight [GATES hidden, hidden]: U transposed. 0 if memory lacks. */
int backward(long batch, long length, long hidden, const int64_t *lengths, int backwards, const real *weight,
             const real *keep, real *blocks, const real *c, const real *s, const real *d_h) {
  real **y = malloc(2 * batch * sizeof *y), **x = y + batch, *zeros = calloc(hidden, sizeof *zeros);
  real *from_next = calloc(2 * batch * hidden, sizeof *from_next), *d_c = from_next + batch * hidden;
  real *w = panels(weight, GATES * hidden, hidden);
  int done = y && zeros && from_next && w;
  for (long b = 0; done && b < batch; b++)
    memset(blocks + (b * length + lengths[b]) * BLOCKS * hidden, 0,
           (length - lengths[b]) * BLOCKS * hidden * sizeof *blocks);
  for (long t = length - 1; done && t >= 0; t--) {
    long rows = 0;
    for (long b = 0; b < batch; b++)
      if (t < lengths[b]) {
        long at = token(b, t, length, lengths, backwards), last = backwards ? at + 1 : at - 1;
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
    multiply(y, x, w, rows, GATES * hidden, hidden);
  }
  free(y), free(zeros), free(from_next), free(w);
  return done;
}
