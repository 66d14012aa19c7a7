// Draws the values of a tensor for the Python package, which loads this as a library
// (python/gpuemu/generate/native.py). A C interface, so that nothing needs compiling per Python
// version.
#pragma once

#include <stdint.h>  // NOLINT(modernize-deprecated-headers): C.

#ifdef __cplusplus
extern "C" {
#endif

/// What is drawn, how draws are transformed, and which elements get special values.
struct gpuemu_draws {        // NOLINT(readability-identifier-naming): C.
  uint64_t state[2];         ///< State of the stream of draws.
  const char* distribution;  ///< "uniform", "normal", "log_uniform" or "integer".
  const char* dtype;         ///< Wire name.
  double first, second;      ///< Parameters: bounds, mean and deviation, or exponents.
  double factor;             ///< Multiplies each draw.
  int64_t fold;              ///< Then 1: takes the magnitude, -1: its negative, 0: neither.
  double scale;              ///< Then multiplies by this.
  double least, most;        ///< Then clamps to these.
  const void* table;         ///< One element for each integer that can be drawn; else null.
  const void* special;       ///< Elements that replace some of the others; else null.
  uint64_t special_rows;
  uint64_t special_state[2];  ///< State of the stream that chooses them.
  double probability;         ///< Probability that an element is replaced.
};

/// Returns the version of gpuemu_draws, currently 1. It changes with the meaning of the struct.
uint32_t gpuemu_draws_version(void);

/// Fills `to` with `count` elements. Returns 0, or 1 if the arguments are invalid: unknown names,
/// bounds in the wrong order, numbers beyond 2^53.
int gpuemu_draw(const struct gpuemu_draws* wanted, void* to, uint64_t count);

#ifdef __cplusplus
}
#endif
