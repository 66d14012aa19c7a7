// Chooses the kernel variant of a case: by policy, `supports` and priority, or, with auto_select =
// "best_performance", the one that costs least on this device for sizes of this class.
//
// A shape class contains the cases whose tensors have the same sizes after rounding up to powers of
// two (size_class). A class is measured once, on a case that depends on neither the seed of the run
// nor the order of its cases, so that all runs of the same code choose the same. A class that no
// such case has is not measured.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/result.h"
#include "common/numeric/dtype.h"
#include "daemon/case/case_report.h"
#include "judge/cases/case.h"

namespace gpuemu {

class KernelStore;
struct Config;
struct KernelConfig;
struct OpConfig;
struct Slot;

/// Keeps texts by name between runs of the daemon.
struct VariantMemory {
  std::function<Result<std::optional<std::string>>(const std::string& name)> find;
  std::function<Status(const std::string& name, const std::string& text)> keep;
};

/// Two variants whose costs differ by less are equally good: the first by priority runs.
inline constexpr double kVariantTie = 1.02;

/// Thread-safe. All arguments must outlive it.
class VariantChoice {
 public:
  using Able = std::vector<const KernelConfig*>;  ///< The first by priority first.
  using OptionsOf = std::function<CaseOptions(const OpConfig& op, DType dtype)>;

  VariantChoice(const Config& config, KernelStore& kernels, VariantMemory memory,
                OptionsOf options_of)
      : config_(config),
        kernels_(kernels),
        memory_(std::move(memory)),
        options_of_(std::move(options_of)) {}

  /// Returns the variant that the plan names, else the one that the policy prefers, else the first
  /// by priority, of those that support the case; null if none does. Measures nothing.
  Result<const KernelConfig*> first(const OpConfig& op, const CasePlan& plan) const;

  /// Returns the variants of which choose() returns one.
  Result<Able> candidates(const OpConfig& op, const CasePlan& plan) const;

  struct Chosen {
    const KernelConfig* kernel = nullptr;  ///< Null: no variant supports the case.
    std::optional<MeasuredChoice> measured;
  };
  /// Returns the variant that runs the case. Measures the variants on the slot if their costs for
  /// the case's class are not known yet.
  Result<Chosen> choose(const OpConfig& op, const CasePlan& plan, Slot& slot);

 private:
  struct Cost {
    std::string code;     ///< Hash of the code and the launches that were measured.
    double amount = 0;    ///< Microseconds; on the emulator, steps: instructions of all threads by
                          ///< the number of threads that run at once.
    std::string problem;  ///< Not empty: the variant could not be measured, for this reason.
  };
  using Costs = std::map<std::string, Cost>;  ///< By variant.
  struct Known {
    std::mutex mutex;
    std::optional<Costs> costs;  // Guarded by mutex.
  };
  /// Cases to measure, by their class and their variants.
  struct Samples {
    std::once_flag once;
    std::map<std::string, CasePlan> by_class;
  };
  struct Machine {
    Slot& slot;
    bool is_gpu = false;
  };
  Result<Able> able(const OpConfig& op, const CasePlan& plan) const;
  static Costs parse(std::string_view text);
  static std::string text_of(const Costs& costs);
  static Chosen best(const CasePlan& plan, const Able& variants, const Costs& costs, bool is_gpu);
  /// Returns the case on which the class of `plan` is measured; null if there is none.
  const CasePlan* sample(const OpConfig& op, const CasePlan& plan, const Able& variants);
  /// Measures the variants whose cost is not in `costs` or is that of other code. Returns whether
  /// there were any.
  Result<bool> complete(const OpConfig& op, const CasePlan& plan, const Able& variants,
                        const Machine& machine, Costs& costs);
  Result<Cost> measure(const OpConfig& op, const CasePlan& plan, const KernelConfig& kernel,
                       const Machine& machine);

  const Config& config_;
  KernelStore& kernels_;
  const VariantMemory memory_;
  const OptionsOf options_of_;
  std::mutex mutex_;
  // Guarded by mutex_:
  std::map<std::string, std::shared_ptr<Known>> known_;  // By question.
  std::map<std::pair<std::string, DType>, std::shared_ptr<Samples>> samples_;
};

/// Counts which variants ran and why, for the report of an op.
class VariantTally {
 public:
  void add(const CaseReport& report);
  /// Returns a sentence for each variant that measurements chose.
  std::vector<std::string> sentences() const;

 private:
  struct Count {
    uint64_t cases = 0;
    std::map<std::string, MeasuredChoice> classes;  ///< By shape class.
  };
  std::map<std::string, Count> chosen_;  ///< By variant.
};

}  // namespace gpuemu
