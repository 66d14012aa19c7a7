#include "cli/trials/index_search.h"

#include <algorithm>
#include <optional>

#include <fmt/core.h>

namespace gpuemu::cli {
namespace {

constexpr int64_t kTableRowsMax = 96;

class IndexSearch {
 public:
  IndexSearch(Trial& trial, const Observations& observed, ProposedKernel& kernel)
      : trial_(trial), observed_(observed), kernel_(kernel) {}

  /// Examines each integer tensor whose values change which elements of other tensors are accessed.
  FoundIndices find() {
    for (ProposedParam& index : kernel_.params) {
      if (!is_tensor(index) || !is_integer(index) || !index.is_const) continue;
      const auto moved = trial_.extents(observed_.sizes[0], {{index.name, 3}});
      if (!moved || moved->accessed == observed_.extents[0].accessed) bound_index(index);
      if (!moved) continue;
      for (ProposedParam& table : kernel_.params) {
        if (!is_tensor(table) || &table == &index) continue;
        const uint64_t at_zero = observed_.extents[0].of(table.name);
        const uint64_t at_three = moved->of(table.name);
        if (at_three <= at_zero || (at_three - at_zero) % 3 != 0) continue;
        found_.tables.emplace(index.name, table.name);
        const bool whole_rows = (at_three - at_zero) / 3 == at_zero;
        if (whole_rows && checks_index(index, table)) continue;
        if (whole_rows) {
          add_rows(index, table);
        } else {
          find_indexed_dim(index, table);
        }
      }
    }
    return std::move(found_);
  }

 private:
  /// Returns the extents with each index `away` from the value of `dim`. Returns nothing if the
  /// kernel then changes nothing.
  std::optional<Extents> extents_at(const ProposedParam& index, const std::string& dim,
                                    int64_t away, size_t at) {
    const Sizes& sizes = observed_.sizes[at];
    return trial_.extents(sizes, {{index.name, sizes.at(dim) + away}});
  }

  /// Finds the limit of an index into something that the kernel reads anyway, such as the class of
  /// a row of logits: below a size no further elements are accessed, from that size on some are.
  void bound_index(ProposedParam& index) {
    const auto goes_on = [&](const std::string& dim, int64_t away) {
      for (size_t i = 0; i < observed_.sizes.size(); ++i) {
        const auto seen = extents_at(index, dim, away, i);
        const bool same = seen && seen->accessed == observed_.extents[i].accessed;
        if (same != (away < 0)) return false;
      }
      return true;
    };
    for (const std::string& dim : kernel_.dims()) {
      if (!goes_on(dim, -1) || !goes_on(dim, 0)) continue;
      index.range = below(dim);
      return;
    }
  }

  /// Returns whether the kernel compares the index with one of its sizes, such as the bins of a
  /// histogram: the last row is accessed, and nothing if the index equals the size. That size is
  /// then the number of rows.
  bool checks_index(ProposedParam& index, ProposedParam& table) {
    for (const std::string& dim : kernel_.dims()) {
      std::vector<Extents> last;
      for (size_t i = 0; i < observed_.sizes.size(); ++i) {
        const auto inside = extents_at(index, dim, -1, i), outside = extents_at(index, dim, 0, i);
        const uint64_t rows = static_cast<uint64_t>(observed_.sizes[i].at(dim));
        const uint64_t row = observed_.extents[i].of(table.name);
        if (!inside || inside->of(table.name) != rows * row) break;
        if (outside && outside->of(table.name) > 0) break;
        last.push_back(*inside);
      }
      if (last.size() < observed_.sizes.size()) continue;
      const auto shape = observed_.shape_of(kernel_, table, last);
      if (!shape || std::ranges::find(*shape, dim) == shape->end()) continue;
      found_.chosen.insert(table.name);
      table.shape = *shape;
      index.range = below(dim);
      return true;
    }
    return false;
  }

  /// Index 0 reads one row at the beginning of the table: adds a dim for the number of rows.
  void add_rows(ProposedParam& index, ProposedParam& table) {
    auto row = observed_.shape_of(kernel_, table, observed_.extents);
    if (!row) return;
    const std::string dim = legal_name(table.name + "_rows");
    if (row->size() == 1 && row->front() == "1") row->clear();
    found_.chosen.insert(table.name);
    // A byte limits the number of rows itself.
    const bool is_byte = index.dtype == "uint8";
    table.shape = {is_byte ? "256" : dim};
    table.shape.insert(table.shape.end(), row->begin(), row->end());
    if (!is_byte) limit(index, dim);
  }

  /// Each index selects an element in every row: finds the dim that gives their number.
  void find_indexed_dim(ProposedParam& index, ProposedParam& table) {
    for (const std::string& dim : kernel_.dims()) {
      std::vector<Extents> last;
      for (size_t i = 0; i < observed_.sizes.size(); ++i) {
        if (auto seen = extents_at(index, dim, -1, i)) last.push_back(*std::move(seen));
      }
      if (last.size() < observed_.sizes.size()) continue;
      const auto shape = observed_.shape_of(kernel_, table, last);
      if (!shape || std::ranges::find(*shape, dim) == shape->end()) continue;
      table.shape = *shape;
      limit(index, dim);
      return;
    }
  }

  void limit(ProposedParam& index, const std::string& dim) {
    index.range = fmt::format("[0, {}]", kTableRows - 1);
    found_.limits[dim] = fmt::format("[{}, {}]", kTableRows, kTableRowsMax);
  }

  static std::string below(const std::string& dim) { return fmt::format("[0, \"{} - 1\"]", dim); }

  Trial& trial_;
  const Observations& observed_;
  ProposedKernel& kernel_;
  FoundIndices found_;
};

}  // namespace

FoundIndices find_indices(Trial& trial, const Observations& observed, ProposedKernel& kernel) {
  return IndexSearch(trial, observed, kernel).find();
}

}  // namespace gpuemu::cli
