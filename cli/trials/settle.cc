#include "cli/trials/settle.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <optional>

#include <fmt/core.h>
#include <re2/re2.h>

#include "cli/trials/index_rules.h"
#include "cli/trials/memory_rules.h"
#include "cli/trials/require.h"
#include "cli/trials/settlement.h"
#include "cli/trials/sizes.h"
#include "cli/trials/strides.h"
#include "cli/trials/sums.h"

namespace gpuemu::cli {
namespace {

constexpr std::chrono::seconds kLookTimeMax{2};

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

/// Tries the shapes that index expressions show: what a kernel accesses may depend on several sizes
/// that do not belong to the tensor, as in a transposed convolution.
bool try_index_shapes(const ProposedKernel& kernel, Search& search) {
  constexpr size_t kFamiliesMax = 2;
  if (kernel.index_shapes.empty()) return false;
  ProposedKernel wanted = kernel;
  for (ProposedParam& param : wanted.params) {
    const auto shape = wanted.index_shapes.find(param.name);
    if (param.shape.empty() && shape != wanted.index_shapes.end()) param.shape = shape->second;
  }
  return search.try_all(wanted, {}, kFamiliesMax);
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
         try_index_shapes(tied, search) || try_requirements(tied, false, search, probe) ||
         try_equal_sizes(tied, search, probe);
}

}  // namespace

std::string settle(const std::string& ptx, const std::string& entry, ProposedKernel& kernel,
                   const std::atomic<bool>* stop) {
  auto probe = Probe::open(ptx);
  if (!probe) return probe.error().message;
  probe->stop_when(stop);
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
  // A guessed launch that runs too is no reason to leave that of host code.
  const auto is_more_general = [&] {
    return !search.found()->launch().origin.empty() &&
           narrow_dims(search.found()->sizes) <= narrow_dims(as_host.found()->sizes);
  };
  const bool is_free =
      done && search.found()->require.empty() && (!runs_as_host || is_more_general());
  if (runs_as_host && !is_free) {
    kernel = *as_host.found();
  } else {
    if (search.found()) kernel = *search.found();
    if (!done && !(describe_row_pointers(kernel) && rows_follow_sizes(kernel) &&
                   runs_as_described(*probe, entry, kernel))) {
      return search.why();
    }
  }
  kernel.deterministic = !adds_floats(kernel);
  return {};
}

}  // namespace gpuemu::cli
