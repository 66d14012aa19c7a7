#include "ops/dispatch/stopwatch.h"

namespace gpuemu {

Stopwatch::~Stopwatch() {
  // A lost device frees nothing, and its process ends soon.
  for (const EventId event : {begin_, end_}) {
    if (event != 0) (void)streams_.free_event(event).ok();
  }
}

Status Stopwatch::record(EventId& event, StreamId stream) {
  if (event == 0) event = GPUEMU_TRY(streams_.make_event());
  return streams_.record(event, stream);
}

Status Stopwatch::begin(StreamId stream) { return record(begin_, stream); }

Result<double> Stopwatch::end(StreamId stream) {
  GPUEMU_TRY(record(end_, stream));
  GPUEMU_TRY(streams_.synchronize_event(end_));
  return 1000.0 * GPUEMU_TRY(streams_.elapsed_ms(begin_, end_));
}

}  // namespace gpuemu
