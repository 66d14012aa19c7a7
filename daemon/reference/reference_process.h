// A persistent Python process that computes expected outputs. Tensors are packed in the shared
// arena; only names, sizes and offsets cross the socket. Not thread-safe.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/base/arena.h"
#include "common/tensor/tensor.h"
#include "daemon/reference/reference_files.h"

namespace gpuemu {

struct ReferenceOptions {
  std::string python;  ///< Interpreter; must be able to import NumPy.
  std::string folder;  ///< Working folder of the scripts: the project's folder.
  /// Receives the files that scripts read; may be null.
  std::shared_ptr<ReferenceFiles> files = {};
  uint64_t memory_bytes = 0;  ///< Limit for requests that set none; 0: unlimited.
};

struct ReferenceTensor {
  std::string name;
  DType dtype = DType::Float32;
  Shape shape;
  uint64_t arena_offset = 0;
};

struct ReferenceRequest {
  uint32_t arena = 0;                         ///< Offsets refer to it.
  std::string script;                         ///< Absolute path.
  std::string function;                       ///< In the script; "": reference().
  bool process_only = false;                  ///< reference_mode = "process", or an op script.
  std::vector<ReferenceTensor> inputs;        ///< Packed, row-major, in the arena.
  std::map<std::string, std::string> kwargs;  ///< As strings, for the stdin contract.
  std::map<std::string, double> numbers;      ///< Dims and attrs for the function form.
  std::map<std::string, int64_t> integers;
  /// Declared outputs in order; may be empty for existing clients.
  std::vector<std::string> output_names;
  bool want_scale = false;  ///< Call error_scale(**inputs) if the script has it.
  bool may_judge = false;   ///< The script may return predicates instead of values.
  /// If not empty, calls the predicates on these outputs of the kernel instead. The reply then has
  /// one bool tensor for each.
  std::vector<ReferenceTensor> judged;
  uint64_t result_offset = 0;  ///< Results are written from here on. The process grows the arena if
                               ///< necessary; the caller must refresh it.
  uint64_t timeout_ms = 60'000;
  /// Limit of the private memory of the interpreter, and of each process that a script starts; 0:
  /// the limit in ReferenceOptions.
  uint64_t memory_bytes = 0;
};

struct ReferenceReply {
  std::vector<ReferenceTensor>
      outputs;  ///< Function form: float64 / int64 / bool; process form: as announced.
  std::vector<ReferenceTensor>
      scales;  ///< float64, same order and shapes as outputs; empty if there are none.
  std::vector<std::string> predicates;  ///< Outputs that have a predicate; not in `outputs`.
  /// Results of the predicates by output, once they were called: 1 for each right element.
  std::map<std::string, std::vector<uint8_t>> accepted;
  bool function_form = false;
  /// Set if it differs from what the process reported before.
  std::optional<ReferenceReads> reads = {};
};

class ReferenceProcess {
 public:
  /// Starts on first use. Requests refer to the arenas by index; they must outlive it.
  ReferenceProcess(ReferenceOptions options, std::vector<Arena*> arenas);
  ReferenceProcess(ReferenceOptions options, Arena& arena)
      : ReferenceProcess(std::move(options), std::vector<Arena*>{&arena}) {}
  ~ReferenceProcess();
  ReferenceProcess(const ReferenceProcess&) = delete;
  ReferenceProcess& operator=(const ReferenceProcess&) = delete;

  /// Sends the request and returns. Requests are answered in the order in which they were sent;
  /// only one of each arena may be in flight.
  Status begin(ReferenceRequest request);
  /// Waits for the result of this arena's request. Errors: Compile (the script failed: exit code,
  /// exception, invalid output; the message contains the script and its stderr), Timeout (it took
  /// too long; its whole process group was killed), Unavailable (no such Python, or it cannot
  /// import NumPy; the message says what to do). The object stays usable after each, and another
  /// process gets the requests after this one.
  Result<ReferenceReply> finish(uint32_t arena = 0);
  /// Makes finish() return Cancelled and kills the script soon after `*cancel` becomes true. The
  /// flag must outlive its use. Null: never.
  void stop_when(const std::atomic<bool>* cancel);
  /// Returns whether that happened since stop_when().
  bool was_cancelled() const;
  int pid() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// The use of a process with one of its arenas.
class ReferenceSeat {
 public:
  /// `process` must outlive it.
  ReferenceSeat(ReferenceProcess& process, uint32_t arena) : process_(&process), arena_(arena) {}

  /// As in ReferenceProcess.
  Status begin(ReferenceRequest request) {
    request.arena = arena_;
    return process_->begin(std::move(request));
  }
  Result<ReferenceReply> finish() { return process_->finish(arena_); }
  void stop_when(const std::atomic<bool>* cancel) { process_->stop_when(cancel); }
  bool was_cancelled() const { return process_->was_cancelled(); }
  int pid() const { return process_->pid(); }

 private:
  ReferenceProcess* process_;
  uint32_t arena_;
};

}  // namespace gpuemu
