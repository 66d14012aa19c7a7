#include "cli/trials/sizes.h"

#include <algorithm>
#include <bit>
#include <numeric>

#include <fmt/core.h>
#include <fmt/ranges.h>
#include <re2/re2.h>

namespace gpuemu::cli {
namespace {

// Above this a trial takes too long for its benefit.
constexpr int64_t kVolumeMax = 12'000, kTileVolumeMax = 60'000;
constexpr int kOrders = 40;
constexpr size_t kSetMax = 8;
constexpr int64_t kStepsMax = 4;

/// A small generator, so that the orders are the same in every run.
uint32_t next(uint32_t& state) {
  state = state * 1664525u + 1013904223u;
  return state >> 16;
}

Sizes ordered(const std::vector<std::string>& dims, std::vector<int64_t> pool, uint32_t& state) {
  Sizes sizes;
  for (const std::string& dim : dims) {
    const size_t at = pool.empty() ? 0 : next(state) % pool.size();
    sizes[dim] = pool.empty() ? 2 : pool[at];
    if (!pool.empty()) pool.erase(pool.begin() + static_cast<std::ptrdiff_t>(at));
  }
  return sizes;
}

int64_t volume(const Sizes& sizes) {
  int64_t product = 1;
  for (const auto& [dim, size] : sizes) {
    if (__builtin_mul_overflow(product, size, &product)) {
      return INT64_MAX;
    }
  }
  return product;
}

std::vector<Sizes> orders_of(const std::vector<std::string>& dims, const std::vector<int64_t>& pool,
                             int64_t volume_max = kVolumeMax) {
  std::vector<Sizes> all;
  uint32_t state = 1;
  for (int i = 0; i < kOrders; ++i) {
    const Sizes sizes = ordered(dims, pool, state);
    if (volume(sizes) <= volume_max && std::ranges::find(all, sizes) == all.end()) {
      all.push_back(sizes);
    }
  }
  return all;
}

/// The allowed values of one dim: the least and the largest value, or a list.
struct Allowed {
  int64_t low = 0, high = 0;
  std::vector<int64_t> set;  ///< Empty if everything from low to high works.
  std::vector<int64_t> bad;  ///< Values that were tried and do not work.
};

Allowed summed_up(const std::vector<int64_t>& good, const std::vector<int64_t>& bad, int64_t base) {
  Allowed out{base, base, {}, bad};
  if (good.empty()) return out;
  out.low = good.front();
  out.high = good.back();
  const bool holes =
      std::ranges::any_of(bad, [&](int64_t value) { return value > out.low && value < out.high; });
  if (holes) out.set = good;
  return out;
}

bool is_power_of_two(int64_t value) {
  return value > 0 && std::has_single_bit(static_cast<uint64_t>(value));
}

/// The gpuemu.toml key, such as "multiple_of = 32", that accepts the working values and rejects the
/// failing values between them; "" if no key does.
std::string rule_of(const Allowed& allowed) {
  const auto none_between = [&](const auto& follows_rule) {
    return std::ranges::none_of(allowed.bad, [&](int64_t value) {
      return value > allowed.low && value < allowed.high && follows_rule(value);
    });
  };
  int64_t step = 0;
  for (const int64_t value : allowed.set) step = std::gcd(step, value);
  if (step > 1 && none_between([&](int64_t value) { return value % step == 0; })) {
    return fmt::format("multiple_of = {}", step);
  }
  const bool are_powers = std::ranges::all_of(allowed.set, is_power_of_two);
  return are_powers && none_between(is_power_of_two) ? "power_of_two = true" : "";
}

/// The dim's value in gpuemu.toml.
std::string dim_text(const Allowed& allowed) {
  if (allowed.set.empty()) {
    return allowed.low == allowed.high ? std::to_string(allowed.low)
                                       : fmt::format("[{}, {}]", allowed.low, allowed.high);
  }
  if (allowed.set.size() == 2) {
    return fmt::format("{{ values = [{}, {}] }}", allowed.low, allowed.high);
  }
  if (const std::string rule = rule_of(allowed); !rule.empty()) {
    return fmt::format("{{ range = [{}, {}], {} }}", allowed.low, allowed.high, rule);
  }
  // Keep a few values, with the smallest and the largest.
  std::vector<int64_t> some = allowed.set;
  while (some.size() > kSetMax) {
    some.erase(some.begin() + static_cast<std::ptrdiff_t>(some.size() / 2));
  }
  return fmt::format("[{}]", fmt::join(some, ", "));
}

const std::vector<int64_t>& values_for(size_t dims) {
  static const std::vector<int64_t> kOne = {1,   2,   3,   4,   5,   7,    8,    16,   31,  32,
                                            33,  48,  63,  64,  96,  100,  127,  128,  160, 192,
                                            255, 256, 300, 512, 768, 1000, 1024, 2048, 3000};
  static const std::vector<int64_t> kTwo = {1,  2,  3,  4,   5,   7,   8,   16,  31,  32,  33, 48,
                                            63, 64, 96, 100, 127, 128, 160, 192, 255, 256, 300};
  static const std::vector<int64_t> kThree = {1, 2, 3, 4, 5, 7, 8, 16, 31, 32, 33, 48, 64, 96, 128};
  static const std::vector<int64_t> kMore = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
  return dims <= 1 ? kOne : dims == 2 ? kTwo : dims == 3 ? kThree : kMore;
}

/// Computes ranges in which all corners work, from ranges in which one dim was varied alone.
void shrink(const std::vector<std::string>& dims, const Sizes& base, const Works& works,
            std::map<std::string, Allowed>& allowed) {
  const auto corner = [&](const std::string& special, bool special_low) {
    Sizes sizes = base;
    for (const std::string& dim : dims) {
      sizes[dim] = (dim == special) == special_low ? allowed[dim].low : allowed[dim].high;
    }
    return sizes;
  };
  const auto all_low = [&] {
    Sizes sizes = base;
    for (const std::string& dim : dims) sizes[dim] = allowed[dim].low;
    return sizes;
  };
  for (const std::string& dim : dims) {
    for (const bool low : {true, false}) {
      if (works(corner(dim, low))) continue;
      // Moves the other dims' ends back to values that are known to work, one after the other,
      // until the kernel works; then this dim's own end.
      for (const std::string& other : dims) {
        if (other == dim) continue;
        (low ? allowed[other].high : allowed[other].low) = base.at(other);
        if (works(corner(dim, low))) break;
      }
      if (!works(corner(dim, low))) (low ? allowed[dim].low : allowed[dim].high) = base.at(dim);
    }
  }
  if (!works(all_low())) {
    for (const std::string& dim : dims) {
      allowed[dim].low = base.at(dim);
    }
  }
}

/// Removes large sizes until the kernel works with the largest of all dims at once.
void lower_largest(const std::vector<std::string>& dims, const Sizes& base, const Works& works,
                   std::map<std::string, Allowed>& allowed) {
  constexpr size_t kRoundsMax = 8, kValuesMin = 3;
  const auto largest = [&] {
    Sizes sizes = base;
    for (const std::string& dim : dims) sizes[dim] = allowed[dim].high;
    return sizes;
  };
  for (size_t round = 0; round < kRoundsMax && !works(largest()); ++round) {
    for (const std::string& dim : dims) {
      Allowed& one = allowed[dim];
      const int64_t known = base.at(dim);
      if (one.set.empty()) {
        one.high = std::max(known, (one.high + known) / 2);
      } else if (one.set.size() > kValuesMin && one.set.back() > known) {
        one.set.pop_back();
        one.high = one.set.back();
      }
    }
  }
}

}  // namespace

std::vector<std::vector<Sizes>> sizes_to_try(const std::vector<std::string>& dims) {
  if (dims.empty()) return {std::vector<Sizes>{Sizes{}}};
  using Family = std::vector<std::vector<int64_t>>;
  static const std::vector<Family> kOne = {{{37}, {700}, {1500}},   {{3}, {11}, {40}},
                                           {{700}, {5000}, {9000}}, {{64}, {256}, {1024}},
                                           {{256}, {512}, {2048}},  {{2048}, {6144}, {4096}}};
  static const std::vector<Family> kTwo = {{{5, 300}, {37, 11}, {130, 67}},
                                           {{300, 5}, {130, 37}, {67, 11}},
                                           {{3, 40}, {20, 7}, {9, 35}},
                                           {{5, 300}, {37, 130}, {11, 67}},
                                           {{5, 288}, {37, 32}, {130, 96}},
                                           {{288, 5}, {32, 37}, {96, 130}},
                                           // A square of one of them also fits a trial.
                                           {{3, 32}, {6, 16}, {2, 48}},
                                           {{32, 3}, {16, 6}, {48, 2}},
                                           {{96, 160}, {224, 32}, {64, 288}},
                                           {{64, 512}, {256, 32}, {128, 16}},
                                           {{64, 256}, {192, 128}, {128, 384}}};
  if (dims.size() <= 2) {
    std::vector<std::vector<Sizes>> all;
    for (const Family& family : dims.size() == 1 ? kOne : kTwo) {
      std::vector<Sizes>& together = all.emplace_back();
      for (const std::vector<int64_t>& values : family) {
        Sizes& sizes = together.emplace_back();
        for (size_t i = 0; i < dims.size(); ++i) sizes[dims[i]] = values[i];
      }
    }
    return all;
  }
  const bool few = dims.size() == 3;
  std::vector<std::vector<Sizes>> all = {
      orders_of(dims, few ? std::vector<int64_t>{3, 5, 7, 11, 13, 34, 70}
                          : std::vector<int64_t>{2, 3, 4, 5, 6, 7, 9, 11, 13}),
      // Many dims of a few elements each, some of them equal.
      orders_of(dims, {2, 2, 3, 3, 4, 4, 5, 6, 7}),
      orders_of(dims, {2, 3, 4, 6, 8, 10, 12, 14, 16}), orders_of(dims, {32, 64, 16, 2, 3, 5}),
      orders_of(dims, {2, 4, 8, 16, 32, 64})};
  if (few) all.push_back(orders_of(dims, {16, 32, 48, 64}, kTileVolumeMax));
  if (dims.size() > 6) all.push_back(orders_of(dims, {2, 2, 2, 2, 3, 3, 3, 4, 5}, INT64_MAX));
  std::erase_if(all, [](const std::vector<Sizes>& together) { return together.empty(); });
  return all;
}

std::map<std::string, int64_t> tiles_of(const std::vector<std::string>& grid) {
  static const RE2 kTile(R"(cdiv\((\w+), (\d+)\))");
  std::map<std::string, int64_t> tiles;
  for (const std::string& text : grid) {
    std::string dim;
    int64_t tile = 0;
    if (RE2::FullMatch(text, kTile, &dim, &tile)) tiles[dim] = tile;
  }
  return tiles;
}

std::map<std::string, int64_t> divisors_of(const std::map<std::string, std::string>& follows) {
  constexpr int64_t kDivisorMax = 256;
  static const RE2 kQuotient(R"((?:cdiv\((\w+), (\d+)\)|(\w+) / (\d+)))");
  std::map<std::string, int64_t> divisors;
  for (const auto& [name, text] : follows) {
    std::string rounded_up, rounded_down, by_up, by_down;
    if (!RE2::FullMatch(text, kQuotient, &rounded_up, &by_up, &rounded_down, &by_down)) continue;
    const int64_t divisor = std::strtoll((by_up.empty() ? by_down : by_up).c_str(), nullptr, 10);
    const std::string& dim = rounded_up.empty() ? rounded_down : rounded_up;
    if (divisor > 0 && divisor <= kDivisorMax) divisors[dim] = divisor;
  }
  return divisors;
}

std::vector<std::vector<Sizes>> tiles_to_try(const std::vector<std::string>& dims,
                                             const std::map<std::string, int64_t>& tiles) {
  constexpr int64_t kLargeTile = 32, kTileMax = 256;
  const bool any = std::ranges::any_of(
      tiles, [](const auto& tile) { return tile.second >= kLargeTile && tile.second <= kTileMax; });
  if (!any || dims.size() < 2 || dims.size() > 4) return {};
  // Multiples of the tile for each dim, and of 16 or 32 for the others; no two products are equal.
  static constexpr int64_t kTiles[][2] = {{1, 2}, {2, 1}, {1, 3}};
  static constexpr int64_t kSteps[][2] = {{2, 3}, {1, 4}, {1, 2}};
  std::vector<std::vector<Sizes>> all;
  for (const int64_t step : {16, 32}) {
    std::vector<Sizes>& together = all.emplace_back();
    for (size_t at = 0; at < std::size(kTiles); ++at) {
      Sizes& sizes = together.emplace_back();
      size_t tiled = 0, other = 0;
      for (const std::string& dim : dims) {
        const auto tile = tiles.find(dim);
        sizes[dim] = tile != tiles.end() ? tile->second * kTiles[at][tiled++ % 2]
                                         : step * kSteps[at][other++ % 2];
      }
    }
    if (tiles.size() == dims.size()) break;  // The others would be the same.
  }
  return all;
}

AllowedSizes allowed_sizes(const std::vector<std::string>& dims, const Sizes& base,
                           const Works& works, const Works& meant,
                           const std::map<std::string, int64_t>& steps) {
  std::map<std::string, Allowed> allowed;
  for (const std::string& dim : dims) {
    std::vector<int64_t> good, bad;
    std::vector<int64_t> values = values_for(dims.size());
    values.push_back(base.at(dim));
    if (const auto step = steps.find(dim); step != steps.end()) {
      for (int64_t count = 1; count <= kStepsMax; ++count) {
        values.push_back(count * step->second);
        values.push_back(count * step->second + 1);
      }
    }
    std::ranges::sort(values);
    const auto repeated = std::ranges::unique(values);
    values.erase(repeated.begin(), repeated.end());
    for (const int64_t value : values) {
      Sizes sizes = base;
      sizes[dim] = value;
      if (meant(sizes)) (works(sizes) ? good : bad).push_back(value);
    }
    allowed[dim] = summed_up(good, bad, base.at(dim));
  }
  std::vector<std::string> ranged;
  for (const std::string& dim : dims) {
    if (allowed[dim].set.empty()) {
      ranged.push_back(dim);
    }
  }
  const auto is_fine = [&](const Sizes& sizes) { return !meant(sizes) || works(sizes); };
  if (ranged.size() > 1) shrink(ranged, base, is_fine, allowed);
  lower_largest(dims, base, is_fine, allowed);
  AllowedSizes out;
  for (const std::string& dim : dims) {
    const Allowed& one = allowed[dim];
    out.values[dim] = dim_text(one);
    const auto between = std::ranges::find_if(
        one.bad, [&](int64_t value) { return value > one.low && value < one.high; });
    if (between != one.bad.end()) out.refused[dim] = *between;
  }
  return out;
}

size_t narrow_dims(const std::map<std::string, std::string>& values) {
  constexpr int64_t kNarrow = 16;
  return static_cast<size_t>(std::ranges::count_if(values, [](const auto& dim) {
    int64_t value = 0, largest = 0;
    re2::StringPiece rest(dim.second);
    while (RE2::FindAndConsume(&rest, R"((\d+))", &value)) largest = std::max(largest, value);
    return largest < kNarrow;
  }));
}

}  // namespace gpuemu::cli
