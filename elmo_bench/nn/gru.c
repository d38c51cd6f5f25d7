/* One direction of a bidirectional GRU over padded sequences: the loops over time that recurrent.py calls.

   r, z = σ(x + U h + b), n = tanh(x + r ∘ (U h + b)), h' = n + z ∘ (h - n). Arrays hold both directions, and one of them
   is read and written: blocks [batch, length, 2, 4 hidden], of u, r, z, n, where u = U h + b of n; before and h
   [batch, length, 2, hidden]. What is behind a sequence's lengths[b] tokens is neither read nor written, unless said. */

#include "loops.h"

enum { GATES = 3, BLOCKS = 4 }; /* the product with U is added to u, r, z */

/* blocks: b of u, x + b of r and z, x of n; overwritten with u and the activations. weight [hidden, GATES hidden]: U.
   Fills before (the h that a step reads; 0 when called) and h. 0 if memory lacks. */
int forward(long batch, long length, long hidden, const int64_t *lengths, int backwards, const real *weight,
            real *blocks, real *before, real *h) {
  real **y = malloc(2 * batch * sizeof *y), **x = y + batch, *w = panels(weight, hidden, GATES * hidden);
  int done = y && w;
  for (long t = 0; done && t < length; t++) {
    long rows = 0;
    for (long b = 0; b < batch; b++)
      if (t < lengths[b]) {
        long at = 2 * token(b, t, length, lengths, backwards) + backwards;
        y[rows] = blocks + at * BLOCKS * hidden, x[rows++] = before + at * hidden;
      }
    multiply(y, x, w, rows, hidden, GATES * hidden);
    for (long b = 0; b < batch; b++)
      if (t < lengths[b]) {
        long at = 2 * token(b, t, length, lengths, backwards) + backwards;
        real *restrict u = blocks + at * BLOCKS * hidden, *restrict r = u + hidden, *restrict z = r + hidden;
        real *restrict n = z + hidden, *restrict h1 = h + at * hidden;
        const real *restrict h0 = before + at * hidden;
        for (long j = 0; j < 2 * hidden; j++) r[j] = sigma(r[j]);
        for (long j = 0; j < hidden; j++) {
          n[j] = tangent(n[j] + r[j] * u[j]);
          h1[j] = n[j] + z[j] * (h0[j] - n[j]);
        }
        if (t + 1 < lengths[b]) memcpy(before + (backwards ? at - 2 : at + 2) * hidden, h1, hidden * sizeof *h1);
      }
  }
  free(y), free(w);
  return done;
}

/* The gradient of h -> the gradient of what entered the blocks, which overwrites them; 0 behind a sequence.
   weight [GATES hidden, hidden]: U transposed. 0 if memory lacks. */
int backward(long batch, long length, long hidden, const int64_t *lengths, int backwards, const real *weight,
             real *blocks, const real *before, const real *d_h) {
  real **y = malloc(2 * batch * sizeof *y), **x = y + batch, *from_next = calloc(batch * hidden, sizeof *from_next);
  real *w = panels(weight, GATES * hidden, hidden);
  int done = y && from_next && w;
  for (long b = 0; done && b < batch; b++)
    for (long at = b * length + lengths[b]; at < (b + 1) * length; at++)
      memset(blocks + (2 * at + backwards) * BLOCKS * hidden, 0, BLOCKS * hidden * sizeof *blocks);
  for (long t = length - 1; done && t >= 0; t--) {
    long rows = 0;
    for (long b = 0; b < batch; b++)
      if (t < lengths[b]) {
        long at = 2 * token(b, t, length, lengths, backwards) + backwards;
        real *restrict u = blocks + at * BLOCKS * hidden, *restrict r = u + hidden, *restrict z = r + hidden;
        real *restrict n = z + hidden, *restrict next = from_next + b * hidden;
        const real *restrict h0 = before + at * hidden, *restrict above = d_h + at * hidden;
        for (long j = 0; j < hidden; j++) {
          real d = above[j] + next[j], d_n = d * (1 - z[j]) * (1 - n[j] * n[j]);
          next[j] = d * z[j];
          z[j] = d * (h0[j] - n[j]) * z[j] * (1 - z[j]);
          n[j] = d_n;
          d_n *= r[j];
          r[j] = d_n * u[j] * (1 - r[j]);
          u[j] = d_n;
        }
        x[rows] = u, y[rows++] = next;
      }
    multiply(y, x, w, rows, GATES * hidden, hidden);
  }
  free(y), free(from_next), free(w);
  return done;
}
