// Writes a page that lists what the emulator executes, by family, from the decoder's tables.
#pragma once

#include <string>

namespace gpuemu::census {

/// Returns Markdown. Equal for all builds of the same sources, on any processor.
std::string coverage_page();

}  // namespace gpuemu::census
