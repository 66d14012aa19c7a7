// Runs one proposed launch with given sizes on the emulator.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cli/proposals/fit.h"
#include "cli/proposals/propose.h"
#include "cli/trials/probe.h"

namespace gpuemu::cli {

/// By tensor name: how far it is accessed, and how far it is written.
struct Extents {
  std::map<std::string, uint64_t> accessed, written;
  uint64_t of(const std::string& tensor) const;
};

/// Values of the integer tensors that hold indices; 0 for others.
using Indices = std::map<std::string, int64_t>;

class Trial {
 public:
  Trial(Probe& probe, std::string entry, const ProposedKernel& kernel, const ProposedLaunch& launch)
      : probe_(probe), entry_(std::move(entry)), kernel_(kernel), launch_(launch) {}

  /// Returns whether the launch has an effect and nothing fails with these sizes, in tensors that
  /// are larger than needed. Sets `problem` to the failure.
  bool runs(const Sizes& sizes, std::string& problem);
  /// Returns nothing if it does not run.
  std::optional<Extents> extents(const Sizes& sizes, const Indices& indices);
  /// Returns whether it works with tensors of exactly the kernel's shapes: nothing fails, each
  /// output is written up to its last element, and it takes no longer than a test case should.
  bool fits(const Sizes& sizes) { return misfit(sizes).empty(); }
  /// Returns why it does not fit; "" if it does.
  std::string misfit(const Sizes& sizes);
  /// Finds tensors with elements that are used before they are written, and those that are written
  /// only in part.
  void find_roles(const Sizes& sizes, std::map<std::string, bool>& read_first,
                  std::map<std::string, bool>& partly);
  /// Returns the value of an expression of gpuemu.toml; nothing if it has none.
  static std::optional<int64_t> value_of(const std::string& text, const Sizes& sizes);

 private:
  std::optional<ProbeCall> call(const Sizes& dims) const;
  /// Runs it with several values, and adds the elements that changed. Returns false if it fails;
  /// `problem` then says how.
  bool add_changes(const ProbeCall& call, uint32_t salts, std::vector<std::vector<bool>>& changed,
                   std::string* problem = nullptr);
  /// Does the same with only these integers.
  bool add_changes_with(ProbeCall call, uint32_t salts, std::vector<std::vector<bool>>& changed,
                        std::string* problem = nullptr);
  std::optional<ProbeSeen> run(const ProbeCall& call, std::string* problem = nullptr);

  Probe& probe_;
  std::string entry_;
  const ProposedKernel& kernel_;
  const ProposedLaunch& launch_;
};

}  // namespace gpuemu::cli
