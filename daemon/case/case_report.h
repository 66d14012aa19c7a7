// What one case gives: its verdict, and the extras that were asked for beside it.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "common/protocol/ci.h"
#include "common/protocol/records.h"
#include "common/protocol/replies.h"
#include "judge/bounds/error_range.h"
#include "judge/explain/exact_comparison.h"
#include "judge/verdict/trivial_outputs.h"
#include "runtime/profile/coverage.h"
#include "runtime/shadow/element_shadow.h"

namespace gpuemu {

/// Why errors beyond the bound passed, or what was not compared.
enum class CaseNote : uint8_t {
  Underflow,          ///< Results too small for their type explain the errors.
  Flushed,            ///< Subnormal results came out as zero.
  Masked,             ///< The reference is NaN or infinite where masked inputs are.
  ErrorScale,         ///< The last place of the inputs moves the result as much.
  Customary,          ///< A customary test accepts the errors; the case has a warning.
  NotLookedAt,        ///< Judged by the customary test alone: no run without rounding was possible.
  RedundantThreads,   ///< Threads that Triton has do the same work raced without a consequence.
  UndefinedIntegers,  ///< Integers made of a NaN or an infinity were not compared.
  WrappedIntegers,    ///< Integers that do not fit were compared by the bits that are kept.
  WrittenOnce,        ///< No element was written twice.
};
/// The name under which reports count the note, "underflow" for example.
std::string_view name_of(CaseNote note);

struct CaseTensors {
  NamedTensors inputs;
  NamedTensors outputs;  ///< Empty unless asked for.
};

struct CaseEvidence {
  TrivialOutputs trivial_outputs;
  bool exact = false;  ///< All outputs were compared without a tolerance.
};

struct LaunchedCode {
  std::string ptx;
  std::vector<ExportedLaunch> launches;  ///< In the order of their execution.
};

struct CaseShadows {
  ExecutionShadow execution;
  std::vector<ComparedShadow> outputs;    ///< One for each float output with a reference.
  std::vector<ExactProperty> properties;  ///< The invariants and relations that do not hold.
  NamedTensors exact_outputs;             ///< Without rounding but that of the outputs.
};

/// One member for each Extra; absent unless it was asked for and the case came to it.
struct CaseExtras {
  std::optional<CaseTensors> tensors;  ///< Failing cases always have their inputs.
  std::vector<LineProfile> lines;
  std::optional<ErrorMap> error_map;
  std::optional<CaseEvidence> evidence;  ///< Only of a case whose values were compared and passed.
  ErrorRange error_range;
  LaunchCoverage coverage;
  std::optional<CaseShadows> shadows;
  std::optional<ExportedCaseReply> exported;  ///< Without inputs and result.
  std::optional<LaunchedCode> code;
};

struct CaseReport {
  ValidationResult result;
  double bound_ratio_max = 0;          ///< Largest |output - reference| / bound.
  std::string kernel;                  ///< The variant that ran.
  std::vector<std::string> relations;  ///< The names of those that were checked on it.
  std::set<CaseNote> notes;
  std::set<std::string> remarks;  ///< Sentences for the report of the run, each once.
  std::vector<std::string> printed;
  CaseExtras extras;
};

/// The bytes of the inputs that are stored with the result; 0 when it passed.
size_t snapshot_bytes(const ValidationResult& result);

}  // namespace gpuemu
