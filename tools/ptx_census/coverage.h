// The page docs/ptx-coverage.md: what the decoder's tables say.
#pragma once

#include <string>

namespace gpuemu::census {

/// Markdown. The same for every build of the same sources, whatever the processor.
std::string coverage_page();

}  // namespace gpuemu::census
