#include "cli/trials/index_rules.h"

#include <algorithm>
#include <cstdint>

#include <fmt/core.h>
#include <re2/re2.h>

#include "cli/trials/trial.h"

namespace gpuemu::cli {
namespace {

constexpr const char* kStoredSizes = "[1, 300]";

std::string escaped(const std::string& text) { return RE2::QuoteMeta(text); }

/// Returns the index `row` of a text that has both `begin[row]` and `begin[row + 1]`; "" for none.
std::string row_of(const std::string& body, const std::string& begin) {
  const RE2 next(R"(\b)" + escaped(begin) + R"(\s*\[\s*([^\[\]]+?)\s*\+\s*1\s*\])");
  re2::StringPiece rest(body);
  std::string row;
  while (RE2::FindAndConsume(&rest, next, &row)) {
    if (RE2::PartialMatch(body,
                          R"(\b)" + escaped(begin) + R"(\s*\[\s*)" + escaped(row) + R"(\s*\])")) {
      return row;
    }
  }
  return {};
}

/// Returns the variables that start at `begin[row]`, directly or through another variable.
std::vector<std::string> entries_of(const std::string& body, const std::string& begin,
                                    const std::string& row) {
  std::vector<std::string> names;
  std::string from = escaped(begin) + R"(\s*\[\s*)" + escaped(row) + R"(\s*\])";
  for (size_t i = 0;; ++i) {
    const RE2 set(R"(\b(\w+)\s*=\s*)" + from + R"(\s*[;,+])");
    re2::StringPiece rest(body);
    std::string name;
    while (RE2::FindAndConsume(&rest, set, &name)) {
      if (std::ranges::find(names, name) == names.end()) names.push_back(name);
    }
    if (i == names.size()) return names;
    from = escaped(names[i]) + R"(\b)";
  }
}

/// Returns whether the text indexes `table` with `place`, or with a variable that is set to it.
bool is_chosen_by(const std::string& body, const std::string& table, const std::string& place) {
  const std::string index = R"(\b)" + escaped(table) + R"(\s*\[\s*)";
  if (RE2::PartialMatch(body, index + place + R"(\s*\])")) return true;
  std::string name;
  const bool kept = RE2::PartialMatch(body, R"(\b(\w+)\s*=\s*)" + place + R"(\s*[;,])", &name);
  return kept && RE2::PartialMatch(body, index + escaped(name) + R"(\s*\])");
}

struct Stored {
  std::string dim;
  std::vector<ProposedParam*> tensors = {};
  std::string place = {};  ///< Pattern of the variable that runs over a row.
  std::string width = {};  ///< Size of a stored row; "" where each entry is an element.
};

/// Adds the tensors of which an entry is a row: "hidden[token * width + column]".
void add_wide(ProposedKernel& kernel, const ProposedParam& begin, const std::string& entry,
              Stored& stored) {
  for (ProposedParam& tensor : kernel.params) {
    if (!is_tensor(tensor) || &tensor == &begin || !tensor.is_const) continue;
    const RE2 row(R"(\b)" + escaped(tensor.written) + R"(\s*\[\s*)" + escaped(entry) +
                  R"(\s*\*\s*(\w+)\s*\+)");
    std::string width;
    if (!RE2::PartialMatch(kernel.body, row, &width)) continue;
    const ProposedParam* size = param_written(kernel, width);
    if (size == nullptr || size->role != ParamRole::Dim) continue;
    stored.tensors.push_back(&tensor);
    stored.width = size->name;
  }
}

Stored stored_of(ProposedKernel& kernel, const ProposedParam& begin, const std::string& row) {
  Stored stored{"nnz"};
  for (const std::string& entry : entries_of(kernel.body, begin.written, row)) {
    const std::string place = R"(\s*\[\s*)" + escaped(entry) + R"(\s*\])";
    for (ProposedParam& tensor : kernel.params) {
      if (!is_tensor(tensor) || &tensor == &begin || !tensor.is_const) continue;
      if (!RE2::PartialMatch(kernel.body, R"(\b)" + escaped(tensor.written) + place)) continue;
      stored.tensors.push_back(&tensor);
      stored.place = place;
    }
    if (!stored.tensors.empty()) return stored;
    add_wide(kernel, begin, entry, stored);
    if (!stored.tensors.empty()) return stored;
  }
  return stored;
}

/// A tensor that is indexed by the stored columns has as many elements as there are columns.
void bound_columns(ProposedKernel& kernel, const Stored& stored) {
  if (stored.place.empty()) return;
  for (ProposedParam* columns : stored.tensors) {
    if (columns->dtype.find("int") == std::string::npos) continue;
    const std::string place = R"(\b)" + escaped(columns->written) + stored.place;
    const std::string dim = columns->name + "_count";
    for (ProposedParam& table : kernel.params) {
      if (!is_tensor(table) || &table == columns || !table.is_const) continue;
      if (!is_chosen_by(kernel.body, table.written, place)) continue;
      table.shape = {dim};
      columns->range = fmt::format("[0, \"{} - 1\"]", dim);
      kernel.sizes[dim] = kStoredSizes;
    }
  }
}

/// Returns whether some += adds to anything but an index: "e += 32" in a loop only goes on.
bool adds_up(const std::string& body) {
  std::string text = body;
  RE2::GlobalReplace(&text, R"(\bfor\s*\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\))", "for");
  static const RE2 kAdds(R"(((?:[\w.\])]|->)+)\s*\+=)");
  re2::StringPiece rest(text);
  std::string target;
  while (RE2::FindAndConsume(&rest, kAdds, &target)) {
    const std::string in_brackets = R"(\[[^\[\]]*\b)" + escaped(target) + R"(\b[^\[\]]*\])";
    const bool is_element = target.ends_with(']') || target.ends_with(')');
    if (is_element || !RE2::PartialMatch(body, in_brackets)) return true;
  }
  return false;
}

}  // namespace

bool describe_row_pointers(ProposedKernel& kernel) {
  for (ProposedParam& begin : kernel.params) {
    const bool may_point = is_tensor(begin) && begin.is_const && !begin.shape.empty() &&
                           begin.dtype.find("int") != std::string::npos;
    const std::string row = may_point ? row_of(kernel.body, begin.written) : "";
    if (row.empty()) continue;
    const Stored stored = stored_of(kernel, begin, row);
    if (stored.tensors.empty()) continue;
    begin.sorted = true;
    begin.range = fmt::format("[0, \"{}\"]", stored.dim);
    kernel.sizes[stored.dim] = kStoredSizes;
    for (ProposedParam* tensor : stored.tensors) {
      tensor->shape = {stored.dim};
      if (!stored.width.empty()) tensor->shape.push_back(stored.width);
    }
    bound_columns(kernel, stored);
    if (adds_up(kernel.body)) kernel.accumulate = stored.dim;
    return true;
  }
  return false;
}

bool rows_follow_sizes(const ProposedKernel& kernel) {
  if (kernel.dims().empty()) return true;
  return std::ranges::none_of(kernel.params, [](const ProposedParam& param) {
    const bool has_rows = is_tensor(param) && (param.sorted || !param.is_const);
    const bool is_one = param.shape == std::vector<std::string>{"1"};  // Such as a total.
    return has_rows && !is_one && !param.shape.empty() &&
           std::ranges::all_of(
               param.shape, [](const std::string& size) { return RE2::FullMatch(size, R"(\d+)"); });
  });
}

bool runs_as_described(Probe& probe, const std::string& entry, const ProposedKernel& kernel) {
  // More stored elements than rows, so that the rows ascend in a trial.
  constexpr int64_t kTried[][2] = {{5, 300}, {37, 130}, {11, 67}};
  const bool is_whole = std::ranges::none_of(kernel.params, [](const ProposedParam& param) {
    return is_tensor(param) && param.shape.empty();
  });
  Trial trial(probe, entry, kernel, kernel.launch());
  return is_whole && std::ranges::all_of(kTried, [&](const auto& tried) {
           Sizes sizes;
           for (const std::string& dim : kernel.dims()) sizes[dim] = tried[0];
           for (const auto& [dim, values] : kernel.sizes) sizes.emplace(dim, tried[1]);
           return trial.fits(sizes);
         });
}

void mark_distinct(ProposedKernel& kernel, const std::multimap<std::string, std::string>& tables,
                   const std::set<std::string>& overwritten) {
  if (kernel.body.find("atomic") != std::string::npos) return;
  for (ProposedParam& index : kernel.params) {
    const auto [first, last] = tables.equal_range(index.name);
    index.distinct |=
        std::any_of(first, last, [&](const auto& one) { return overwritten.contains(one.second); });
  }
}

}  // namespace gpuemu::cli
