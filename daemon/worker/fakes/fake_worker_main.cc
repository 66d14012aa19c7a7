// Test worker: gpuemu-worker with the fake device. --backend "none" has no device.
#include <cstdlib>
#include <string>
#include <vector>

#include "daemon/executor/fakes/fake_device.h"
#include "daemon/worker/worker_loop.h"

int main(int argc, char** argv) {
  std::string backend;
  int socket = -1, memory = -1, arenas = 1;
  uint64_t memory_limit = 0;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string option = argv[i];
    if (option == "--backend") backend = argv[i + 1];
    if (option == "--socket-fd") socket = std::atoi(argv[i + 1]);
    if (option == "--arena-fd") memory = std::atoi(argv[i + 1]);
    if (option == "--arenas") arenas = std::atoi(argv[i + 1]);
    if (option == "--memory-limit") memory_limit = std::strtoull(argv[i + 1], nullptr, 10);
  }
  if (backend == "none") {
    const gpuemu::Error why = gpuemu::error(gpuemu::ErrorCode::Unsupported, "no such backend");
    return gpuemu::report_no_device(why, socket) ? 1 : 2;
  }
  std::vector<gpuemu::Arena> opened;
  for (int i = 0; i < arenas; ++i) {
    auto arena = gpuemu::Arena::open(gpuemu::UniqueFd(memory + i));
    if (!arena) return 3;
    opened.push_back(*std::move(arena));
  }
  gpuemu::FakeDevice device(false, memory_limit);
  return gpuemu::run_worker_loop(device, std::move(opened), socket) ? 0 : 1;
}
