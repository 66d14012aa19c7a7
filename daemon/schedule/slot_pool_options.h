// How many slots a daemon has, and what each of them runs.
#pragma once

#include <cstdint>
#include <memory>

#include "daemon/reference/reference_process.h"
#include "daemon/schedule/lane_gate.h"
#include "daemon/worker/worker_seat.h"

namespace gpuemu {

struct SlotPoolOptions {
  uint32_t count = 1;    ///< Number of workers, each one process.
  uint32_t devices = 1;  ///< The devices are assigned to the workers in turn.
  /// Slots that share a worker. On a GPU several slots with one worker are three times as fast as
  /// one; several workers are slower, because processes take turns.
  uint32_t slots_per_worker = 1;
  /// Cases that a slot may hold at a time for one thread, which hands them to its processes
  /// together.
  uint32_t places_per_slot = 1;
  WorkerOptions worker;
  ReferenceOptions reference;
  WorkerPlaces places = {};
  /// Additional slots for cases that remote workers run: this many for each connected one, and at
  /// most this many. They wait at the local workers if no remote one is idle.
  uint32_t slots_per_remote = 0, remote_slots_max = 0;
  /// Limits the cases of all pools that share it, and selects the next case; null: a separate gate
  /// with as many lanes as there are slots.
  std::shared_ptr<LaneGate> gate = {};
};

}  // namespace gpuemu
