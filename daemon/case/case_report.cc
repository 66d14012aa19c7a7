#include "daemon/case/case_report.h"

namespace gpuemu {

std::string_view name_of(CaseNote note) {
  switch (note) {
    case CaseNote::Underflow:
      return "underflow";
    case CaseNote::Flushed:
      return "flushed";
    case CaseNote::Masked:
      return "masked";
    case CaseNote::ErrorScale:
      return "error_scale";
    case CaseNote::Customary:
      return "customary";
    case CaseNote::NotLookedAt:
      return "not_looked_at";
    case CaseNote::RedundantThreads:
      return "redundant_threads";
    case CaseNote::UndefinedIntegers:
      return "undefined_integers";
    case CaseNote::WrappedIntegers:
      return "wrapped_integers";
    case CaseNote::WrittenOnce:
      return "written_once";
  }
  GPUEMU_UNREACHABLE();
}

size_t snapshot_bytes(const ValidationResult& result) {
  if (!result.repro_info || !result.repro_info->input_snapshot) return 0;
  return result.repro_info->input_snapshot->size();
}

}  // namespace gpuemu
