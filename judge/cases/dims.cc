// Draws sizes by strategy, and lists the corner sizes for the covering array.
#include "judge/cases/dims.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <map>
#include <set>

#include "common/rng/rng.h"

namespace gpuemu {
namespace {

constexpr int64_t kPrimes[] = {2,  3,  5,  7,  11, 13, 17,  19,  23,  29,  31,  37,  41,
                               43, 47, 53, 61, 67, 97, 131, 197, 257, 389, 521, 769, 1031};
// Limit of the corner sizes of one dim: no range has more; a longer list of sizes is cut.
constexpr size_t kCornersMax = 24;
constexpr int64_t kTiles[] = {16, 32, 64, 128, 256};

/// Returns the sizes that the dim may have, sorted and unique.
std::vector<int64_t> legal(const DimSpec& dim, const std::vector<int64_t>& wanted) {
  std::set<int64_t> sizes;
  for (const int64_t size : wanted) {
    const bool fits = dim.is_set ? std::ranges::find(dim.values, size) != dim.values.end()
                                 : size >= lowest(dim) && size <= highest(dim);
    if (fits) sizes.insert(size);
  }
  return {sizes.begin(), sizes.end()};
}

std::vector<int64_t> regular_sizes() {
  std::vector<int64_t> sizes;
  for (int64_t power = 1; power <= int64_t{1} << 20; power *= 2) sizes.push_back(power);
  for (const int64_t step : {32, 64, 128}) {
    for (int64_t times = 3; times <= 9; times += 2) sizes.push_back(step * times);
  }
  return sizes;
}

std::vector<int64_t> boundary_sizes(const DimSpec& dim) {
  std::vector<int64_t> sizes{lowest(dim), highest(dim), 1, 2, 3, 37, 131, 521, 1031};
  for (const int k : {4, 5, 7, 10}) {
    for (const int64_t off : {-1, 0, 1}) sizes.push_back((int64_t{1} << k) + off);
  }
  return sizes;
}

std::vector<int64_t> tile_sizes() {
  std::vector<int64_t> sizes;
  for (const int64_t t : kTiles) {
    for (const int64_t size : {t - 1, t, t + 1, 2 * t, 2 * t + 1, 3 * t + 1}) sizes.push_back(size);
  }
  return sizes;
}

std::vector<int64_t> sizes_around(const std::vector<int64_t>& constants) {
  std::vector<int64_t> sizes;
  for (const int64_t c : constants) {
    for (const int64_t size : {c - 1, c, c + 1, 2 * c, 2 * c + 1}) sizes.push_back(size);
  }
  return sizes;
}

/// Shared by all dims of a case.
struct Draw {
  Strategy strategy = Strategy::None;
  uint64_t shared = 0;
  std::vector<std::string> reduced;   ///< Dims that are summed over.
  const DimSpec* zero = nullptr;      ///< The dim that is 0.
  const DimSpec* long_one = nullptr;  ///< The dim at its largest.
  Constants constants = {};
  std::optional<uint64_t> turn = {};
  bool longest = false;
  /// The size of each dim in this turn, while there are combinations of singled-out numbers left.
  std::map<std::string, int64_t> combination = {};
};

/// Uses every constant itself first, then the sizes around it. After that, shifts the dims against
/// each other so that pairs of constants are combined.
int64_t size_of_turn(const DimSpec& dim, size_t position, const Draw& draw) {
  const std::vector<int64_t>& constants = draw.constants.all;
  std::vector<int64_t> order = legal(dim, constants);
  for (const int64_t size : legal(dim, sizes_around(constants))) {
    if (std::ranges::find(constants, size) == constants.end()) order.push_back(size);
  }
  const uint64_t turn = *draw.turn;
  return order[(turn + position * (turn / order.size())) % order.size()];
}

/// The first turns use the sizes that code singles out, such as `rows == 3 && cols == 96` as a
/// whole: every combination of those that the dims can have, if there are few.
void take_combination(const OpConfig& op, Draw& draw) {
  constexpr uint64_t kCombinationsMax = 6;
  uint64_t left = *draw.turn, combinations = 1;
  for (const DimSpec& dim : op.dims) {
    const std::vector<int64_t> sizes = legal(dim, draw.constants.singled);
    if (sizes.empty()) continue;
    draw.combination[dim.name] = sizes[left % sizes.size()];
    left /= sizes.size();
    combinations *= sizes.size();
    if (combinations > kCombinationsMax) break;
  }
  combinations = draw.combination.empty() ? 0 : std::min(combinations, kCombinationsMax);
  if (*draw.turn < combinations) return;
  draw.combination.clear();
  *draw.turn -= combinations;
}

/// The next turns use the lists of sizes that take a rare path, one each: every dim that can have
/// one of the sizes does.
void take_class(const OpConfig& op, Stream stream, Draw& draw) {
  if (!draw.combination.empty()) return;
  for (const std::vector<int64_t>& sizes : draw.constants.classes) {
    std::map<std::string, int64_t> taken;
    for (const DimSpec& dim : op.dims) {
      const std::vector<int64_t> fitting = legal(dim, sizes);
      if (!fitting.empty()) taken[dim.name] = fitting[stream.below(fitting.size())];
    }
    if (taken.empty()) continue;
    if ((*draw.turn)-- > 0) continue;
    draw.turn = 0;
    draw.combination = std::move(taken);
    return;
  }
}

int64_t size_of(const DimSpec& dim, size_t position, const Draw& draw, Stream stream) {
  const int64_t least = std::min(std::max<int64_t>(1, lowest(dim)), highest(dim));
  std::vector<int64_t> sizes;
  if (draw.strategy == Strategy::Regular) sizes = legal(dim, regular_sizes());
  if (draw.strategy == Strategy::Boundary) sizes = legal(dim, boundary_sizes(dim));
  if (draw.strategy == Strategy::TileCross) sizes = legal(dim, tile_sizes());
  if (draw.strategy == Strategy::Degenerate) {
    if (draw.zero != nullptr) {
      return &dim == draw.zero ? 0 : legal(dim, {least}).empty() ? lowest(dim) : least;
    }
    return lowest(dim);
  }
  if (draw.strategy == Strategy::Distinct) {
    const auto primes = legal(dim, {std::begin(kPrimes), std::end(kPrimes)});
    if (!primes.empty()) return primes[(draw.shared + position) % primes.size()];
  }
  if (draw.strategy == Strategy::LongReduce) {
    if (std::ranges::find(draw.reduced, dim.name) == draw.reduced.end()) {
      return legal(dim, {least}).empty() ? lowest(dim) : least;
    }
    if (draw.longest) return highest(dim);
    sizes = legal(dim, {4097, 65537, highest(dim)});
  }
  if (draw.strategy == Strategy::ShortReduce) {
    const bool reduced = std::ranges::find(draw.reduced, dim.name) != draw.reduced.end();
    sizes = legal(dim, reduced ? std::vector<int64_t>{2, 3, 4, 5, 8} : std::vector<int64_t>{64});
    if (sizes.empty() && highest(dim) < 64) return highest(dim);
  }
  if (draw.strategy == Strategy::Waves) {
    if (&dim == draw.long_one) return highest(dim);
    sizes = legal(dim, {least, least + 1, least + 2});
  }
  if (draw.strategy == Strategy::Constants) {
    const auto given = draw.combination.find(dim.name);
    if (given != draw.combination.end()) return given->second;
    sizes = legal(dim, sizes_around(draw.constants.all));
    if (draw.turn && !sizes.empty()) return size_of_turn(dim, position, draw);
  }
  if (!sizes.empty()) return sizes[stream.below(sizes.size())];
  return drawn_size(dim, stream);
}

}  // namespace

int64_t drawn_size(const DimSpec& dim, Stream& stream) {
  if (dim.is_set) return dim.values[stream.below(dim.values.size())];
  // Halves the range a random number of times.
  const auto span = static_cast<uint64_t>(highest(dim) - lowest(dim));
  const uint64_t halvings = stream.below(static_cast<uint64_t>(std::bit_width(span)) + 1);
  return stream.integer(lowest(dim), lowest(dim) + static_cast<int64_t>(span >> halvings));
}

std::vector<int64_t> corner_sizes(const DimSpec& dim, uint64_t base_seed) {
  std::vector<int64_t> sizes = legal(dim, dim.is_set ? dim.values : boundary_sizes(dim));
  Stream stream(base_seed, 0, "corner/" + dim.name);
  for (size_t i = sizes.size(); i-- > 1;) std::swap(sizes[i], sizes[stream.below(i + 1)]);
  const auto first = [&](int64_t size, size_t place) {
    const auto at = std::ranges::find(sizes, size);
    if (at != sizes.end() && place < sizes.size()) std::swap(*at, sizes[place]);
  };
  first(lowest(dim), 0);
  if (highest(dim) != lowest(dim)) first(highest(dim), 1);
  if (sizes.size() > kCornersMax) sizes.resize(kCornersMax);
  return sizes;
}

bool fits_constants(const OpConfig& op, const Constants& constants) {
  return std::ranges::any_of(op.dims, [&](const DimSpec& dim) {
    const auto fits = [&](const std::vector<int64_t>& sizes) { return !legal(dim, sizes).empty(); };
    return fits(sizes_around(constants.all)) || std::ranges::any_of(constants.classes, fits);
  });
}

int64_t other_size(const DimSpec& dim, int64_t size, const Constants& constants, Stream& stream) {
  std::vector<int64_t> wanted{size - 1,       size + 1,    size * 2,    size * 2 + 1,
                              (size + 1) / 2, lowest(dim), highest(dim)};
  if (dim.is_set) wanted = dim.values;
  const auto corners = dim.is_set ? std::vector<int64_t>() : boundary_sizes(dim);
  // Only a few of the corners and constants, so that their neighbours are as likely.
  for (const auto& more : {sizes_around(constants.all), corners}) {
    for (int i = 0; i < 4 && !more.empty(); ++i) wanted.push_back(more[stream.below(more.size())]);
  }
  std::vector<int64_t> sizes = legal(dim, wanted);
  std::erase(sizes, size);
  return sizes.empty() ? size : sizes[stream.below(sizes.size())];
}

DimChoice choose_dims(const OpConfig& op, const DimRequest& request) {
  Stream stream(request.base_seed, request.iteration, "strategy");
  Draw draw;
  draw.strategy = request.strategies[stream.below(request.strategies.size())];
  draw.shared = stream.below(std::size(kPrimes));
  if (op.accumulate) draw.reduced = op.accumulate->names();
  draw.constants = request.constants;
  draw.turn = request.turn;
  draw.longest = request.longest;
  if (draw.turn) take_combination(op, draw);
  if (draw.turn) {
    take_class(op, Stream(request.base_seed, request.iteration, "constants/class"), draw);
  }
  if (draw.strategy == Strategy::Waves && !op.dims.empty()) {
    draw.long_one = request.longest ? &longest_dim(op) : &op.dims[draw.shared % op.dims.size()];
  }
  std::vector<const DimSpec*> may_vanish;
  for (const DimSpec& dim : op.dims) {
    if (!legal(dim, {0}).empty()) may_vanish.push_back(&dim);
  }
  if (!may_vanish.empty()) draw.zero = may_vanish[stream.below(may_vanish.size())];
  DimChoice choice{draw.strategy, {}};
  for (size_t j = 0; j < op.dims.size(); ++j) {
    const DimSpec& dim = op.dims[j];
    const Stream own(request.base_seed, request.iteration, "dim/" + dim.name);
    choice.dims[dim.name] = size_of(dim, j, draw, own);
  }
  return choice;
}

const DimSpec& longest_dim(const OpConfig& op) {
  return *std::ranges::max_element(op.dims, {}, highest);
}

int64_t nearest_size(const DimSpec& dim, int64_t size) {
  if (!dim.is_set) return std::clamp(size, lowest(dim), highest(dim));
  return *std::ranges::min_element(dim.values, {},
                                   [size](int64_t one) { return std::abs(one - size); });
}

int64_t smaller_size(const DimSpec& dim, int64_t size) {
  if (dim.is_set) {
    int64_t best = size;
    for (const int64_t value : dim.values) {
      if (value < size && (best == size || value > best)) best = value;
    }
    return best;
  }
  const int64_t half = size / 2 + (size & 1);  // Keeps an odd size odd and an even one even.
  return std::max(lowest(dim), half == size ? size - 1 : half);
}

}  // namespace gpuemu
