#include <algorithm>
#include <array>
#include <map>

#include "tests/conformance/chip_inputs.h"

namespace gpuemu::chip {
namespace {

struct Layout {
  uint64_t exponent, fraction;
};
const std::map<std::string, Layout> kFloats = {
    {"f16", {5, 10}}, {"bf16", {8, 7}}, {"tf32", {8, 23}}, {"f32", {8, 23}},
    {"e4m3", {4, 3}}, {"e5m2", {5, 2}}, {"f64", {11, 52}}};

uint64_t ones(uint64_t bits) { return (uint64_t{1} << bits) - 1; }

uint64_t integer_of(const std::string& type, const std::string& kind, uint64_t r) {
  if (type != "s32") return r >> 20 & ones(bits_of(type));
  if (kind == "big") {
    return ((0x7fffff00 + (r >> 40 & 0xff)) ^ ((r & 1) != 0 ? 0xffffffff : 0)) & 0xffffffff;
  }
  return kind == "near" ? r >> 20 & 0xffff : r >> 32;
}

uint64_t exponent_of(const Layout& layout, const std::string& kind, uint64_t q) {
  const uint64_t bias = ones(layout.exponent - 1), top = ones(layout.exponent);
  const uint64_t far = std::min<uint64_t>(12, bias - 2);
  if (kind == "wide") return q % top;
  if (kind == "raw") return q & top;
  if (kind == "sub") return q & 3;
  if (kind == "big") return top - 1 - (q & 3);
  if (kind == "spread") return bias - far + q % (2 * far);
  return bias - 3 + q % 7;
}

uint64_t special_of(const Layout& layout, uint64_t choice) {
  const uint64_t m = layout.fraction, bias = ones(layout.exponent - 1);
  const uint64_t infinite = ones(layout.exponent) << m, one = 1;
  const std::array<uint64_t, 9> sizes = {0,
                                         1,
                                         ones(m),
                                         one << m,
                                         infinite,
                                         infinite | 1,
                                         infinite | one << (m - 1),
                                         infinite - 1,
                                         bias << m};
  choice %= 2 * sizes.size();
  return sizes[choice / 2] | (choice % 2) << (layout.exponent + m);
}

/// 0, 1, 2, 3, 4, -1, -2
uint64_t small_integer(const Layout& layout, uint64_t choice) {
  const uint64_t m = layout.fraction, bias = ones(layout.exponent - 1), one = 1;
  const uint64_t sign = one << (layout.exponent + m);
  const std::array<uint64_t, 7> values = {0,
                                          bias << m,
                                          (bias + 1) << m,
                                          (bias + 1) << m | one << (m - 1),
                                          (bias + 2) << m,
                                          sign | bias << m,
                                          sign | (bias + 1) << m};
  return values[choice % values.size()];
}

uint64_t float_of(const Layout& layout, const std::string& kind, uint64_t r) {
  const uint64_t q = mix(r ^ 0x5555), m = layout.fraction;
  if (kind == "int") return small_integer(layout, q);
  if (kind == "special" && (q >> 20 & 63) == 0) return special_of(layout, q >> 30);
  const uint64_t fraction = (m == 52 ? mix(r) : r >> 1) & ones(m);
  return (r >> 63) << (layout.exponent + m) | exponent_of(layout, kind, q) << m | fraction;
}
}  // namespace

bool is_float(const std::string& type) { return kFloats.contains(type); }

uint32_t bits_of(const std::string& type) {
  if (type == "b1") return 1;
  if (type == "e4m3" || type == "e5m2") return 8;
  if (type == "tf32") return 32;
  return static_cast<uint32_t>(std::stoul(type.substr(type.find_first_of("0123456789"))));
}

std::vector<uint64_t> elements_of(const std::string& type, uint64_t count, const std::string& kind,
                                  uint64_t stream) {
  std::vector<uint64_t> out;
  out.reserve(count);
  const auto layout = kFloats.find(type);
  for (uint64_t i = 0; i < count; ++i) {
    const uint64_t r = mix(i + (stream << 40));
    out.push_back(layout == kFloats.end() ? integer_of(type, kind, r)
                                          : float_of(layout->second, kind, r));
  }
  return out;
}

std::vector<uint64_t> fragments_of(const std::string& type, uint64_t registers,
                                   const std::string& kind, uint64_t stream) {
  const uint64_t bits = bits_of(type), per = bits >= 32 ? 1 : 32 / bits;
  const uint64_t words = kWarps * 32 * registers;
  const std::vector<uint64_t> all = elements_of(type, words * per, kind, stream);
  std::vector<uint64_t> out(words);
  for (uint64_t i = 0; i < all.size(); ++i) out[i / per] |= all[i] << (bits * (i % per));
  return out;
}

}  // namespace gpuemu::chip
