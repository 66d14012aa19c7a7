#include "cli/trials/settle.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <set>

#include <fmt/core.h>
#include <re2/re2.h>

#include "cli/trials/index_rules.h"
#include "cli/trials/index_search.h"
#include "cli/trials/memory_rules.h"
#include "cli/trials/require.h"
#include "cli/trials/size_notes.h"
#include "cli/trials/sizes.h"
#include "cli/trials/strides.h"
#include "cli/trials/sums.h"
#include "cli/trials/trial.h"

namespace gpuemu::cli {
namespace {

constexpr std::chrono::seconds kLookTimeMax{2};

// For example for one size that is rounded down, in two tensors.
constexpr size_t kDoubtsFew = 2;

/// Returns how many sizes are needed to distinguish the products of the dims.
size_t reaches_of(size_t dims) { return dims > 3 ? 5 : 3; }

/// Collects what one launch shows about the kernel's tensors.
class Settlement {
 public:
  Settlement(Probe& probe, std::string entry, ProposedKernel kernel)
      : kernel_(std::move(kernel)), trial_(probe, std::move(entry), kernel_, kernel_.launch()) {}

  /// Returns how many tensors have a shape; sets `problem` to the failure if the launch never runs.
  size_t learn(const std::vector<Sizes>& tries, std::string& problem) {
    observed_.sizes.clear();
    const size_t reaches = reaches_of(kernel_.dims().size());
    for (const Sizes& sizes : tries) {
      if (observed_.sizes.size() == reaches) break;
      if (trial_.runs(sizes, problem)) observed_.sizes.push_back(sizes);
    }
    const size_t ran = observed_.sizes.size();
    if (ran == 0 || ran < std::min(reaches, tries.size())) return 0;
    problem.clear();
    if (!observe() || (take_indices_for_const() && !observe())) return 0;
    indices_ = find_indices(trial_, observed_, kernel_);
    find_shapes();
    size_t known = 0;
    for (const ProposedParam& param : kernel_.params) {
      known += is_tensor(param) && !param.shape.empty();
    }
    return known;
  }

  size_t tensors() const {
    return static_cast<size_t>(std::ranges::count_if(kernel_.params, is_tensor));
  }

  /// Determines the roles, the sizes and the sums; call it when every tensor has its shape.
  bool finish() {
    find_roles();
    if (!name_attrs()) return false;
    const std::vector<std::string> dims = all_dims();
    Sizes base = with_tables(observed_.sizes.front());
    if (!trial_.fits(base)) {
      const auto other = std::ranges::find_if(
          observed_.sizes, [&](const Sizes& sizes) { return trial_.fits(with_tables(sizes)); });
      if (other == observed_.sizes.end()) return false;
      base = with_tables(*other);
    }
    if (!keep_values(base)) return false;
    std::vector<std::string> open;
    std::ranges::copy_if(dims, std::back_inserter(open),
                         [&](const std::string& dim) { return !indices_.limits.contains(dim); });
    AllowedSizes allowed = allowed_sizes(
        open, base, [&](const Sizes& sizes) { return trial_.fits(sizes); },
        [&](const Sizes& sizes) { return is_meant(sizes); }, divisors_of(kernel_.follows));
    kernel_.sizes = std::move(allowed.values);
    const std::set<std::string> settled = settle_tails(open, kernel_);
    const std::set<std::string> one_more = tell_one_more(kernel_);
    for (const std::string& dim : open) {
      if (settled.contains(dim) || one_more.contains(dim) || !allowed.refused.contains(dim)) {
        continue;
      }
      Sizes sizes = base;
      sizes[dim] = allowed.refused[dim];
      tell_refused(dim, allowed.refused[dim], trial_.misfit(sizes), kernel_);
    }
    kernel_.sizes.insert(indices_.limits.begin(), indices_.limits.end());
    kernel_.accumulate = sum_length(kernel_);
    return true;
  }

  ProposedKernel take() {
    kernel_.sizes.insert(indices_.limits.begin(), indices_.limits.end());
    return std::move(kernel_);
  }

  /// Counts unlikely shapes: a number alone, an expression of a size that the grid does not have,
  /// sizes that only ran with one value.
  size_t doubts() const {
    const std::map<std::string, int64_t> tiles = tiles_of(kernel_.launch().grid);
    size_t sum = 0;
    for (const ProposedParam& tensor : kernel_.params) {
      if (!is_tensor(tensor)) continue;
      for (const std::string& text : tensor.shape) {
        const bool is_of_grid =
            std::ranges::find(kernel_.launch().grid, text) != kernel_.launch().grid.end();
        const bool is_computed =
            std::ranges::find(kernel_.computed, text) != kernel_.computed.end();
        sum += text.find(' ') != std::string::npos && !is_of_grid && !is_computed ? 1 : 0;
      }
      const bool is_constant = tensor.shape.size() == 1 && !kernel_.dims().empty() &&
                               tensor.shape[0].find_first_not_of("0123456789") == std::string::npos;
      // The size of a launch's block: elements after its last size are read, too.
      const bool is_block = is_constant && std::ranges::any_of(tiles, [&](const auto& tile) {
                              return std::to_string(tile.second) == tensor.shape[0];
                            });
      sum += is_block ? kDoubtsFew + 1 : is_constant ? 2 : 0;
    }
    for (const auto& [dim, values] : kernel_.sizes) {
      sum += values.find_first_not_of("0123456789") == std::string::npos ? 2 : 0;
    }
    return sum;
  }

 private:
  bool observe() {
    observed_.extents.clear();
    for (const Sizes& sizes : observed_.sizes) {
      const auto seen = trial_.extents(sizes, {});
      if (!seen) return false;
      observed_.extents.push_back(*seen);
    }
    return true;
  }

  /// Treats integers that no launch writes as const, whatever their parameter says: they may be
  /// indices.
  bool take_indices_for_const() {
    bool found = false;
    for (ProposedParam& param : kernel_.params) {
      if (!is_tensor(param) || !is_integer(param) || param.is_const) continue;
      if (written_of(param) > 0 || is_written_in(kernel_.body, param.written)) continue;
      found = param.is_const = true;
    }
    return found;
  }

  bool is_meant(const Sizes& sizes) const {
    return kernel_.require.empty() || Trial::value_of(kernel_.require, sizes).value_or(0) != 0;
  }

  std::vector<std::string> all_dims() const {
    std::vector<std::string> dims = kernel_.dims();
    for (const auto& [dim, values] : indices_.limits) {
      if (std::ranges::find(dims, dim) == dims.end()) {
        dims.push_back(dim);
      }
    }
    return dims;
  }

  void find_shapes() {
    for (ProposedParam& tensor : kernel_.params) {
      if (!is_tensor(tensor) || !tensor.shape.empty()) continue;
      auto shape = observed_.shape_of(kernel_, tensor, observed_.extents);
      if (shape) tensor.shape = *std::move(shape);
    }
  }

  uint64_t written_of(const ProposedParam& tensor) const {
    const auto found = observed_.extents[0].written.find(tensor.name);
    return found == observed_.extents[0].written.end() ? 0 : found->second;
  }

  void find_roles() {
    std::map<std::string, bool> read_first, partly;
    trial_.find_roles(observed_.sizes[0], read_first, partly);
    std::set<std::string> overwritten;
    for (ProposedParam& tensor : kernel_.params) {
      if (!is_tensor(tensor)) continue;
      const uint64_t written = written_of(tensor);
      if (written > 0 && !read_first[tensor.name]) overwritten.insert(tensor.name);
      const bool keeps = read_first[tensor.name] || partly[tensor.name] ||
                         indices_.chosen.contains(tensor.name) ||
                         observed_.extents[0].of(tensor.name) > written;
      tensor.role = written == 0 ? ParamRole::Input : keeps ? ParamRole::InOut : ParamRole::Output;
      // What a counter gives no place keeps its value, though the tried inputs filled all.
      const bool is_used = keeps || tensor.any_order ||
                           (written == 0 && is_written_in(kernel_.body, tensor.written));
      if (tensor.init.empty() || !is_used) {
        tensor.init.clear();
        continue;
      }
      tensor.role = ParamRole::Output;
    }
    mark_scratch(kernel_);
    mark_distinct(kernel_, indices_.tables, overwritten);
  }

  Sizes with_tables(Sizes sizes) const {
    for (const auto& [dim, values] : indices_.limits) sizes[dim] = kTableRows;
    return sizes;
  }

  /// Integers that no size depends on become attributes. Returns false if one is the length of a
  /// row, which a shape must show.
  bool name_attrs() {
    std::string all;
    for (const ProposedParam& tensor : kernel_.params) {
      for (const std::string& text : tensor.shape) {
        all += text + " ; ";
      }
    }
    const ProposedLaunch& launch = kernel_.launch();
    for (const std::vector<std::string>* texts : {&launch.grid, &launch.block}) {
      for (const std::string& text : *texts) {
        all += text + " ; ";
      }
    }
    all += launch.shared + " ; " + kernel_.require;
    for (ProposedParam& param : kernel_.params) {
      if (param.role != ParamRole::Dim || kernel_.follows.contains(param.name)) continue;
      const std::string pattern = R"(\b)" + RE2::QuoteMeta(param.name) + R"(\b)";
      if (RE2::PartialMatch(all, pattern)) continue;
      // The number that host code passes is known to be right.
      if (param.values.empty() && is_row_length(kernel_, param)) return false;
      param.role = ParamRole::Attr;
      if (param.values.empty()) param.values = "[1, 7]";
    }
    return true;
  }

  /// Keeps the values of an integer with which the kernel runs. Returns false if none is left.
  bool keep_values(const Sizes& base) {
    for (ProposedParam& param : kernel_.params) {
      if (param.role != ParamRole::Attr || !is_integer(param)) continue;
      std::string kept;
      re2::StringPiece rest(param.values);
      int64_t value = 0;
      while (RE2::FindAndConsume(&rest, R"((-?\d+))", &value)) {
        Sizes sizes = base;
        sizes[param.name] = value;
        if (trial_.fits(sizes)) kept += (kept.empty() ? "" : ", ") + std::to_string(value);
      }
      if (kept.empty()) return false;
      param.values = "[" + kept + "]";
    }
    return true;
  }

  ProposedKernel kernel_;
  Trial trial_;
  Observations observed_;
  FoundIndices indices_;
};

/// Tries all launches of a kernel, and keeps the best result.
class Search {
 public:
  Search(Probe& probe, std::string entry) : probe_(probe), entry_(std::move(entry)) {}

  /// Returns whether one of the launches of `wanted` determines everything; found() is then the
  /// result. `adapt` changes the usual sizes to those that are tried.
  using Adapt = std::function<Sizes(const Sizes&)>;
  bool try_all(const ProposedKernel& wanted, const Adapt& adapt = {},
               size_t families_max = SIZE_MAX) {
    std::optional<ProposedKernel> best;
    size_t least = SIZE_MAX;
    for (const ProposedLaunch& launch : wanted.launches) {
      ProposedKernel one = wanted;
      one.launches = {launch};
      std::vector<std::vector<Sizes>> all = all_tries(one);
      all.resize(std::min(all.size(), families_max));
      size_t tiled = 0;  // Families of whole tiles that come first.
      if (takes_whole_tiles(one) && !one.launch().origin.empty()) {
        tiled = tiles_to_try(one.dims(), tiles_of(one.launch().grid)).size();
      }
      for (std::vector<Sizes>& tries : all) {
        if (adapt) std::ranges::transform(tries, tries.begin(), adapt);
        // Whole tiles are large; start with small sizes, which take less time.
        if (!one.follows.empty()) std::ranges::stable_sort(tries, {}, volume_of);
        const auto doubts = try_one(one, tries);
        // What goes wrong with the sizes that host code has in mind is what the user must know; a
        // short look at others is enough then.
        if (tiled > 0 && --tiled == 0 && !doubts && decisive_.empty()) {
          decisive_ = why_;
          probe_.allow(kLookTimeMax);
        }
        if (doubts && *doubts < least) {
          least = *doubts;
          best = found_;
        }
        if (least <= kDoubtsFew) return true;
        if (!probe_.is_out_of_time()) continue;
        why_ = fmt::format("its launches took more than {} s", kProbeTimeMax.count());
        if (best) found_ = best;
        return best.has_value();
      }
    }
    if (best) found_ = best;
    return best.has_value();
  }

  const std::optional<ProposedKernel>& found() const { return found_; }
  const std::string& why() const { return decisive_.empty() ? why_ : decisive_; }

 private:
  // Small enough that the product of ten fits in an integer.
  static constexpr int64_t kVolumeFactorMax = 64;

  static int64_t volume_of(const Sizes& sizes) {
    int64_t volume = 1;
    for (const auto& [dim, size] : sizes) volume *= std::clamp<int64_t>(size, 1, kVolumeFactorMax);
    return volume;
  }

  static std::vector<std::vector<Sizes>> all_tries(const ProposedKernel& kernel) {
    std::vector<std::vector<Sizes>> all = sizes_to_try(kernel.dims());
    std::vector<std::vector<Sizes>> tiled =
        tiles_to_try(kernel.dims(), tiles_of(kernel.launch().grid));
    // A kernel that accepts other sizes should be tested with them, but one that compares no index
    // with its sizes does not.
    all.insert(takes_whole_tiles(kernel) ? all.begin() : all.end(), tiled.begin(), tiled.end());
    return all;
  }

  /// Returns whether the launch rounds sizes up to tiles, and the kernel compares none of them.
  static bool takes_whole_tiles(const ProposedKernel& kernel) {
    const std::map<std::string, int64_t> tiles = tiles_of(kernel.launch().grid);
    return !tiles.empty() && std::ranges::none_of(tiles, [&](const auto& tile) {
      return is_compared(kernel, tile.first);
    });
  }

  /// Returns doubts(); nothing if not everything is known.
  std::optional<size_t> try_one(const ProposedKernel& wanted, const std::vector<Sizes>& tries) {
    Settlement settlement(probe_, entry_, wanted);
    std::string problem;
    const size_t known = settlement.learn(tries, problem);
    if (!problem.empty()) why_ = problem;
    if (known == settlement.tensors() && known > 0 && settlement.finish()) {
      const size_t doubts = settlement.doubts();
      found_ = settlement.take();
      most_ = SIZE_MAX;
      return doubts;
    }
    if (known > most_ && most_ != SIZE_MAX && !probe_.is_out_of_time()) {
      most_ = known;
      found_ = settlement.take();
      why_ = "what it reads does not follow from its sizes alone";
    }
    return std::nullopt;
  }

  Probe& probe_;
  std::string entry_;
  std::optional<ProposedKernel> found_;
  size_t most_ = 0;
  std::string why_ = "no launch of it runs with sizes of a few dozen";
  std::string decisive_;  ///< What goes wrong with whole tiles of a launch of host code.
};

/// Tries only sizes that meet a condition that the kernel may expect: that one is a multiple of
/// another, or the larger one.
bool try_requirements(const ProposedKernel& kernel, bool multiples, Search& search, Probe& probe) {
  for (const Requirement& one : requirements_of(kernel)) {
    if (one.is_multiple != multiples || probe.is_out_of_time()) continue;
    ProposedKernel wanted = kernel;
    wanted.require = one.text;
    wanted.notes.push_back(fmt::format(
        "It was tried where {} alone; take `require` away if other sizes are right, too.",
        one.text));
    if (!search.try_all(wanted, [&](const Sizes& sizes) { return one.met(sizes); })) continue;
    // If odd sizes give the same result, no condition is needed.
    if (multiples) search.try_all(kernel, {}, 1);
    return true;
  }
  return false;
}

/// Tries launches in which two sizes are equal: the kernel may accept only such sizes.
bool try_equal_sizes(const ProposedKernel& kernel, Search& search, Probe& probe) {
  std::vector<std::string> names;
  for (const ProposedParam& param : kernel.params) {
    const bool open = param.role == ParamRole::Dim && !kernel.follows.contains(param.name);
    if (open) names.push_back(param.name);
  }
  if (names.size() < 3 || names.size() > 7) return false;
  for (const std::string& follower : names) {
    for (const std::string& leader : names) {
      if (follower == leader || probe.is_out_of_time()) continue;
      ProposedKernel wanted = kernel;
      wanted.follows[follower] = leader;
      wanted.notes.push_back(
          fmt::format("It ran where {0} is {1}; give {0} sizes of its own if it may have others.",
                      follower, leader));
      if (search.try_all(wanted)) return true;
    }
  }
  return false;
}

/// Tries sizes of which one is at most another; the rest is computed as in host code.
bool try_ordered_sizes(const ProposedKernel& kernel, const Search::Adapt& adapt, Search& search,
                       Probe& probe) {
  // Lengths and widths first, because the numbers of rows or heads do not depend on them.
  static const RE2 kWidth(R"((?i).*(dim|size|width|height|length|len|channels|[hdk])\d?)");
  std::vector<std::string> dims = kernel.dims();
  std::ranges::stable_partition(dims,
                                [](const std::string& dim) { return RE2::FullMatch(dim, kWidth); });
  for (const std::string& less : dims) {
    for (const std::string& more : dims) {
      if (less == more || probe.is_out_of_time()) continue;
      const Requirement one{fmt::format("{} <= {}", less, more), more, less};
      ProposedKernel wanted = kernel;
      wanted.require = one.text;
      const auto ordered = [&](const Sizes& sizes) { return one.met(adapt(sizes)); };
      if (search.try_all(wanted, ordered, 1)) return true;
    }
  }
  return false;
}

/// Tries the sizes of each launch whose host code computes some of them from others.
bool try_host_sizes(const ProposedKernel& kernel, Search& search, Probe& probe) {
  for (const ProposedLaunch& launch : kernel.launches) {
    if (launch.follows.empty()) continue;
    ProposedKernel wanted = kernel;
    wanted.launches = {launch};
    wanted.follows = launch.follows;
    // Use whole tiles: host code that divides a size by them may ignore the remainder.
    const std::map<std::string, int64_t> divisors = divisors_of(launch.follows);
    const auto whole = [&](const Sizes& sizes) {
      Sizes out = sizes;
      for (const auto& [dim, divisor] : divisors) out[dim] = divisor * (1 + out[dim] % 3);
      return out;
    };
    if (search.try_all(wanted, whole) || try_ordered_sizes(wanted, whole, search, probe)) {
      return true;
    }
  }
  return false;
}

/// Tries independent sizes, then dependent ones.
bool try_free_sizes(const std::string& entry, const ProposedKernel& kernel, Search& search,
                    Probe& probe) {
  ProposedKernel tied = kernel;
  if (find_strides(probe, entry, tied)) {
    if (try_requirements(tied, true, search, probe) || search.try_all(tied)) return true;
  }
  // A kernel that divides one size by another and ignores the remainder expects multiples.
  return try_requirements(tied, true, search, probe) || search.try_all(kernel) ||
         try_requirements(tied, false, search, probe) || try_equal_sizes(tied, search, probe);
}

}  // namespace

std::string settle(const std::string& ptx, const std::string& entry, ProposedKernel& kernel) {
  auto probe = Probe::open(ptx);
  if (!probe) return probe.error().message;
  Search as_host(*probe, entry), search(*probe, entry);
  describe_hash_table(kernel);
  describe_compaction(kernel);
  const bool runs_as_host = try_host_sizes(kernel, as_host, *probe);
  // The sizes of host code are sufficient; check briefly whether the kernel accepts other sizes,
  // too.
  if (runs_as_host) probe->allow(kLookTimeMax);
  bool done = try_free_sizes(entry, kernel, search, *probe);
  // Sizes that were not tried for lack of time would count as refused.
  if (runs_as_host && probe->is_out_of_time()) done = false;
  // Independent sizes are more general than those of one caller.
  const bool is_free =
      done && search.found()->require.empty() &&
      (!runs_as_host || narrow_dims(search.found()->sizes) <= narrow_dims(as_host.found()->sizes));
  if (runs_as_host && !is_free) {
    kernel = *as_host.found();
  } else {
    if (search.found()) kernel = *search.found();
    if (!done) describe_row_pointers(kernel);
    if (!done) return search.why();
  }
  kernel.deterministic = !adds_floats(kernel);
  return {};
}

}  // namespace gpuemu::cli
