// A page of what the emulator executes, by family: what the decoder's tables say.
#pragma once

#include <string>

namespace gpuemu::census {

/// Markdown. The same for every build of the same sources, whatever the processor.
std::string coverage_page();

}  // namespace gpuemu::census
