/* Adadelta (Zeiler 2012, algorithm 1) in one pass over memory: what adadelta.py calls. REAL is float or double. */

#include <tgmath.h>

typedef REAL real;

/* One update, number `step`, of p [rows, columns] by its gradient g; squares and changes are its decaying averages.
   last: the step of each row's last update, and a row without a gradient waits; or NULL, and no row waits. */
void update(long rows, long columns, real *restrict p, const real *restrict g, real *restrict squares,
            real *restrict changes, real *restrict last, double step, double rate, double rho, double eps) {
  const real kept = rho, added = 1 - rho, small = eps, factor = rate;
  for (long r = 0; r < rows; r++, p += columns, g += columns, squares += columns, changes += columns) {
    real waited = 1;
    if (last) {
      int found = 0;
      for (long j = 0; j < columns; j++) found |= g[j] != 0;
      if (!found) continue;
      waited = pow(rho, step - 1 - last[r]);
      last[r] = step;
    }
    for (long j = 0; j < columns; j++) {
      real square = squares[j] * waited * kept + g[j] * g[j] * added, before = changes[j] * waited;
      real change = sqrt(before + small) / sqrt(square + small) * g[j];
      squares[j] = square;
      changes[j] = before * kept + change * change * added;
      p[j] -= factor * change;
    }
  }
}
