// Measures one entry, with one text per architecture. Used only by measure_kernels.cc.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "common/base/result.h"
#include "common/config/config.h"
#include "daemon/measure/measure_kernels.h"
#include "judge/metrics/policy.h"
#include "runtime/ptx/module.h"

namespace gpuemu {

/// A parsed text and the result of ptxas for one architecture.
struct PtxUnit {
  std::string text;
  ptx::Module module;
  std::map<std::string, CompiledMetrics> compiled;          ///< By entry.
  std::map<std::string, std::vector<std::string>> opcodes;  ///< Opcodes of machine code.
  std::string not_compiled;                                 ///< Why `compiled` is empty.
};

/// Compile if the text does not parse or ptxas rejects it.
Result<std::shared_ptr<const PtxUnit>> make_unit(const std::string& ptx, const std::string& name,
                                                 const std::string& arch,
                                                 const std::string& cache_folder);

/// The launch for which occupancy is computed.
struct EntryLaunch {
  uint32_t threads = 0;  ///< Threads per block as requested; 0: from the members below.
  uint64_t dynamic_shared_bytes = 0;
  const LaunchSpec* spec = nullptr;
  const OpConfig* op = nullptr;  ///< The op whose dims, at their largest, give the launch.
  DType dtype = DType::Float32;
};

struct EntryMeasurement {
  std::string name;
  std::shared_ptr<const PtxUnit> unit;      ///< The PTX for the first architecture.
  const ptx::Function* function = nullptr;  ///< In it.
  std::vector<CompiledMetrics> compiled;
  Measured measured;
};

void add_architecture(const PtxUnit& unit, const ptx::Function& function, const std::string& arch,
                      const EntryLaunch& launch, EntryMeasurement& entry);
/// Returns the metrics, without a verdict.
LintResult finish_entry(const EntryMeasurement& entry);
void judge_entry(const Config& config, const KernelConfig* kernel, EntryMeasurement& entry,
                 LintResult& result);

/// Measures the kernels in machine code, with one result for each name over all architectures in
/// the file.
Result<std::vector<LintResult>> measure_object(const Config& config, const KernelConfig* kernel,
                                               const std::string& path,
                                               const InspectOptions& options);

}  // namespace gpuemu
