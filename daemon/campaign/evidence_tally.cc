#include "daemon/campaign/evidence_tally.h"

#include <algorithm>

namespace gpuemu {
namespace {

/// Rule of three: if n cases pass, then with 95 % confidence at most 3/n of all such cases are
/// wrong, because otherwise one of the n would have failed with a probability of 1 - (1 - 3/n)^n >=
/// 95 %.
constexpr double kRuleOfThree = 3;

double product_of(const std::map<std::string, int64_t>& dims) {
  double product = 1;
  for (const auto& [name, size] : dims) product *= static_cast<double>(size);
  return product;
}

}  // namespace

void EvidenceTally::add(const CaseReport& outcome, const std::string& value_strategy,
                        const Dims& dims) {
  if (!outcome.result.passed) {
    ++failed_;
    return;
  }
  if (!outcome.extras.evidence) return;
  const CaseEvidence& evidence = *outcome.extras.evidence;
  for (const auto& [name, size] : dims) reached_[name] = std::max(reached_[name], size);
  if (largest_.empty() || product_of(dims) > product_of(largest_)) largest_ = dims;
  ++cases_[{value_strategy, evidence.trivial_outputs.passing}];
  if (evidence.exact) ++exact_;
  copies_ = copies_ && evidence.trivial_outputs.first_input_is_answer;
}

void EvidenceTally::add(const EvidenceCounts& counts) {
  for (const EvidenceRow& row : counts.rows) {
    cases_[{row.value_strategy, row.trivial}] += row.cases;
  }
  exact_ += counts.exact;
  failed_ += counts.failed;
  for (const auto& [name, size] : counts.reached) reached_[name] = std::max(reached_[name], size);
  const bool is_larger = largest_.empty() || product_of(counts.largest) > product_of(largest_);
  if (!counts.largest.empty() && is_larger) largest_ = counts.largest;
  copies_ = copies_ && counts.copies;
}

EvidenceCounts EvidenceTally::counts() const {
  EvidenceCounts counts{.rows = {},
                        .exact = exact_,
                        .failed = failed_,
                        .reached = reached_,
                        .largest = largest_,
                        .copies = copies_};
  for (const auto& [key, cases] : cases_) counts.rows.push_back({key.first, key.second, cases});
  return counts;
}

std::optional<Evidence> EvidenceTally::piece(DType dtype) const {
  if (cases_.empty() && failed_ == 0) return std::nullopt;
  Evidence piece;
  piece.dtype = dtype;
  piece.counts = counts();
  return piece;
}

void EvidenceTally::limit_sizes(const std::vector<DimSpec>& declared, Evidence& evidence) const {
  bool all_at_once = true;
  for (const DimSpec& dim : declared) {
    const auto reached = reached_.find(dim.name);
    if (reached == reached_.end()) continue;
    const int64_t highest = std::ranges::max(dim.values);
    if (reached->second < highest) evidence.up_to[dim.name] = reached->second;
    all_at_once = all_at_once && largest_.at(dim.name) == highest;
  }
  if (evidence.up_to.empty() && !all_at_once) evidence.largest = largest_;
}

std::optional<Evidence> EvidenceTally::evidence(DType dtype,
                                                const std::vector<DimSpec>& declared) const {
  if (cases_.empty()) return std::nullopt;
  Evidence evidence;
  evidence.dtype = dtype;
  evidence.exact = exact_;
  // The op's result is its first input, so a copy that passes is no argument against the cases.
  TrivialOutputs copy;
  if (copies_) copy.set(TrivialOutput::FirstInput);
  for (const auto& [key, count] : cases_) {
    const TrivialOutputs trivial_outputs{key.second & ~copy.passing, false};
    evidence.judged += count;
    if (trivial_outputs.passing == 0) {
      evidence.telling += count;
      evidence.strategies[key.first] += count;
    }
    for (size_t i = 0; i < kTrivialCount; ++i) {
      const auto trivial = static_cast<TrivialOutput>(i);
      if (trivial_outputs.passes(trivial)) evidence.trivial[std::string(name_of(trivial))] += count;
    }
  }
  if (failed_ == 0) {
    const auto telling = static_cast<double>(evidence.telling);
    evidence.failure_limit = evidence.telling == 0 ? 1 : std::min(1.0, kRuleOfThree / telling);
    limit_sizes(declared, evidence);
  }
  return evidence;
}

}  // namespace gpuemu
