// Kernel variants that `supports` keeps from every case.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "common/config/config.h"
#include "judge/cases/case.h"

namespace gpuemu {

/// How many generated cases are looked at, over all dtypes of an op.
inline constexpr uint64_t kSupportTriesMax = 1000;

static_assert(kSupportTriesMax == 1000, "the text below says so");
/// What to say of such a variant.
inline constexpr const char* kUnreachable =
    "`supports` takes none of 1000 generated cases; look at it and at the dims, or take the "
    "variant "
    "out of the op's kernels";

/// The op's variants of which `supports` takes none of so many cases, by name; none where the op
/// has one kernel, which is told with its cases. `constants` is asked only for those that nothing
/// else reaches. What cannot be planned or evaluated is an error of the cases, and not told here.
std::vector<std::string> unreachable_variants(const Config& config, const OpConfig& op,
                                              uint64_t seed, const LargeSizes& large,
                                              const std::function<Constants(DType)>& constants);

}  // namespace gpuemu
