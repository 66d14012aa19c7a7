#include "cli/trials/memory_rules.h"

#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/core.h>
#include <re2/re2.h>

#include "cli/cuda_text/cpp_text.h"

namespace gpuemu::cli {
namespace {

bool names_any(const std::string& text, const std::set<std::string>& names) {
  const std::vector<std::string> words = qualified_names(text);
  return std::ranges::any_of(words, [&](const std::string& word) { return names.contains(word); });
}

/// Returns `place` and every variable that the text computes from it.
std::set<std::string> computed_from(const std::string& place, const std::string& body) {
  static const RE2 kAssigned(R"((\w+)\s*(?:\[[^\[\]]*\]\s*)?(?:[-+*/%|&^]|<<|>>)?=)");
  std::set<std::string> names = {place};
  for (size_t before = 0; before != names.size();) {
    before = names.size();
    re2::StringPiece rest(body);
    std::string name;
    while (RE2::FindAndConsume(&rest, kAssigned, &name)) {
      const std::string_view text(rest.data(), rest.size());
      const auto value = split_list(text.substr(0, text.find_first_of(";{}")));
      if (!value.empty() && names_any(value.front(), names)) names.insert(name);
    }
  }
  return names;
}

/// Returns whether the text stores values in `tensor` at places of a counter, and only such that do
/// not depend on the place: a place that also selects what is read is the number of a piece of
/// work, and its result has an order.
bool is_compacted(const std::string& body, const std::string& tensor, const std::string& place) {
  static const RE2 kStored(R"(\s*=\s*([^=;][^;]*);)"), kName(R"([A-Za-z_])");
  std::set<std::string> places = computed_from(place, body);
  places.erase(tensor);
  bool is_found = false;
  for (const auto& [index, behind] : subscripts_of(body, tensor)) {
    re2::StringPiece after(body.data() + behind, body.size() - behind);
    std::string value;
    if (!RE2::Consume(&after, kStored, &value)) continue;
    const bool is_taken = tensor == place && index.find("atomic") != std::string::npos;
    if (!is_taken && !names_any(index, places)) continue;
    if (names_any(value, places) || !RE2::PartialMatch(value, kName)) return false;
    is_found = true;
  }
  return is_found;
}

}  // namespace

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
    for (ProposedParam& taken : kernel.params) {
      if (!is_tensor(taken) || taken.is_const || &taken == counter || !taken.init.empty()) continue;
      if (!is_compacted(kernel.body, taken.written, place)) continue;
      taken.any_order = true;
      taken.init = "0";
    }
  }
}

}  // namespace gpuemu::cli
