// The bytes per thread follow from the instruction; the space of generic accesses from the
// counters.
#include "ops/profile/memory_traffic.h"

#include <algorithm>
#include <charconv>
#include <string>
#include <vector>

#include "runtime/ptx/isa/opcode.h"

namespace gpuemu {
namespace {

constexpr uint64_t kBitsOfByte = 8;
/// One 16-byte row per eight lanes of an 8x8 matrix of 16 bits: 4 bytes per thread.
constexpr uint64_t kMatrixBytes = 4;

std::vector<std::string_view> parts_of(std::string_view spelling) {
  std::vector<std::string_view> parts;
  while (!spelling.empty()) {
    const size_t end = std::min(spelling.find('.'), spelling.size());
    parts.push_back(spelling.substr(0, end));
    spelling.remove_prefix(std::min(end + 1, spelling.size()));
  }
  return parts;
}

/// Returns 4 for "v4" or "x4" with that letter; 0 otherwise.
uint64_t number_behind(std::string_view text, std::string_view letter) {
  if (!text.starts_with(letter)) return 0;
  uint64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data() + letter.size(), end, number);
  return read.ec == std::errc() && read.ptr == end ? number : 0;
}

/// Returns 4 for "f32" and "f16x2"; 0 for what is not a type.
uint64_t bytes_of_type(std::string_view type) {
  const size_t twice = type.find("x2");
  for (const std::string_view kind : {"bf", "b", "u", "s", "f"}) {
    const uint64_t bits = number_behind(type.substr(0, twice), kind);
    if (bits != 0) return bits / kBitsOfByte * (twice == std::string_view::npos ? 1 : 2);
  }
  return 0;
}

bool has(const std::vector<std::string_view>& parts, std::string_view name) {
  return std::ranges::any_of(parts, [&](std::string_view part) {
    return part == name || (part.starts_with(name) && part.substr(name.size()).starts_with("::"));
  });
}

uint64_t first_number(const std::vector<std::string_view>& parts, std::string_view letter) {
  for (const std::string_view part : parts) {
    if (const uint64_t number = number_behind(part, letter); number != 0) return number;
  }
  return 1;
}

}  // namespace

uint64_t bytes_of_thread(std::string_view spelling) {
  const auto parts = parts_of(spelling);
  if (parts.empty() || has(parts, "param")) return 0;
  const ptx::Opcode opcode = ptx::opcode_of(parts[0]);
  if (opcode == ptx::Opcode::Ldmatrix || opcode == ptx::Opcode::Stmatrix) {
    return kMatrixBytes * first_number(parts, "x");
  }
  const ptx::Traits traits = ptx::info(opcode).traits;
  if (!traits.has(ptx::Trait::Reads) && !traits.has(ptx::Trait::Writes)) return 0;
  return bytes_of_type(parts.back()) * first_number(parts, "v");
}

SpaceBytes bytes_by_space(const Profile& profile) {
  SpaceBytes all;
  for (size_t i = 0; i < profile.counts.instructions.size(); ++i) {
    const InstructionCount& count = profile.counts.instructions[i];
    const std::string_view spelling = profile.places->instructions[i].text;
    all.global += count.memory.global_bytes;
    const uint64_t bytes = count.threads * bytes_of_thread(spelling);
    if (bytes <= count.memory.global_bytes) continue;
    const uint64_t elsewhere = bytes - count.memory.global_bytes;
    (count.memory.shared_requests != 0 ? all.shared : all.local) += elsewhere;
  }
  return all;
}

}  // namespace gpuemu
