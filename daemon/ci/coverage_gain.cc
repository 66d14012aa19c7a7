#include "daemon/ci/coverage_gain.h"

#include <algorithm>
#include <bit>

namespace gpuemu {
namespace {

// Above the exponent of any power of two that fits a 64-bit count.
constexpr uint32_t kDiverged = 100;

}  // namespace

void LineCoverage::add(const std::vector<LineProfile>& profile, const std::string& source) {
  for (const LineProfile& line : profile) {
    const std::string& file = line.file.empty() ? source : line.file;
    if (!file.empty() && line.line > 0) hits_[{file, line.line}] += line.thread_instructions;
  }
}

std::vector<CoveredLine> LineCoverage::lines() const {
  std::vector<CoveredLine> all;
  for (const auto& [place, hits] : hits_) all.push_back({place.first, place.second, hits});
  return all;
}

size_t CoverageGain::add(const std::vector<LineProfile>& profile) {
  size_t found = 0;
  for (const LineProfile& line : profile) {
    const auto place = std::pair(line.file, line.line);
    if (line.thread_instructions == 0) continue;
    const auto magnitude = static_cast<uint32_t>(std::bit_width(line.thread_instructions));
    if (seen_.insert({place, magnitude}).second) ++found;
    if (line.divergent_branches > 0 && seen_.insert({place, kDiverged}).second) ++found;
  }
  return found;
}

size_t OpPicker::next() {
  ++turn_;
  const auto best = turn_ % 4 == 0 ? std::ranges::min_element(cases_) - cases_.begin()
                                   : std::ranges::max_element(scores_) - scores_.begin();
  return static_cast<size_t>(best);
}

void OpPicker::ran(size_t index, uint64_t cases, size_t found, std::chrono::duration<double> took) {
  cases_[index] += cases;
  const double rate = static_cast<double>(found) / std::max(took.count(), 1e-3);
  scores_[index] = scores_[index] / 2 + rate / 2;
}

}  // namespace gpuemu
