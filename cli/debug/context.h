// The state that the commands of `gpuemu debug` share: the loaded case, its run, and the streams.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <ostream>
#include <string>

#include "cli/debug/case_run.h"
#include "cli/debug/slice.h"
#include "cli/debug/stepping.h"
#include "cli/debug/words.h"
#include "common/protocol/replies.h"
#include "common/protocol/requests.h"

namespace gpuemu::cli {

/// The environment that the program provides; all of it outlives the session.
struct DebugEnvironment {
  std::ostream& out;
  std::ostream& err;
  bool colour = false;
  RunSettings settings = {};
  /// Sends a request to the daemon, and starts one if necessary. An ErrorReply counts as a reply.
  std::function<Result<Reply>(const Request&)> ask = {};
};

class CommandLoop;

struct DebugContext {
  explicit DebugContext(DebugEnvironment& of) : environment(of), out(of.out) {}

  DebugEnvironment& environment;
  std::ostream& out;
  std::optional<ExportedCaseReply> loaded;
  CommandLoop* loop = nullptr;
  std::unique_ptr<Stepping> stepping;
  std::unique_ptr<CaseRun> run;  ///< Runs `loaded` and calls `stepping`, so it is destroyed first.
  size_t launch = 0;             ///< Index of the launch that is running, or ran last.
  bool ran = false;              ///< Whether any launch has run, so that outputs have values.
  std::optional<ReproduceResultReply> pipeline;
  size_t next_stage = 0;
  std::vector<uint64_t> seeds;  ///< Seeds of the last list, for completion.
  bool quit = false;
};

/// Returns the loaded case; InvalidArgument if there is none.
Result<const ExportedCaseReply*> loaded_case(const DebugContext& context);
/// Returns the loaded case; an error if it has no kernel.
Result<const ExportedCaseReply*> case_with_kernel(const DebugContext& context);
/// Returns the tensor; InvalidArgument lists the existing names.
Result<const ExportedTensor*> find_tensor(const DebugContext& context, const std::string& name);
/// Returns all values of the tensor that the reference selects from.
Result<Tensor> values_of(DebugContext& context, const TensorRef& ref);

/// Returns the daemon's answer; a refusal becomes an error.
template <typename R>
Result<R> ask_for(const DebugContext& context, const Request& request);

/// Converts an ErrorReply to an error: InvalidArgument if the request was wrong.
Error error_of(const ErrorReply& reply);

template <typename R>
Result<R> ask_for(const DebugContext& context, const Request& request) {
  Reply reply = GPUEMU_TRY(context.environment.ask(request));
  if (const auto* refused = std::get_if<ErrorReply>(&reply)) return error_of(*refused);
  if (auto* answer = std::get_if<R>(&reply)) return std::move(*answer);
  return error(ErrorCode::Internal, "the daemon answers with {}", type_of(reply));
}

}  // namespace gpuemu::cli
