// Finds kernel variants whose `supports` rejects every case.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "common/config/config.h"
#include "judge/cases/case.h"

namespace gpuemu {

/// How many generated cases are tried, over all dtypes of an op.
inline constexpr uint64_t kSupportTriesMax = 1000;

static_assert(kSupportTriesMax == 1000, "the text below says so");
/// The message about such a variant.
inline constexpr const char* kUnreachable =
    "`supports` takes none of 1000 generated cases; look at it and at the dims, or take the "
    "variant "
    "out of the op's kernels";

/// Returns the names of the op's variants whose `supports` accepts none of the tried cases; none if
/// the op has a single kernel, which is reported with its cases. `constants` is called only for
/// variants that no other case reaches. Cases that cannot be planned or evaluated are errors of
/// their own, not reported here.
std::vector<std::string> unreachable_variants(const Config& config, const OpConfig& op,
                                              uint64_t seed, const LargeSizes& large,
                                              const std::function<Constants(DType)>& constants);

}  // namespace gpuemu
