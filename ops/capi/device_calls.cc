// C interface: streams, events and graphs.
#include "ops/capi/context.h"

using gpuemu::opcall::answer;
using gpuemu::opcall::is_usable;
using gpuemu::opcall::missing;
using gpuemu::opcall::refuse;

namespace {

/// Waits for work that may use them. On a lost device nothing is freed.
void free_all(gpuemu_context& context, const std::vector<uint64_t>& addresses) {
  for (const uint64_t address : addresses) (void)context.device->free(address).ok();
}

}  // namespace

extern "C" {

gpuemu_code gpuemu_stream_create(gpuemu_context* context, int32_t priority, uint32_t non_blocking,
                                 gpuemu_stream* stream) {
  if (!is_usable(context)) return refuse(context);
  if (stream == nullptr) return missing("stream");
  return answer(
      context->streams->make_stream({.priority = priority, .non_blocking = non_blocking != 0}),
      stream);
}

gpuemu_code gpuemu_stream_destroy(gpuemu_context* context, gpuemu_stream stream) {
  if (!is_usable(context)) return refuse(context);
  const auto is_captured = context->streams->is_capturing(stream);
  if (!is_captured) return answer(is_captured.error());
  // Its memory moves to the default stream, ordered after the stream's remaining work.
  const bool goes = stream != gpuemu::kDefaultStream && !*is_captured;
  if (context->pool != nullptr && goes) {
    const gpuemu::Status forgotten = context->pool->forget_stream(stream);
    if (!forgotten) return answer(forgotten);
  }
  return answer(context->streams->free_stream(stream));
}

gpuemu_code gpuemu_stream_synchronize(gpuemu_context* context, gpuemu_stream stream) {
  if (!is_usable(context)) return refuse(context);
  return answer(context->streams->synchronize(context->stream_of(stream)));
}

gpuemu_code gpuemu_stream_query(gpuemu_context* context, gpuemu_stream stream, uint32_t* done) {
  if (!is_usable(context)) return refuse(context);
  if (done == nullptr) return missing("done");
  return answer(context->streams->query(context->stream_of(stream)), done);
}

gpuemu_code gpuemu_stream_set_current(gpuemu_context* context, gpuemu_stream stream) {
  if (!is_usable(context)) return refuse(context);
  // Refuse an unknown stream here, not in the first call that uses it.
  const auto known = context->streams->is_capturing(stream);
  if (!known) return answer(known.error());
  gpuemu::set_current_stream(*context->device, stream);
  return GPUEMU_OK;
}

gpuemu_code gpuemu_event_create(gpuemu_context* context, gpuemu_event* event) {
  if (!is_usable(context)) return refuse(context);
  if (event == nullptr) return missing("event");
  return answer(context->streams->make_event(), event);
}

gpuemu_code gpuemu_event_destroy(gpuemu_context* context, gpuemu_event event) {
  if (!is_usable(context)) return refuse(context);
  return answer(context->streams->free_event(event));
}

gpuemu_code gpuemu_event_record(gpuemu_context* context, gpuemu_event event, gpuemu_stream stream) {
  if (!is_usable(context)) return refuse(context);
  return answer(context->streams->record(event, context->stream_of(stream)));
}

gpuemu_code gpuemu_event_wait(gpuemu_context* context, gpuemu_event event, gpuemu_stream stream) {
  if (!is_usable(context)) return refuse(context);
  return answer(context->streams->wait_event(context->stream_of(stream), event));
}

gpuemu_code gpuemu_event_synchronize(gpuemu_context* context, gpuemu_event event) {
  if (!is_usable(context)) return refuse(context);
  return answer(context->streams->synchronize_event(event));
}

gpuemu_code gpuemu_event_query(gpuemu_context* context, gpuemu_event event, uint32_t* done) {
  if (!is_usable(context)) return refuse(context);
  if (done == nullptr) return missing("done");
  return answer(context->streams->query_event(event), done);
}

gpuemu_code gpuemu_event_elapsed_ms(gpuemu_context* context, gpuemu_event from, gpuemu_event to,
                                    float* milliseconds) {
  if (!is_usable(context)) return refuse(context);
  if (milliseconds == nullptr) return missing("milliseconds");
  return answer(context->streams->elapsed_ms(from, to), milliseconds);
}

gpuemu_code gpuemu_capture_begin(gpuemu_context* context, gpuemu_stream stream) {
  if (!is_usable(context)) return refuse(context);
  const gpuemu::StreamId captured = context->stream_of(stream);
  const gpuemu::Status begun = context->streams->begin_capture(captured);
  if (!begun) return answer(begun);
  const std::unique_lock lock(context->mutex);
  context->captures[captured] = context->registry.generation();
  context->capture_count = context->captures.size();
  return GPUEMU_OK;
}

gpuemu_code gpuemu_capture_end(gpuemu_context* context, gpuemu_stream stream, gpuemu_graph* graph) {
  if (!is_usable(context)) return refuse(context);
  if (graph == nullptr) return missing("graph");
  const auto captured = context->streams->end_capture(context->stream_of(stream));
  {
    const std::unique_lock lock(context->mutex);
    context->captures.erase(context->stream_of(stream));
    context->capture_count = context->captures.size();
  }
  std::vector<uint64_t> workspaces = context->dispatcher->take_captured_workspaces();
  if (!captured) {
    free_all(*context, workspaces);
    return answer(captured.error());
  }
  const auto nodes = context->streams->graph_nodes(*captured);
  const auto made = context->streams->instantiate(*captured);
  const gpuemu::Status freed = context->streams->free_graph(*captured);
  if (!made || !freed) free_all(*context, workspaces);
  if (!made) return answer(made.error());
  if (!freed) return answer(freed);
  const std::unique_lock lock(context->mutex);
  context->graphs[*made] = {.nodes = nodes ? *nodes : 0, .workspaces = std::move(workspaces)};
  *graph = *made;
  return GPUEMU_OK;
}

gpuemu_code gpuemu_graph_nodes(gpuemu_context* context, gpuemu_graph graph, uint64_t* nodes) {
  if (!is_usable(context)) return refuse(context);
  if (nodes == nullptr) return missing("nodes");
  const std::shared_lock lock(context->mutex);
  const auto found = context->graphs.find(graph);
  if (found == context->graphs.end()) {
    return answer(gpuemu::error(gpuemu::ErrorCode::InvalidArgument,
                                "no graph {}: it was destroyed, or it never was", graph));
  }
  *nodes = found->second.nodes;
  return GPUEMU_OK;
}

gpuemu_code gpuemu_graph_launch(gpuemu_context* context, gpuemu_graph graph, gpuemu_stream stream) {
  if (!is_usable(context)) return refuse(context);
  return answer(context->streams->launch_graph(graph, context->stream_of(stream)));
}

gpuemu_code gpuemu_graph_destroy(gpuemu_context* context, gpuemu_graph graph) {
  if (!is_usable(context)) return refuse(context);
  const gpuemu::Status freed = context->streams->free_graph_exec(graph);
  if (!freed) return answer(freed);
  std::map<gpuemu_graph, gpuemu_context::Graph>::node_type record;
  {
    const std::unique_lock lock(context->mutex);
    record = context->graphs.extract(graph);
  }
  if (!record.empty()) free_all(*context, record.mapped().workspaces);
  return GPUEMU_OK;
}

}  // extern "C"
