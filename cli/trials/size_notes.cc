#include "cli/trials/size_notes.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>

#include <fmt/core.h>
#include <fmt/ranges.h>
#include <re2/re2.h>

#include "cli/proposals/tails.h"

namespace gpuemu::cli {
namespace {

constexpr int64_t kBlocksSome = 4;

std::string multiples(int64_t step, int64_t largest) {
  return fmt::format("{{ range = [{0}, {1}], multiple_of = {0} }}", step, largest);
}

/// A size of which only multiples of the block ran.
struct Tail {
  std::string dim;
  int64_t block = 1, each = 1, largest = 0;

  /// The values of all sizes that a thread can take, and of whole blocks.
  std::string all() const {
    return each == 1 ? fmt::format("[1, {}]", largest) : multiples(each, largest);
  }
  std::string whole() const { return multiples(block, std::max(largest, kBlocksSome * block)); }
};

std::optional<Tail> tail_of(const std::string& dim, const ProposedKernel& kernel) {
  // The kernel cannot check a size that it learns only from the grid.
  const std::vector<std::string>& of_grid = kernel.launch().grid_dims;
  if (std::ranges::find(of_grid, dim) != of_grid.end()) return std::nullopt;
  Tail tail{dim, block_of(dim, kernel.launch())};
  const auto known = kernel.sizes.find(dim);
  if (tail.block == 1 || known == kernel.sizes.end()) return std::nullopt;
  re2::StringPiece rest(known->second);
  int64_t value = 0;
  while (RE2::FindAndConsume(&rest, R"((\d+))", &value)) {
    if (value % tail.block != 0) return std::nullopt;
    tail.largest = std::max(tail.largest, value);
  }
  // If a thread handles several elements at once, sizes must be multiples of them.
  if (tail.block % kernel.launch().each == 0) tail.each = kernel.launch().each;
  return tail;
}

/// Returns "M and N".
std::string names_of(const std::vector<Tail>& tails) {
  std::string text;
  for (const Tail& tail : tails) text += (text.empty() ? "" : " and ") + tail.dim;
  return text;
}

/// Returns "M = [1, 64] and N = [1, 64]".
std::string settings_of(const std::vector<Tail>& tails, std::string (Tail::*values)() const) {
  std::string text;
  for (const Tail& tail : tails) {
    text += (text.empty() ? "" : " and ") + tail.dim + " = " + (tail.*values)();
  }
  return text;
}

/// Returns what is uncertain about tails that `launch` rounds up.
std::string doubt_about(const std::vector<Tail>& tails, const std::string& launch) {
  const int64_t each = tails.front().each;
  return fmt::format(
      "Only multiples of {} ran without a finding, but {} rounds {} up{}. If {}, write {}.",
      tails.front().block, launch, names_of(tails),
      each == 1 ? "" : fmt::format(", and each thread takes {} elements at once", each),
      tails.size() == 1 ? tails.front().dim + " is always such a multiple"
                        : "they are always such multiples",
      settings_of(tails, &Tail::whole));
}

/// Returns the note about sizes that are whole blocks; `place` is that of a launch that ensures it,
/// "" if none does.
std::string note_about(const std::vector<Tail>& tails, const std::string& place) {
  const bool is_one = tails.size() == 1;
  const std::string names = names_of(tails);
  const int64_t block = tails.front().block;
  if (!place.empty()) {
    return fmt::format(
        "{} launches it only with multiples of its block size, {}; other sizes fail.", place,
        block);
  }
  return fmt::format(
      "{0} {1} limited to multiples of the block size, {2}, because the kernel does not compare an "
      "index with {3}. If your program passes other sizes, write {4}: a test then shows what goes "
      "wrong.",
      names, is_one ? "is" : "are", block, is_one ? names : "them", settings_of(tails, &Tail::all));
}

/// Returns whether a comparison lets an index equal the size: "i <= n", "n >= i", "if (i > n)
/// return", "if (n < i) return".
bool reaches_size(const std::string& body, const std::string& size) {
  const std::string name = R"((?:\(\s*\w+\s*\)\s*)?)" + RE2::QuoteMeta(size);
  return RE2::PartialMatch(body, R"((?:<=|[^->]>)\s*)" + name + R"(\s*[;)&|?,])") ||
         RE2::PartialMatch(body, R"([;(&|!?=,]\s*)" + name + R"(\s*(?:>=|<[^<=]))");
}

/// Returns the smallest and the largest size in the text: 1 and 1024 of "[1, 2, 256, 1024]", 2 and
/// 300 of "{ range = [2, 300], multiple_of = 1024 }"; nothing for text without sizes.
std::optional<std::pair<int64_t, int64_t>> ends_of(const std::string& sizes) {
  static const RE2 kMultiple(R"(multiple_of\s*=\s*\d+)");
  std::string text = sizes;
  RE2::GlobalReplace(&text, kMultiple, "");
  std::optional<std::pair<int64_t, int64_t>> ends;
  int64_t value = 0;
  re2::StringPiece rest(text);
  while (RE2::FindAndConsume(&rest, R"((\d+))", &value)) {
    if (!ends) ends = {value, value};
    ends = {std::min(ends->first, value), std::max(ends->second, value)};
  }
  return ends;
}

/// Lists the size of the block and its neighbours among the sizes of `dim`: the last element of
/// whole blocks has no thread, and a range would seldom give such a size.
void keep_whole_blocks(const std::string& dim, ProposedKernel& kernel) {
  const int64_t block = block_of(dim, kernel.launch());
  const auto sizes = kernel.sizes.find(dim);
  if (block == 1 || kernel.launch().each > 1 || sizes == kernel.sizes.end()) return;
  const auto ends = ends_of(sizes->second);
  if (!ends) return;
  std::set<int64_t> values = {block / 2 + 1, block - 1, block, block + 1, 2 * block};
  values.insert(std::min(ends->first, block));
  values.insert(std::max(ends->second, block));
  sizes->second = fmt::format("[{}]", fmt::join(values, ", "));
}

}  // namespace

std::set<std::string> settle_tails(const std::vector<std::string>& dims, ProposedKernel& kernel) {
  using Place = std::pair<int64_t, std::string>;  // The block, and the launch in host code.
  std::map<Place, std::vector<Tail>> uncertain, whole;
  std::set<std::string> settled;
  for (const std::string& dim : dims) {
    const auto tail = tail_of(dim, kernel);
    if (!tail) continue;
    settled.insert(dim);
    const auto rounded_up = kernel.rounded_up.find(dim), ensured = kernel.whole_blocks.find(dim);
    const auto sample = kernel.sample_blocks.find(dim);
    const bool is_sample = sample != kernel.sample_blocks.end();
    const auto launch_at = [](const std::string& place) { return "the launch at " + place; };
    if (rounded_up != kernel.rounded_up.end()) {
      uncertain[{tail->block, launch_at(rounded_up->second)}].push_back(*tail);
    } else if (ensured != kernel.whole_blocks.end() && !is_sample) {
      whole[{tail->block, ensured->second}].push_back(*tail);
    } else if (has_tail_check(kernel, dim)) {
      // One number that a program passes does not say that the check is for nothing.
      uncertain[{tail->block, is_sample ? launch_at(sample->second) : "its launch"}].push_back(
          *tail);
    } else {
      whole[{tail->block, is_sample ? sample->second : ""}].push_back(*tail);
    }
  }
  for (const auto& [place, tails] : uncertain) {
    kernel.doubts.push_back(doubt_about(tails, place.second));
    for (const Tail& tail : tails) kernel.sizes[tail.dim] = tail.all();
  }
  for (const auto& [place, tails] : whole) {
    kernel.notes.push_back(note_about(tails, place.second));
    for (const Tail& tail : tails) {
      if (tail.largest > tail.block) kernel.sizes[tail.dim] = multiples(tail.block, tail.largest);
    }
  }
  return settled;
}

std::set<std::string> tell_one_more(ProposedKernel& kernel) {
  std::set<std::string> told;
  for (const ProposedParam& dim : kernel.params) {
    if (dim.role != ParamRole::Dim || !reaches_size(kernel.body, dim.written)) continue;
    std::string tensors;
    size_t count = 0;
    for (const ProposedParam& tensor : kernel.params) {
      if (tensor.shape != std::vector{dim.name + " + 1"}) continue;
      tensors += (tensors.empty() ? "" : " and ") + tensor.name;
      ++count;
    }
    if (count == 0) continue;
    told.insert(dim.name);
    keep_whole_blocks(dim.name, kernel);
    kernel.doubts.push_back(fmt::format(
        "An index can equal {0}, so {1} {2} declared with {0} + 1 elements. If {3} {0}, the access "
        "is out of bounds: write shape = [\"{0}\"], and a test shows it.",
        dim.name, tensors, count == 1 ? "is" : "are",
        count == 1 ? "your " + tensors + " has" : "yours have"));
  }
  return told;
}

void tell_refused(const std::string& dim, int64_t refused, const std::string& why,
                  ProposedKernel& kernel) {
  if (why.empty()) return;
  const std::string first_line = why.substr(0, why.find('\n'));
  const std::string refusal = first_line.substr(0, first_line.find("; "));
  // No size makes it right to use memory that nothing wrote, and the kernel provides for this one.
  const bool is_fault = refusal.find("before anything was written") != std::string::npos;
  if (is_fault && block_of(dim, kernel.launch()) > 1 && has_tail_check(kernel, dim)) {
    kernel.doubts.push_back(fmt::format(
        "The kernel compares an index with {0}, but {0} ran with {1} alone: with {0} = {2}, {3}. "
        "If your program passes no other sizes, write {0} = {1}.",
        dim, kernel.sizes[dim], refused, refusal));
    const auto ends = ends_of(kernel.sizes[dim]);
    if (ends) kernel.sizes[dim] = fmt::format("[{}, {}]", ends->first, ends->second);
    return;
  }
  const int64_t each = kernel.launch().each;
  const bool is_by_each =
      each > 1 && kernel.sizes[dim].ends_with(fmt::format("multiple_of = {} }}", each));
  kernel.notes.push_back(fmt::format(
      "{0} has the sizes that ran: {1}with {0} = {2}, {3}. Give it others if it should take them.",
      dim, is_by_each ? fmt::format("each thread takes {} elements at once, and ", each) : "",
      refused, refusal));
}

}  // namespace gpuemu::cli
