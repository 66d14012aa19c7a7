// The values of a tensor for the Python package, which loads this as a library
// (python/gpuemu/generate/native.py). In C, so that nothing has to be compiled for a version of
// Python.
#pragma once

#include <stdint.h>  // NOLINT(modernize-deprecated-headers): C.

#ifdef __cplusplus
extern "C" {
#endif

/// What is drawn, what becomes of a draw, and what is put over some of the values.
struct gpuemu_draws {        // NOLINT(readability-identifier-naming): C.
  uint64_t state[2];         ///< Where the stream of the draws stands.
  const char* distribution;  ///< "uniform", "normal", "log_uniform" or "integer".
  const char* dtype;         ///< Wire name.
  double first, second;  ///< Parameters of the distribution: bounds, mean and deviation, exponents.
  double factor;         ///< Multiplies a draw.
  int64_t fold;          ///< 1: then its magnitude is taken, -1: minus that, 0: neither.
  double scale;          ///< Multiplies that.
  double least, most;    ///< It is clamped to these.
  const void* table;     ///< Elements, one for each integer that can be drawn; else null.
  const void* special;   ///< Elements that are put over some of the others; else null.
  uint64_t special_rows;
  uint64_t special_state[2];  ///< Where the stream that chooses them stands.
  double probability;         ///< How likely one is put over an element.
};

/// 1; another number where the meaning of gpuemu_draws is another.
uint32_t gpuemu_draws_version(void);

/// Fills `to` with `count` elements. 0, or 1 for what no element can be drawn from: unknown names,
/// bounds in the wrong order, numbers beyond 2^53.
int gpuemu_draw(const struct gpuemu_draws* wanted, void* to, uint64_t count);

#ifdef __cplusplus
}
#endif
