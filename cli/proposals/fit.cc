#include "cli/proposals/fit.h"

#include <algorithm>
#include <iterator>

#include <fmt/core.h>
#include <re2/re2.h>

#include "cli/cuda_text/cpp_text.h"

namespace gpuemu::cli {
namespace {

// Dims of one tensor; more are nested loops that a person should examine.
constexpr size_t kFactorsMax = 6;
constexpr size_t kPairDimsMax = 5;

struct Factor {
  std::string text;
  std::vector<int64_t> values;  ///< One for each reach.
  size_t dim = 0;               ///< The first dim that it is computed from.
};

int64_t value_of(const Reach& reach, const std::string& dim) {
  const auto found = reach.sizes.find(dim);
  return found == reach.sizes.end() ? 1 : found->second;
}

template <typename Compute>
Factor made(std::string text, size_t dim, const std::vector<Reach>& reaches, Compute compute) {
  Factor factor{std::move(text), {}, dim};
  for (const Reach& reach : reaches) factor.values.push_back(compute(reach));
  return factor;
}

std::vector<Factor> plain_factors(const std::vector<Reach>& reaches,
                                  const std::vector<std::string>& dims) {
  std::vector<Factor> all;
  for (size_t i = 0; i < dims.size(); ++i) {
    all.push_back(
        made(dims[i], i, reaches, [&](const Reach& at) { return value_of(at, dims[i]); }));
  }
  return all;
}

/// Returns expressions of one or two dims.
std::vector<Factor> derived_factors(const std::vector<Reach>& reaches,
                                    const std::vector<std::string>& dims) {
  std::vector<Factor> all;
  for (size_t i = 0; i < dims.size(); ++i) {
    const std::string& dim = dims[i];
    for (const int64_t away : {1, -1, -2, 2}) {
      all.push_back(made(fmt::format("{} {} {}", dim, away > 0 ? '+' : '-', std::abs(away)), i,
                         reaches, [&](const Reach& at) { return value_of(at, dim) + away; }));
    }
    for (const int64_t by : {2, 4, 8, 16, 32, 64, 128, 256, 512, 1024}) {
      all.push_back(made(fmt::format("{} / {}", dim, by), i, reaches,
                         [&](const Reach& at) { return value_of(at, dim) / by; }));
    }
    for (const int64_t by : {2, 4, 8, 16, 32, 64, 128, 256, 512, 1024}) {
      all.push_back(made(fmt::format("cdiv({}, {})", dim, by), i, reaches,
                         [&](const Reach& at) { return (value_of(at, dim) + by - 1) / by; }));
    }
  }
  for (size_t i = 0; i < dims.size(); ++i) {
    for (size_t j = 0; j < dims.size(); ++j) {
      if (i == j) continue;
      all.push_back(
          made(fmt::format("{} - {} + 1", dims[i], dims[j]), i, reaches,
               [&](const Reach& at) { return value_of(at, dims[i]) - value_of(at, dims[j]) + 1; }));
    }
  }
  // A scale for each group of elements.
  for (size_t i = 0; i < dims.size(); ++i) {
    for (size_t j = 0; j < dims.size(); ++j) {
      if (i == j) continue;
      all.push_back(
          made(fmt::format("cdiv({}, {})", dims[i], dims[j]), i, reaches, [&](const Reach& at) {
            const int64_t group = std::max<int64_t>(value_of(at, dims[j]), 1);
            return (value_of(at, dims[i]) + group - 1) / group;
          }));
    }
  }
  return all;
}

/// Returns the number that is left at every reach after dividing by the product; 0 if it differs or
/// is no integer.
int64_t left_over(const std::vector<Reach>& reaches, const std::vector<const Factor*>& chosen) {
  int64_t constant = 0;
  for (size_t at = 0; at < reaches.size(); ++at) {
    int64_t product = 1;
    for (const Factor* factor : chosen) {
      if (factor->values[at] <= 0) return 0;
      if (__builtin_mul_overflow(product, factor->values[at], &product)) return 0;
    }
    const auto elements = static_cast<int64_t>(reaches[at].elements);
    if (elements == 0 || elements % product != 0) return 0;
    const int64_t here = elements / product;
    if (constant != 0 && here != constant) return 0;
    constant = here;
  }
  return constant;
}

std::vector<std::string> texts_of(std::vector<const Factor*> chosen, int64_t constant) {
  std::ranges::stable_sort(chosen, {}, [](const Factor* factor) { return factor->dim; });
  std::vector<std::string> shape;
  for (const Factor* factor : chosen) shape.push_back(factor->text);
  if (constant != 1 || shape.empty()) shape.push_back(std::to_string(constant));
  return shape;
}

/// Sets of factors.
struct Sets {
  const std::vector<Factor>& factors;
  bool squares;  ///< Whether a set may contain a factor twice.
  std::vector<const Factor*>& chosen;

  /// Visits all sets of `count` factors added to the chosen ones, in order, until `visit` accepts
  /// one.
  template <typename Visit>
  bool each(size_t count, const Visit& visit, size_t from = 0) {
    if (count == 0) return visit();
    for (size_t i = from; i < factors.size(); ++i) {
      chosen.push_back(&factors[i]);
      const bool again = squares && (chosen.size() < 2 || chosen[chosen.size() - 2] != &factors[i]);
      if (each(count - 1, visit, again ? i : i + 1)) return true;
      chosen.pop_back();
    }
    return false;
  }
};

/// Returns a set of plain dims that, with `fixed`, has a product that leaves 1 or any constant.
std::optional<std::vector<std::string>> fit_sets(const std::vector<Reach>& reaches,
                                                 const std::vector<Factor>& plain,
                                                 const std::vector<const Factor*>& fixed,
                                                 bool any_constant) {
  // Squares in addition to derived factors would be too many to try.
  const bool squares = fixed.empty();
  const size_t most = std::min(squares ? 2 * plain.size() : plain.size(), kFactorsMax);
  for (size_t count = 0; count + fixed.size() <= kFactorsMax && count <= most; ++count) {
    std::vector<const Factor*> chosen = fixed;
    int64_t constant = 0;
    const bool found = Sets{plain, squares, chosen}.each(count, [&] {
      constant = left_over(reaches, chosen);
      return constant == 1 || (any_constant && constant > 1 && constant <= 4096);
    });
    if (found) return texts_of(chosen, constant);
  }
  return std::nullopt;
}

/// Returns the sum over the reaches of the product of the factors, if almost all of it is accessed:
/// less than two steps of the first factor may be missing.
std::optional<int64_t> near_products(const std::vector<Reach>& reaches,
                                     const std::vector<const Factor*>& chosen) {
  int64_t sum = 0;
  for (size_t at = 0; at < reaches.size(); ++at) {
    int64_t product = 1;
    for (const Factor* factor : chosen) {
      if (__builtin_mul_overflow(product, factor->values[at], &product)) return std::nullopt;
    }
    const int64_t missing = product - static_cast<int64_t>(reaches[at].elements);
    const int64_t step = product / chosen.front()->values[at];
    if (missing < 0 || missing >= 2 * step) return std::nullopt;
    sum += product;
  }
  return sum;
}

/// Returns the smallest product of plain dims of which almost all is accessed: the last corner or
/// the border of a grid may be missing.
std::optional<std::vector<std::string>> nearest_product(const std::vector<Reach>& reaches,
                                                        const std::vector<Factor>& plain) {
  std::optional<std::vector<std::string>> best;
  int64_t least = INT64_MAX;
  for (size_t count = 1; count <= std::min(plain.size(), kFactorsMax); ++count) {
    std::vector<const Factor*> chosen;
    Sets{plain, false, chosen}.each(count, [&] {
      const auto sum = near_products(reaches, chosen);
      if (sum && *sum < least) {
        best = texts_of(chosen, 1);
        least = *sum;
      }
      return false;  // Continues with the next set.
    });
  }
  // Tries squares with a border.
  for (size_t i = 0; i < plain.size() && !best; ++i) {
    const std::vector<const Factor*> square = {&plain[i], &plain[i]};
    if (near_products(reaches, square)) best = texts_of(square, 1);
  }
  return best;
}

/// Returns the text of each index expression of `tensor`: the text in brackets, and what is added
/// to its address.
std::string index_texts(const std::string& tensor, const std::string& body) {
  std::string all;
  for (size_t at = find_word(body, tensor); at != std::string::npos;
       at = find_word(body, tensor, at + 1)) {
    size_t next = body.find_first_not_of(" \t\r\n", at + tensor.size());
    if (next == std::string::npos) break;
    if (body[next] == '[') {
      const size_t behind = behind_bracket(body, next);
      if (behind != std::string::npos) all += body.substr(next + 1, behind - next - 2) + " ; ";
    } else if (body[next] == '+') {
      all += body.substr(next + 1, std::min(body.find(';', next), body.size()) - next - 1) + " ; ";
    }
  }
  return all;
}

/// Prefixes the definitions of the variables in the text, one level deep.
std::string with_definitions(const std::string& text, const std::string& body) {
  std::string all;
  for (const std::string& word : qualified_names(text)) {
    std::string value;
    if (RE2::PartialMatch(body, R"((?:^|\W))" + RE2::QuoteMeta(word) + R"(\s*=\s*([^;=]+);)",
                          &value)) {
      all += value + " ; ";
    }
  }
  return all + text;
}

/// Returns whether this factor makes the shape a size that is rounded up: "cdiv(n, 256)" with 256,
/// or "cdiv(rows * 32, 128)" with 4. A kernel that accesses that much lacks a check of its tail,
/// and declaring the shape would hide the fault.
bool rounds_up(const std::string& text, const std::vector<std::string>& shape) {
  static const RE2 kQuotient(R"(cdiv\((.+), (\d+)\))"), kTimes(R"(\* (\d+)$)");
  std::string divided;
  int64_t divisor = 0, times = 1;
  if (!RE2::FullMatch(text, kQuotient, &divided, &divisor) || divisor == 0) return false;
  RE2::PartialMatch(divided, kTimes, &times);
  return std::ranges::any_of(shape, [&](const std::string& factor) {
    int64_t number = 0;
    return RE2::FullMatch(factor, R"((\d+))", &number) && number * times % divisor == 0;
  });
}

}  // namespace

std::optional<std::vector<std::string>> fit_shape(const std::vector<Reach>& reaches,
                                                  const std::vector<std::string>& dims,
                                                  const std::vector<DerivedSize>& derived_sizes,
                                                  const std::vector<std::string>& computed) {
  if (reaches.empty()) return std::nullopt;
  const std::vector<Factor> plain = plain_factors(reaches, dims);
  if (auto shape = fit_sets(reaches, plain, {}, false)) return shape;
  if (!computed.empty()) {
    std::vector<std::string> all = dims;
    all.insert(all.end(), computed.begin(), computed.end());
    if (auto shape = fit_sets(reaches, plain_factors(reaches, all), {}, false)) return shape;
  }
  for (const DerivedSize& size : derived_sizes) {
    const Factor one{size.text, size.values, 0};
    if (auto shape = fit_sets(reaches, plain, {&one}, false)) return shape;
  }
  if (auto shape = fit_sets(reaches, plain, {}, true); shape && shape->size() > 1) return shape;
  const std::vector<Factor> derived = derived_factors(reaches, dims);
  for (const Factor& one : derived) {
    if (auto shape = fit_sets(reaches, plain, {&one}, false)) {
      return shape;
    }
  }
  for (const Factor& one : derived) {
    if (auto shape = fit_sets(reaches, plain, {&one, &one}, false)) return shape;
  }
  // Pairs of factors derived from many dims would take minutes.
  const size_t firsts = dims.size() <= kPairDimsMax ? derived.size() : 0;
  for (size_t i = 0; i < firsts; ++i) {
    for (size_t j = 0; j < derived.size(); ++j) {
      if (derived[i].dim >= derived[j].dim) continue;
      if (auto shape = fit_sets(reaches, plain, {&derived[i], &derived[j]}, false)) return shape;
    }
  }
  // Blocks of elements: 18 bytes for every 32 values.
  std::vector<Factor> blocks;
  for (const DerivedSize& size : derived_sizes) blocks.push_back({size.text, size.values, 0});
  std::ranges::copy(derived, std::back_inserter(blocks));
  for (size_t i = 0; i < blocks.size(); ++i) {
    const Factor& one = blocks[i];
    const bool is_checked = i >= derived_sizes.size() ||
                            (!derived_sizes[i].only_grid && !derived_sizes[i].is_per_block);
    if (std::ranges::count(one.values, one.values.front()) ==
        static_cast<std::ptrdiff_t>(one.values.size())) {
      continue;
    }
    auto shape = fit_sets(reaches, plain, {&one}, true);
    if (shape && !(is_checked && rounds_up(one.text, *shape))) return shape;
  }
  // The tensor has a fixed size, which may equal a product of dims by chance.
  if (auto shape = fit_sets(reaches, plain, {}, true)) return shape;
  return nearest_product(reaches, plain);
}

bool is_per_block(const std::string& tensor, const std::string& body) {
  const std::string text = index_texts(tensor, body);
  return text.find("blockIdx.x") != std::string::npos &&
         text.find("threadIdx") == std::string::npos;
}

std::vector<std::string> nested(const std::vector<std::string>& dims, const std::string& tensor,
                                const std::string& body) {
  const std::string text = with_definitions(index_texts(tensor, body), body);
  std::vector<std::string> outer;
  std::vector<std::pair<size_t, std::string>> inner;
  for (const std::string& dim : dims) {
    const std::string name = RE2::QuoteMeta(dim);
    re2::StringPiece rest(text);
    std::string hit;
    const bool multiplies = RE2::FindAndConsume(
        &rest, R"((\*\s*(?:\([^)]*\)\s*)?)" + name + R"(\b|\b)" + name + R"(\s*\*))", &hit);
    if (multiplies) {
      inner.emplace_back(text.size() - rest.size(), dim);
    } else {
      outer.push_back(dim);
    }
  }
  std::ranges::stable_sort(inner);
  for (auto& [place, dim] : inner) outer.push_back(std::move(dim));
  return outer;
}

}  // namespace gpuemu::cli
