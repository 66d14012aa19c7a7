#include "tests/conformance/sparse_inputs.h"

#include <cmath>
#include <map>
#include <utility>

#include "tests/conformance/chip_inputs.h"

namespace gpuemu::sparse {
namespace {

/// Returns the lane of a group of four and the first bit that hold the positions of a chunk, as the
/// figures of the ISA show it for selector 0.
std::pair<uint32_t, uint32_t> place_of(const Shape& shape, uint32_t row, uint32_t chunk) {
  if (shape.of_one_row) return {row / 8 + chunk / 8 * 2, chunk % 8 * 4};
  return {chunk / 4, row / 8 * 16 + chunk % 4 * 4};
}

}  // namespace

Shape shape_of(const Form& form) {
  const uint32_t bits = chip::bits_of(form.a);
  const uint32_t chunk = bits == 32 ? 2 : bits == 4 ? 8 : 4;
  return {chunk, chunk / 2, form.k / chunk, bits <= 8};
}

double value_of(const std::string& type, uint64_t bits) {
  struct Layout {
    int exponent, fraction;
  };
  static const std::map<std::string, Layout> kFloats = {{"f16", {5, 10}},  {"bf16", {8, 7}},
                                                        {"tf32", {8, 23}}, {"f32", {8, 23}},
                                                        {"e4m3", {4, 3}},  {"e5m2", {5, 2}}};
  const uint32_t width = chip::bits_of(type);
  const auto found = kFloats.find(type);
  if (found == kFloats.end()) {
    const bool negative = type[0] == 's' && (bits >> (width - 1) & 1) != 0;
    return static_cast<double>(static_cast<int64_t>(bits) - (negative ? int64_t{1} << width : 0));
  }
  const auto [exponent, fraction] = found->second;
  const auto stored = static_cast<int>(bits >> fraction & ((uint64_t{1} << exponent) - 1));
  const auto part = static_cast<double>(bits & ((uint64_t{1} << fraction) - 1));
  const double size = std::ldexp((stored == 0 ? 0 : std::ldexp(1, fraction)) + part,
                                 std::max(stored, 1) - ((1 << (exponent - 1)) - 1) - fraction);
  return (bits >> (width - 1) & 1) != 0 ? -size : size;
}

std::vector<uint32_t> drawn_positions(const Form& form, bool ordered, uint64_t stream) {
  static constexpr uint32_t kAscending[] = {0b0100, 0b1000, 0b1100, 0b1001, 0b1101, 0b1110},
                            kDescending[] = {0b0001, 0b0010, 0b0011, 0b0110, 0b0111, 0b1011};
  const bool halves = std::string(form.a) == "tf32";
  std::vector<uint32_t> out;
  for (uint32_t i = 0; i < kRows * form.k; ++i) {
    const uint64_t r = chip::mix(stream << 32 | i);
    const bool descends = !ordered && !halves && (r >> 20 & 1) != 0;
    out.push_back(halves ? ((r & 1) != 0 ? 0b0100 : 0b1110)
                         : (descends ? kDescending : kAscending)[r % 6]);
  }
  return out;
}

uint32_t place_in_chunk(const Shape& shape, uint32_t positions, uint32_t kept) {
  if (shape.kept == 1) return (positions & 3) / 2;
  if (shape.kept == 2) return positions >> kept * 2 & 3;
  return (positions >> kept / 2 * 2 & 3) * 2 + kept % 2;
}

std::vector<uint32_t> metadata_of(const Form& form, const std::vector<uint32_t>& positions,
                                  uint32_t selector) {
  const Shape shape = shape_of(form);
  // Lanes that are not selected hold metadata of nothing.
  std::vector<uint32_t> out(kWarpLanes, 0xe4e4e4e4);
  const uint32_t lanes = 4 / form.selectors;
  for (uint32_t lane = 0; lane < kWarpLanes; ++lane) {
    if (lane % 4 / lanes == selector) out[lane] = 0;
  }
  for (uint32_t row = 0; row < kRows; ++row) {
    for (uint32_t chunk = 0; chunk < shape.chunks; ++chunk) {
      const auto [lane, bit] = place_of(shape, row, chunk);
      out[row % 8 * 4 + selector * lanes + lane] |= positions[row * shape.chunks + chunk] << bit;
    }
  }
  return out;
}

}  // namespace gpuemu::sparse
