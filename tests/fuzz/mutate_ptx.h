// Changes to PTX text that mostly leave it PTX: lines, operands, modifiers and numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace gpuemu {

/// One to four changes, drawn from `seed`. At most `bytes_max` long.
std::string mutate_ptx(const std::string& text, uint32_t seed, size_t bytes_max);

/// Lines of `other` put into `text`.
std::string cross_ptx(const std::string& text, const std::string& other, uint32_t seed,
                      size_t bytes_max);

}  // namespace gpuemu
