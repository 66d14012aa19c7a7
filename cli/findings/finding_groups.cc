#include "cli/findings/finding_groups.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "common/protocol/findings.h"

namespace gpuemu::cli {
namespace {

using Key = std::tuple<FindingKind, std::string, uint32_t, std::string>;

Key key_of(const ValidationFailure& failure) {
  if (failure.source_line > 0) return {failure.kind, failure.source_file, failure.source_line, ""};
  return {failure.kind, "", 0, failure.output};
}

double elements_of(const ValidationResult& result) {
  if (!result.repro_info) return 0;
  double elements = 1;
  for (const auto& [name, size] : result.repro_info->dims) elements *= static_cast<double>(size);
  for (const int64_t size : result.repro_info->shape) elements *= static_cast<double>(size);
  return elements;
}

bool is_cause(const ValidationFailure& failure) {
  return finding_info(failure.kind).effect != FindingEffect::None;
}

}  // namespace

std::vector<FindingGroup> group_findings(const std::vector<const ValidationResult*>& failures) {
  std::vector<FindingGroup> groups;
  std::map<Key, size_t> known;
  for (const ValidationResult* result : failures) {
    const bool has_cause = std::ranges::any_of(result->failures, is_cause);
    std::set<size_t> here;
    for (const ValidationFailure& failure : result->failures) {
      const auto [found, fresh] = known.try_emplace(key_of(failure), groups.size());
      if (fresh) groups.push_back({&failure, result});
      FindingGroup& group = groups[found->second];
      if (failure.diagnosis && group.diagnosis == nullptr) group.diagnosis = &*failure.diagnosis;
      if (!here.insert(found->second).second) continue;
      ++group.cases;
      group.is_consequence = group.is_consequence && has_cause && !is_cause(failure);
      if (elements_of(*result) < elements_of(*group.smallest)) {
        group.finding = &failure;
        group.smallest = result;
      }
    }
  }
  std::ranges::stable_sort(
      groups, {}, [](const FindingGroup& group) { return is_cause(*group.finding) ? 0 : 1; });
  return groups;
}

bool is_same_fault(const ValidationFailure& one, const ValidationFailure& other) {
  return key_of(one) == key_of(other);
}

}  // namespace gpuemu::cli
