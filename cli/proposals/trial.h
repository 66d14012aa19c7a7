// One way of launching a proposed kernel, with sizes put in: what it does on the emulator.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cli/proposals/fit.h"
#include "cli/proposals/probe.h"
#include "cli/proposals/propose.h"

namespace gpuemu::cli {

/// How far each tensor is accessed, and which of that changes, by its name.
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

  /// Sizes with which the launch does something and nothing goes wrong, in tensors that are larger
  /// than needed. `problem` says what goes wrong.
  bool runs(const Sizes& sizes, std::string& problem);
  /// Nothing where it does not run.
  std::optional<Extents> extents(const Sizes& sizes, const Indices& indices);
  /// With tensors of exactly the kernel's shapes: nothing goes wrong, each output is written to its
  /// last element, and it takes no longer than a case of a test should.
  bool fits(const Sizes& sizes) { return misfit(sizes).empty(); }
  /// Why it does not fit; "" where it does.
  std::string misfit(const Sizes& sizes);
  /// Tensors of which elements are used before anything is written there, and those written in
  /// part.
  void find_roles(const Sizes& sizes, std::map<std::string, bool>& read_first,
                  std::map<std::string, bool>& partly);
  /// The value of an expression of gpuemu.toml; nothing where it has none.
  static std::optional<int64_t> value_of(const std::string& text, const Sizes& sizes);

 private:
  std::optional<ProbeCall> call(const Sizes& dims) const;
  /// Runs it with several values, and adds the elements that changed. False where it goes wrong.
  /// `problem` is then what.
  bool add_changes(const ProbeCall& call, uint32_t salts, std::vector<std::vector<bool>>& changed,
                   std::string* problem = nullptr);
  /// The same with these integers alone.
  bool add_changes_with(ProbeCall call, uint32_t salts, std::vector<std::vector<bool>>& changed,
                        std::string* problem = nullptr);
  std::optional<ProbeSeen> run(const ProbeCall& call, std::string* problem = nullptr);

  Probe& probe_;
  std::string entry_;
  const ProposedKernel& kernel_;
  const ProposedLaunch& launch_;
};

}  // namespace gpuemu::cli
