/* Adadelta (Zeiler 2012, algorithm 1) in one pass over memory: what adadelta.py calls. REAL is float or double. */

#include <tgmath.h>

typedef REAL real;

static int any(const real *x, long count) {
  int found = 0;
  for (long i = 0; i < count; i++) found |= x[i] != 0;
  return found;
}

static void scale(real *x, long count, real factor) {
  for (long i = 0; i < count; i++) x[i] *= factor;
}

/* The update number `step` of p by its gradient g, both [rows, columns]. squares, changes [rows, columns]: the decaying
   averages of squared gradients and of squared changes. last [rows]: the step of each row's last gradient, and a row
   without one waits; NULL: no row waits. Each sum rounds once (`fma`), as in adadelta.py. */
void update(long rows, long columns, real *restrict p, const real *restrict g, real *restrict squares,
            real *restrict changes, real *restrict last, double step, double lr, double rho, double eps) {
  const real decay = rho, share = 1 - rho, small = eps, rate = -lr;
  for (long row = 0; row < rows; row++, p += columns, g += columns, squares += columns, changes += columns) {
    if (last) {
      if (!any(g, columns)) continue;
      double waited = step - 1 - last[row];
      if (waited > 0) {
        real decays = pow(rho, waited);
        scale(squares, columns, decays);
        scale(changes, columns, decays);
      }
      last[row] = step;
    }
    for (long j = 0; j < columns; j++) {
      squares[j] = fma(squares[j], decay, g[j] * g[j] * share);
      real change = sqrt(changes[j] + small) / sqrt(squares[j] + small) * g[j];
      changes[j] = fma(changes[j], decay, change * change * share);
      p[j] = fma(change, rate, p[j]);
    }
  }
}
