#include "daemon/search/corpus.h"

#include <algorithm>
#include <set>
#include <string>

#include "common/codec/json_codec.h"
#include "daemon/case/case_report.h"
#include "daemon/case/reproduction.h"
#include "runtime/profile/reach_set.h"

namespace gpuemu {

std::vector<std::byte> corpus_entry(const ValidationResult& result) {
  const std::string text = encode_reply(ValidationResultReply{result});
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

std::vector<CasePlan> corpus_plans(const OpConfig& op,
                                   std::span<const std::vector<std::byte>> entries) {
  std::vector<CasePlan> plans;
  std::set<uint64_t> seeds;
  for (const std::vector<std::byte>& entry : entries) {
    const auto reply = decode_reply({reinterpret_cast<const char*>(entry.data()), entry.size()});
    const auto* record = reply ? std::get_if<ValidationResultReply>(&*reply) : nullptr;
    if (record == nullptr || !record->result.repro_info) continue;
    auto plan = plan_from(op, *record->result.repro_info);
    if (!plan || !seeds.insert(plan->case_seed).second) continue;
    if (std::ranges::find(op.dtypes, plan->dtype) == op.dtypes.end()) continue;
    if (std::ranges::find(op.kernels, plan->kernel) == op.kernels.end()) plan->kernel.clear();
    plans.push_back(*std::move(plan));
  }
  return plans;
}

Result<std::vector<CorpusEntry>> given_corpus(const OpConfig& op,
                                              std::span<const CorpusCase> cases) {
  std::vector<CorpusEntry> entries;
  for (const CorpusCase& one : cases) {
    CorpusEntry& entry = entries.emplace_back();
    entry.plan = GPUEMU_TRY(plan_from(op, one.repro_info));
    const bool has = std::ranges::find(op.dtypes, entry.plan.dtype) != op.dtypes.end();
    const bool is_sorted = std::ranges::is_sorted(one.features);
    if (!has || !is_sorted || (!one.features.empty() && one.features.back() >= kFeatures)) {
      return error(ErrorCode::InvalidArgument,
                   "corpus entry {} (case {}) does not fit op '{}': expected one of its dtypes and "
                   "sorted features below {}; send the cases of an earlier reply's search.features",
                   entries.size() - 1, one.repro_info.seed, op.name, kFeatures);
    }
    if (std::ranges::find(op.kernels, entry.plan.kernel) == op.kernels.end()) {
      entry.plan.kernel.clear();
    }
    entry.features = one.features;
    entry.number = one.number;
  }
  return entries;
}

std::vector<ReproductionInfo> cases_of(const CorpusEntries& entries) {
  std::vector<ReproductionInfo> cases;
  for (const auto& entry : entries) cases.push_back(reproduction_of(entry->plan, {}));
  return cases;
}

}  // namespace gpuemu
