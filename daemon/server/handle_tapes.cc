// Tapes: append to them, query their state, fetch tensors.
#include <algorithm>
#include <chrono>

#include "common/protocol/wire_errors.h"
#include "daemon/server/handlers.h"
#include "daemon/server/open_projects.h"

namespace gpuemu {
namespace {

/// Longest wait of one TapeStatus; the client then repeats it.
constexpr uint64_t kStatusWaitMsMax = 60'000;

TapeClient client_of(const Call& call) { return {call.session->number(), call.user, call.session}; }

template <typename Answer>
Reply reply_of(Answer answer) {
  return std::visit([](auto& one) { return Reply(std::move(one)); }, answer);
}

bool has_tapes(const Call& call) {
  return call.context.projects != nullptr && call.session != nullptr;
}

}  // namespace

Reply handle(const SubmitTapeRequest& request, Call& call) {
  if (!has_tapes(call)) return no_projects();
  return reply_of(call.context.projects->tapes().submit(client_of(call), request.entries_json));
}

Reply handle(const TapeStatusRequest& request, Call& call) {
  if (!has_tapes(call)) return no_projects();
  const std::chrono::milliseconds wait(std::min(request.wait_ms.value_or(0), kStatusWaitMsMax));
  return call.context.projects->tapes().status(client_of(call), wait);
}

Reply handle(const FetchTensorRequest& request, Call& call) {
  if (!has_tapes(call)) return no_projects();
  return reply_of(call.context.projects->tapes().fetch(client_of(call), request.id));
}

Reply handle(const GetTraceRequest& request, Call& call) {
  if (!has_tapes(call)) return no_projects();
  Tapes::Wanted wanted{.name = request.name, .user = call.user};
  const auto layers = tape::layers_named(request.layers);
  if (!layers) return error_reply(layers.error());
  wanted.layers = *layers;
  if (call.names_session) {
    wanted.number = call.session->number();
  } else if (wanted.name.empty()) {
    wanted.name = request.session;
  }
  auto trace = call.context.projects->tapes().trace(wanted);
  if (!trace && trace.error().code == ErrorCode::NotFound) {
    return ErrorReply{WireErrorCode::SessionNotFound, trace.error().message};
  }
  if (!trace) return error_reply(trace.error());
  return TraceReply{*std::move(trace)};
}

}  // namespace gpuemu
