/* Dropout from 16 random bits a feature: what dropout.py computes in one pass over memory. REAL is float or double. */

#include <stdint.h>

typedef REAL real;

/* y[i] = x[i] factor where bits[i] <= last, elsewhere x[i] 0. */
void scale(long count, const int16_t *restrict bits, int last, double factor, const real *restrict x,
           real *restrict y) {
  for (long i = 0; i < count; i++) y[i] = x[i] * (bits[i] <= last ? (real)factor : 0);
}
