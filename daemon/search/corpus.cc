#include "daemon/search/corpus.h"

#include <algorithm>
#include <set>
#include <string>

#include "common/codec/json_codec.h"
#include "daemon/case/case_report.h"
#include "daemon/case/reproduction.h"

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

}  // namespace gpuemu
