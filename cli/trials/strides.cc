#include "cli/trials/strides.h"

#include <algorithm>

#include "cli/proposals/guess_launch.h"
#include "cli/trials/sizes.h"
#include "cli/trials/trial.h"

namespace gpuemu::cli {
namespace {

// Multiples of what a wide load needs. Rows may overlap: only the end of the last one counts.
constexpr int64_t kNear = 16, kFar = 48;
constexpr size_t kReaches = 4;

bool is_stride(const ProposedParam& param) {
  return param.role == ParamRole::Dim && is_stride_name(param.name);
}

/// Determines the strides of one launch.
class Strides {
 public:
  Strides(Probe& probe, std::string entry, const ProposedKernel& kernel)
      : kernel_(kernel), trial_(probe, std::move(entry), kernel_, kernel_.launch()) {
    for (const ProposedParam& param : kernel_.params) {
      if (is_stride(param)) open_.push_back(param.name);
    }
  }

  bool has_any() const { return !open_.empty(); }

  /// Returns false if none could be determined.
  bool find(const std::vector<Sizes>& tries) {
    const size_t all = open_.size();
    // A stride without a value yet is 0: all rows are at the same address.
    for (const std::string& name : open_) kernel_.follows[name] = "0";
    for (size_t round = 0; round < all && !open_.empty(); ++round) {
      const size_t before = open_.size();
      std::erase_if(open_, [&](const std::string& name) { return settle(name, tries); });
      if (open_.size() == before) break;
    }
    for (const std::string& name : open_) kernel_.follows.erase(name);
    return open_.size() < all;
  }

  std::map<std::string, std::string> take() { return std::move(kernel_.follows); }

 private:
  /// Finds the value of the stride for adjacent rows: the number of rows and their length follow
  /// from how far a tensor is accessed at two strides.
  bool settle(const std::string& name, const std::vector<Sizes>& tries) {
    std::map<std::string, std::vector<Reach>> rows;
    size_t seen = 0;
    for (const Sizes& sizes : tries) {
      if (seen == kReaches) break;
      kernel_.follows[name] = std::to_string(kNear);
      const auto near = trial_.extents(sizes, {});
      kernel_.follows[name] = std::to_string(kFar);
      const auto far = near ? trial_.extents(sizes, {}) : std::nullopt;
      if (!far) continue;
      ++seen;
      for (const ProposedParam& tensor : kernel_.params) {
        if (is_tensor(tensor)) add_row(tensor.name, sizes, *near, *far, rows);
      }
    }
    kernel_.follows[name] = "0";
    for (const auto& [tensor, reaches] : rows) {
      if (seen < std::min(kReaches, tries.size()) || reaches.size() < seen) continue;
      const auto shape = fit_shape(reaches, kernel_.dims());
      if (!shape || !is_product(*shape)) continue;
      std::string product;
      for (const std::string& factor : *shape) product += (product.empty() ? "" : " * ") + factor;
      kernel_.follows[name] = product;
      return true;
    }
    return false;
  }

  static void add_row(const std::string& tensor, const Sizes& sizes, const Extents& near,
                      const Extents& far, std::map<std::string, std::vector<Reach>>& rows) {
    const auto here = static_cast<int64_t>(near.of(tensor));
    const auto there = static_cast<int64_t>(far.of(tensor));
    if (there <= here || (there - here) % (kFar - kNear) != 0) return;
    const int64_t length = here - (there - here) / (kFar - kNear) * kNear;
    if (length > 0) rows[tensor].push_back({sizes, static_cast<uint64_t>(length)});
  }

  /// Returns whether it consists of dims and numbers only.
  bool is_product(const std::vector<std::string>& shape) const {
    const std::vector<std::string> dims = kernel_.dims();
    return std::ranges::all_of(shape, [&](const std::string& factor) {
      return std::ranges::find(dims, factor) != dims.end() ||
             factor.find_first_not_of("0123456789") == std::string::npos;
    });
  }

  ProposedKernel kernel_;
  Trial trial_;
  std::vector<std::string> open_;
};

}  // namespace

bool find_strides(Probe& probe, const std::string& entry, ProposedKernel& kernel) {
  for (const ProposedLaunch& launch : kernel.launches) {
    ProposedKernel one = kernel;
    one.launches = {launch};
    Strides strides(probe, entry, one);
    if (!strides.has_any()) return false;
    ProposedKernel without = one;
    for (const ProposedParam& param : one.params) {
      if (is_stride(param)) without.follows[param.name] = "0";
    }
    for (const std::vector<Sizes>& tries : sizes_to_try(without.dims())) {
      if (probe.is_out_of_time()) return false;
      if (!strides.find(tries)) continue;
      kernel.follows = strides.take();
      return true;
    }
  }
  return false;
}

}  // namespace gpuemu::cli
