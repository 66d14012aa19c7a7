#include "cli/trials/size_notes.h"

#include <algorithm>
#include <numeric>

#include <fmt/core.h>
#include <re2/re2.h>

namespace gpuemu::cli {
namespace {

constexpr int64_t kBlocksSome = 4;

/// Returns the elements of a block if the launch rounds `dim` up to whole blocks; otherwise 1.
int64_t block_of(const std::string& dim, const ProposedLaunch& launch) {
  const std::string name = R"(cdiv\()" + RE2::QuoteMeta(dim);
  for (const std::string& text : launch.grid) {
    int64_t threads_each = 1, block = 0;
    if (!RE2::PartialMatch(text, name + R"(, (\d+)\))", &block) &&
        !RE2::PartialMatch(text, name + R"( \* (\d+), (\d+)\))", &threads_each, &block)) {
      continue;
    }
    block /= std::max<int64_t>(std::gcd(block, threads_each), 1);
    if (block > 1) return block;
  }
  return 1;
}

}  // namespace

bool keep_tails(const std::string& dim, ProposedKernel& kernel) {
  // The kernel cannot check a size that it learns only from the grid.
  const std::vector<std::string>& of_grid = kernel.launch().grid_dims;
  if (std::ranges::find(of_grid, dim) != of_grid.end()) return false;
  const int64_t block = block_of(dim, kernel.launch());
  if (block == 1) return false;
  std::string& values = kernel.sizes[dim];
  re2::StringPiece rest(values);
  int64_t value = 0, largest = 0;
  while (RE2::FindAndConsume(&rest, R"((\d+))", &value)) {
    if (value % block != 0) return false;
    largest = std::max(largest, value);
  }
  // If a thread handles several elements at once, sizes must be multiples of them.
  const int64_t each = block % kernel.launch().each == 0 ? kernel.launch().each : 1;
  values = each == 1 ? fmt::format("[1, {}]", largest)
                     : fmt::format("{{ range = [{0}, {1}], multiple_of = {0} }}", each, largest);
  kernel.doubts.push_back(fmt::format(
      "Only multiples of {0} ran without a finding, but its launch rounds {1} up{2}. If {1} is "
      "always such a multiple, write {1} = {{ range = [{0}, {3}], multiple_of = {0} }}.",
      block, dim, each == 1 ? "" : fmt::format(", and each thread takes {} elements at once", each),
      std::max(largest, kBlocksSome * block)));
  return true;
}

void tell_refused(const std::string& dim, int64_t refused, const std::string& why,
                  ProposedKernel& kernel) {
  if (why.empty()) return;
  const int64_t each = kernel.launch().each;
  const bool is_by_each =
      each > 1 && kernel.sizes[dim].ends_with(fmt::format("multiple_of = {} }}", each));
  kernel.notes.push_back(fmt::format(
      "{0} has the sizes that ran: {1}with {0} = {2}, {3}. Give it others if it should take them.",
      dim, is_by_each ? fmt::format("each thread takes {} elements at once, and ", each) : "",
      refused, why.substr(0, why.find('\n'))));
}

}  // namespace gpuemu::cli
