// What the commands of `gpuemu debug` work on: the loaded case, the run of it, and the streams.
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

/// What the program around it gives; all of it outlives the session.
struct DebugEnvironment {
  std::ostream& out;
  std::ostream& err;
  bool colour = false;
  RunSettings settings = {};
  /// Asks the daemon, starting one if need be. An ErrorReply is a reply.
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
  std::unique_ptr<CaseRun> run;  ///< Runs `loaded` and asks `stepping`: destroyed first.
  size_t launch = 0;             ///< Index of the launch that runs, or ran last.
  bool ran = false;              ///< It has launched something: outputs have values.
  std::optional<ReproduceResultReply> pipeline;
  size_t next_stage = 0;
  std::vector<uint64_t> seeds;  ///< Seeds of the last list, for completion.
  bool quit = false;
};

/// The loaded case. InvalidArgument when there is none.
Result<const ExportedCaseReply*> loaded_case(const DebugContext& context);
/// The loaded case; an error when it has no kernel.
Result<const ExportedCaseReply*> case_with_kernel(const DebugContext& context);
/// InvalidArgument with the names there are.
Result<const ExportedTensor*> find_tensor(const DebugContext& context, const std::string& name);
/// The values that a reference to a tensor means, whole.
Result<Tensor> values_of(DebugContext& context, const TensorRef& ref);

/// The daemon's answer; what it refuses is an error.
template <typename R>
Result<R> ask_for(const DebugContext& context, const Request& request);

/// An ErrorReply as an error: InvalidArgument where the question was wrong.
Error error_of(const ErrorReply& reply);

template <typename R>
Result<R> ask_for(const DebugContext& context, const Request& request) {
  Reply reply = GPUEMU_TRY(context.environment.ask(request));
  if (const auto* refused = std::get_if<ErrorReply>(&reply)) return error_of(*refused);
  if (auto* answer = std::get_if<R>(&reply)) return std::move(*answer);
  return error(ErrorCode::Internal, "the daemon answers with {}", type_of(reply));
}

}  // namespace gpuemu::cli
