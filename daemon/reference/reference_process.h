// A warm Python that computes expected outputs. Used by one thread at a time.
// Tensors lie packed in the shared arena; only small JSON lines cross the pipes.
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
  std::string python;                          ///< Interpreter; must import numpy.
  std::string folder;                          ///< Working folder of the scripts: the project's.
  std::shared_ptr<ReferenceFiles> files = {};  ///< Told what scripts read; may be null.
  uint64_t memory_bytes = 0;                   ///< Limit for requests that name none; 0: unlimited.
};

struct ReferenceTensor {
  std::string name;
  DType dtype = DType::Float32;
  Shape shape;
  uint64_t arena_offset = 0;
};

struct ReferenceRequest {
  std::string script;                         ///< Absolute path.
  std::string function;                       ///< In the script; "": reference().
  bool process_only = false;                  ///< reference_mode = "process", or an op script.
  std::vector<ReferenceTensor> inputs;        ///< Packed row-major in the arena.
  std::map<std::string, std::string> kwargs;  ///< As strings for the stdin contract.
  std::map<std::string, double> numbers;      ///< Dims and attrs for the function form.
  std::map<std::string, int64_t> integers;
  std::vector<std::string> output_names;  ///< Declared outputs, in order; may be empty (legacy).
  bool want_scale = false;                ///< Call error_scale(**inputs) when the script has it.
  bool may_judge = false;                 ///< It may return predicates instead of values.
  /// If not empty, calls the predicates on these outputs of the kernel instead; the reply has one
  /// bool tensor for each.
  std::vector<ReferenceTensor> judged;
  uint64_t result_offset = 0;  ///< Results are written from here on; the process grows the
                               ///< arena file when needed, the caller refreshes.
  uint64_t timeout_ms = 60'000;
  /// Private memory that the interpreter, and each process that a script starts, may hold; 0: what
  /// ReferenceOptions says.
  uint64_t memory_bytes = 0;
};

struct ReferenceReply {
  std::vector<ReferenceTensor>
      outputs;  ///< Function form: float64 / int64 / bool; process form: as announced.
  std::vector<ReferenceTensor>
      scales;  ///< float64, same order and shapes as outputs; empty when none.
  std::vector<std::string> predicates;  ///< Outputs with a predicate; not in `outputs`.
  /// Answers of the predicates by output name, once they were called: 1 for each right element.
  std::map<std::string, std::vector<uint8_t>> accepted;
  bool function_form = false;
  std::optional<ReferenceReads> reads = {};  ///< When it differs from what the process told before.
};

class ReferenceProcess {
 public:
  /// Starts lazily. `arena` must outlive it.
  ReferenceProcess(ReferenceOptions options, Arena& arena);
  ~ReferenceProcess();
  ReferenceProcess(const ReferenceProcess&) = delete;
  ReferenceProcess& operator=(const ReferenceProcess&) = delete;

  /// Sends and returns at once. REQUIRES: nothing in flight.
  Status begin(ReferenceRequest request);
  /// Compile: the script failed (exit code, exception, garbage); the message has script and stderr.
  /// Timeout: it ran too long and its whole process group was killed. Unavailable: no such Python,
  /// or it cannot import numpy; the message says what to do. Any of them leaves it usable.
  Result<ReferenceReply> finish();
  /// finish() is Cancelled, and the script killed, soon after `*cancel`, which must outlive its
  /// use, has become true. Null: never.
  void stop_when(const std::atomic<bool>* cancel);
  /// Whether it was, since stop_when().
  bool was_cancelled() const;
  int pid() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace gpuemu
