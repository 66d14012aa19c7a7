// A slot executes one case at a time, or several small ones of one thread: it has shared memory, a
// seat at a worker and a reference process.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "common/base/arena.h"
#include "daemon/reference/reference_process.h"
#include "daemon/worker/worker_seat.h"

namespace gpuemu {

/// Its processes start at their first use. `memory` must outlive the slot.
struct Slot {
  Slot(Arena& memory, WorkerSeat seat, ReferenceSeat scripts)
      : arena(memory), worker(std::move(seat)), reference(scripts) {}

  Arena& arena;
  WorkerSeat worker;
  ReferenceSeat reference;
  /// Places for more cases of the same thread, each with an arena of its own. Their plans and
  /// requests wait at the slot's worker and reference process.
  std::vector<std::unique_ptr<Slot>> beside = {};
};

}  // namespace gpuemu
