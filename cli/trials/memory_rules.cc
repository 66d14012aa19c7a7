#include "cli/trials/memory_rules.h"

#include <algorithm>

#include <fmt/core.h>
#include <re2/re2.h>

namespace gpuemu::cli {

bool is_written_in(const std::string& body, const std::string& tensor) {
  const std::string name = RE2::QuoteMeta(tensor);
  return RE2::PartialMatch(body, R"(atomic\w*\s*\(\s*&?\s*\(?\s*)" + name + R"(\b)") ||
         RE2::PartialMatch(body, R"(\b)" + name + R"(\b\s*(?:\[[^\[\]]*\])?\s*[-+*/|&^]?=[^=])");
}

void mark_scratch(ProposedKernel& kernel) {
  static const RE2 kMemory(
      R"((?i)(?:\w*_)?)"
      R"((?:scratch|scratchpad|workspace|tickets?|semaphores?|locks?|mutex|retired|)"
      R"(counters?|partials?|tmp)(?:_\w*|\d*))");
  const auto is_memory = [](const ProposedParam& param) {
    return param.role == ParamRole::Output && RE2::FullMatch(param.name, kMemory);
  };
  const bool has_result = std::ranges::any_of(kernel.params, [&](const ProposedParam& param) {
    return param.role == ParamRole::InOut || (param.role == ParamRole::Output && !is_memory(param));
  });
  if (!has_result) return;
  for (ProposedParam& param : kernel.params) param.scratch = is_memory(param);
}

void describe_hash_table(ProposedKernel& kernel) {
  for (ProposedParam& table : kernel.params) {
    if (!is_tensor(table) || table.init.empty() || !table.shape.empty()) continue;
    std::string place, size;
    const bool is_claimed = RE2::PartialMatch(
        kernel.body,
        R"(atomicCAS\s*\(\s*&\s*)" + RE2::QuoteMeta(table.written) + R"(\s*\[\s*(\w+)\s*\])",
        &place);
    const std::string modulo = R"(\b)" + RE2::QuoteMeta(place) + R"(\s*=[^;=]*%\s*(\w+)\s*[;,])";
    if (!is_claimed || !RE2::PartialMatch(kernel.body, modulo, &size)) continue;
    const ProposedParam* dim = param_written(kernel, size);
    if (dim == nullptr || dim->role != ParamRole::Dim) continue;
    table.shape = {dim->name};
    table.any_order = true;
    const auto other = std::ranges::find_if(kernel.params, [&](const ProposedParam& param) {
      return param.role == ParamRole::Dim && param.name != dim->name;
    });
    if (other == kernel.params.end()) return;
    kernel.require = fmt::format("{} >= {}", dim->name, other->name);
    return;
  }
}

void describe_compaction(ProposedKernel& kernel) {
  // "base = atomicAdd(count, found)" or "out[atomicAdd(&count[0], 1)]". A counter with an index
  // orders the elements by that index.
  static const RE2 kTaken(
      R"((\w+)\s*[=\[]\s*atomic(?:Add|Inc)\w*\s*\(\s*&?\s*(\w+)\s*(?:\[\s*0\s*\])?\s*,)");
  re2::StringPiece rest(kernel.body);
  std::string place, counted;
  while (RE2::FindAndConsume(&rest, kTaken, &place, &counted)) {
    const ProposedParam* counter = param_written(kernel, counted);
    if (counter == nullptr || !is_tensor(*counter) || !is_integer(*counter)) continue;
    std::string places = RE2::QuoteMeta(place);
    std::string computed;
    re2::StringPiece values(kernel.body);
    while (
        RE2::FindAndConsume(&values, R"(\b(\w+)\s*=\s*[^;={}]*\b)" + place + R"(\b)", &computed)) {
      places += "|" + RE2::QuoteMeta(computed);
    }
    for (ProposedParam& taken : kernel.params) {
      if (!is_tensor(taken) || taken.is_const || &taken == counter || !taken.init.empty()) continue;
      const std::string name = R"(\b)" + RE2::QuoteMeta(taken.written) + R"(\s*\[)";
      const bool is_place = taken.written == place ||
                            RE2::PartialMatch(kernel.body, name + R"([^\]=]*\b(?:)" + places +
                                                               R"()\b[^\]]*\]\s*=[^=])");
      if (!is_place) continue;
      taken.any_order = true;
      taken.init = "0";
    }
  }
}

}  // namespace gpuemu::cli
