// Streams, events and graphs for C.
#include "ops/capi/context.h"

using gpuemu::opcall::answer;
using gpuemu::opcall::is_usable;
using gpuemu::opcall::missing;
using gpuemu::opcall::refuse;

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
  // Its memory becomes the default stream's, behind what it still does.
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

gpuemu_code gpuemu_stream_set_current(gpuemu_context* context, gpuemu_stream stream) {
  if (!is_usable(context)) return refuse(context);
  // A number that is no stream is refused here and not by the first call that uses it.
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

gpuemu_code gpuemu_event_elapsed_ms(gpuemu_context* context, gpuemu_event from, gpuemu_event to,
                                    float* milliseconds) {
  if (!is_usable(context)) return refuse(context);
  if (milliseconds == nullptr) return missing("milliseconds");
  return answer(context->streams->elapsed_ms(from, to), milliseconds);
}

gpuemu_code gpuemu_capture_begin(gpuemu_context* context, gpuemu_stream stream) {
  if (!is_usable(context)) return refuse(context);
  return answer(context->streams->begin_capture(context->stream_of(stream)));
}

gpuemu_code gpuemu_capture_end(gpuemu_context* context, gpuemu_stream stream, gpuemu_graph* graph) {
  if (!is_usable(context)) return refuse(context);
  if (graph == nullptr) return missing("graph");
  const auto captured = context->streams->end_capture(context->stream_of(stream));
  if (!captured) return answer(captured.error());
  const auto made = context->streams->instantiate(*captured);
  const gpuemu::Status freed = context->streams->free_graph(*captured);
  if (made && !freed) return answer(freed);
  return answer(made, graph);
}

gpuemu_code gpuemu_graph_launch(gpuemu_context* context, gpuemu_graph graph, gpuemu_stream stream) {
  if (!is_usable(context)) return refuse(context);
  return answer(context->streams->launch_graph(graph, context->stream_of(stream)));
}

gpuemu_code gpuemu_graph_destroy(gpuemu_context* context, gpuemu_graph graph) {
  if (!is_usable(context)) return refuse(context);
  return answer(context->streams->free_graph_exec(graph));
}

}  // extern "C"
