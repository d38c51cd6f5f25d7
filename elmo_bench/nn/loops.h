/* What the loops over time of recurrent layers share. REAL is float or double. */

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef REAL real;
typedef real lanes __attribute__((vector_size(32), aligned(sizeof(real)), may_alias)); /* one vector register */

enum { WIDE = 2 * sizeof(lanes) / sizeof(real) };

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

/* The weights w [inner, outer] as panels [.., inner, WIDE] of their columns, the last one filled up with zeros. NULL if
   memory lacks. */
static inline real *panels(const real *w, long inner, long outer) {
  real *copy = calloc((outer + WIDE - 1) / WIDE * WIDE * inner, sizeof *copy), *to = copy;
  for (long n = 0; copy && n < outer; n += WIDE)
    for (long k = 0; k < inner; k++, to += WIDE)
      memcpy(to, w + k * outer + n, (outer - n < WIDE ? outer - n : WIDE) * sizeof *to);
  return copy;
}

/* y[i] += x[i] w for at most 6 rows, in `columns` columns from n on; w is their panel. */
static inline void tile(real **y, real **x, const real *w, int rows, long inner, long n, long columns) {
  lanes sum[6][2] = {{{0}}};
  for (long k = 0; k < inner; k++) {
    const lanes *row = (const lanes *)(w + k * WIDE);
    for (int i = 0; i < rows; i++) sum[i][0] += x[i][k] * row[0], sum[i][1] += x[i][k] * row[1];
  }
  if (columns >= WIDE)
    for (int i = 0; i < rows; i++) ((lanes *)(y[i] + n))[0] += sum[i][0], ((lanes *)(y[i] + n))[1] += sum[i][1];
  else
    for (int i = 0; i < rows; i++)
      for (long j = 0; j < columns; j++) y[i][n + j] += ((real *)sum[i])[j];
}

/* y[i] += x[i] w for every row; w is in panels. */
static void multiply(real **y, real **x, const real *w, long rows, long inner, long outer) {
  for (long n = 0; n < outer; n += WIDE, w += WIDE * inner)
    for (long i = 0; i < rows; i += 6) switch (rows - i) { /* a number that the compiler knows keeps sums in registers */
        case 1: tile(y + i, x + i, w, 1, inner, n, outer - n); break;
        case 2: tile(y + i, x + i, w, 2, inner, n, outer - n); break;
        case 3: tile(y + i, x + i, w, 3, inner, n, outer - n); break;
        case 4: tile(y + i, x + i, w, 4, inner, n, outer - n); break;
        case 5: tile(y + i, x + i, w, 5, inner, n, outer - n); break;
        default: tile(y + i, x + i, w, 6, inner, n, outer - n);
      }
}

/* tanh(x) = 2 σ(2x) - 1 */
static inline real tangent(real x) { return 2 * sigma(2 * x) - 1; }

/* The row of a batch [batch, length] at which a direction of the sequence b is at step t. */
static inline long token(long b, long t, long length, const int64_t *lengths, int backwards) {
  return b * length + (backwards ? lengths[b] - 1 - t : t);
}
