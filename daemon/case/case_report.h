// The result of one case: its verdict, and the extras that were requested.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "common/protocol/ci.gen.h"
#include "common/protocol/kernel_records.gen.h"
#include "common/protocol/records.gen.h"
#include "common/protocol/replies.gen.h"
#include "judge/bounds/error_range.h"
#include "judge/explain/exact_comparison.h"
#include "judge/verdict/trivial_outputs.h"
#include "runtime/profile/coverage.h"
#include "runtime/shadow/element_shadow.h"

namespace gpuemu {

/// Why errors beyond the bound were accepted, or what was not compared.
enum class CaseNote : uint8_t {
  Underflow,          ///< The errors come from results too small for their type.
  Flushed,            ///< Subnormal results came out as zero.
  Masked,             ///< The reference is NaN or infinite where masked inputs are.
  ErrorScale,         ///< A change in the last place of the inputs moves the result as much.
  Customary,          ///< A customary test accepts the errors; the case has a warning.
  NotLookedAt,        ///< Judged by the customary test alone, because no run without rounding was
                      ///< possible.
  RedundantThreads,   ///< Threads to which Triton gives the same work raced without consequences.
  UndefinedIntegers,  ///< Integers derived from a NaN or an infinity were not compared.
  WrappedIntegers,    ///< Integers that do not fit were compared modulo the width of the type.
  WrittenOnce,        ///< No element was written twice.
};
/// Returns the name under which reports count the note, such as "underflow".
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
  std::vector<ExactProperty> properties;  ///< The invariants and relations that are violated.
  NamedTensors exact_outputs;  ///< Computed without rounding, except that of the outputs.
};

/// One member for each Extra; absent unless it was requested and the case got that far.
struct CaseExtras {
  std::optional<CaseTensors> tensors;  ///< Failing cases always have their inputs.
  std::vector<LineProfile> lines;
  std::optional<ErrorMap> error_map;
  std::optional<CaseEvidence> evidence;  ///< Only for a case whose values were compared and passed.
  ErrorRange error_range;
  LaunchCoverage coverage;
  std::optional<CaseShadows> shadows;
  std::optional<ExportedCaseReply> exported;  ///< Without inputs and result.
  std::optional<LaunchedCode> code;
};

/// Why auto_select = "best_performance" chose a variant.
struct MeasuredChoice {
  std::string sizes;  ///< The shape class.
  std::string costs;  ///< Its cost and those of the others, for people.
};

struct CaseReport {
  ValidationResult result;
  double bound_ratio_max = 0;                 ///< Largest |output - reference| / bound.
  std::string kernel;                         ///< The variant that ran.
  std::optional<MeasuredChoice> choice = {};  ///< Absent if nothing was measured.
  std::vector<std::string> relations;  ///< The names of the relations that were checked on the
                                       ///< case.
  std::set<CaseNote> notes;
  std::set<std::string> remarks;  ///< Sentences for the report of the run, each reported once.
  std::vector<std::string> printed;
  CaseExtras extras;
};

/// Returns the size in bytes of the inputs stored with the result; 0 if it passed.
size_t snapshot_bytes(const ValidationResult& result);

}  // namespace gpuemu
