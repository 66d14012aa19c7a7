#include "bindings/libcudart/runtime.h"

#include <algorithm>
#include <mutex>

#include <pthread.h>

namespace gpuemu::libcudart {
namespace {

constexpr int kVersionMin = GPUEMU_RUNTIME_MAJOR * 1000;

thread_local ThreadState* state_of_thread = nullptr;
thread_local bool is_per_thread = false;

/// The states of all threads. Never destroyed before the process ends.
struct States {
  std::mutex mutex;
  std::vector<ThreadState*> all;
};
States& states() {
  static States* const kStates = new States;
  return *kStates;
}

const char* text_of_error(int code) {
  const char* text = nullptr;
  return cuGetErrorString(code, &text) == cudaSuccess ? text : "unknown error";
}

void report_unchecked(ThreadState& state) {
  if (state.unchecked_site == nullptr) return;
  hooks().unchecked_launch(state.unchecked_site, state.unchecked_kernel.c_str(),
                           text_of_error(state.unchecked_error));
  hooks().free_site(state.unchecked_site);
  state.unchecked_site = nullptr;
}

/// Runs when a thread ends.
void end_thread(void* ended) {
  auto* const state = static_cast<ThreadState*>(ended);
  report_unchecked(*state);
  const std::lock_guard lock(states().mutex);
  std::erase(states().all, state);
  delete state;
}

/// Runs at exit, before the driver library completes its record.
__attribute__((destructor)) void end_process() {
  const std::lock_guard lock(states().mutex);
  for (ThreadState* const state : states().all) report_unchecked(*state);
}

}  // namespace

const libcuda::RuntimeHooks& hooks() {
  static const libcuda::RuntimeHooks* const kDoor =
      gpuemu_runtime_hooks(reinterpret_cast<void*>(&states));
  return *kDoor;
}

std::atomic<int>& first_device() {
  static std::atomic<int> device = 0;
  return device;
}

ThreadState& thread_state() {
  if (state_of_thread != nullptr) return *state_of_thread;
  static const pthread_key_t kEnd = [] {
    pthread_key_t key{};
    (void)pthread_key_create(&key, end_thread);
    return key;
  }();
  state_of_thread = new ThreadState;
  (void)pthread_setspecific(kEnd, state_of_thread);
  const std::lock_guard lock(states().mutex);
  states().all.push_back(state_of_thread);
  return *state_of_thread;
}

void note_failed_launch(void* site, const std::string& kernel, int code) {
  ThreadState& state = thread_state();
  report_unchecked(state);
  state.unchecked_site = site;
  state.unchecked_kernel = kernel;
  state.unchecked_error = code;
}

void forget_failed_launch() {
  ThreadState& state = thread_state();
  if (state.unchecked_site != nullptr) hooks().free_site(state.unchecked_site);
  state.unchecked_site = nullptr;
}

int start() {
  const int started = cuInit(0);
  if (started != cudaSuccess) return started;
  int version = 0;
  (void)cuDriverGetVersion(&version);
  return version < kVersionMin ? cudaErrorInsufficientDriver : cudaSuccess;
}

int enter() {
  // A context that a reset destroyed is replaced by a new one.
  int device = 0;
  if (cuCtxGetDevice(&device) == cudaSuccess) return cudaSuccess;
  Context context = nullptr;
  const int retained = cuDevicePrimaryCtxRetain(&context, thread_state().device);
  return retained == cudaSuccess ? cuCtxSetCurrent(context) : retained;
}

int finish(int code) {
  if (code == cudaSuccess) return code;
  ThreadState& state = thread_state();
  state.last_error = code;
  // For a persistent fault, waiting calls return the same error again.
  const bool stays = code >= cudaErrorIllegalAddress && code < cudaErrorNotPermitted;
  if (stays && state.unchecked_site != nullptr && state.unchecked_error == code) {
    forget_failed_launch();
  }
  return code;
}

CallScope::CallScope(const char* call) { hooks().begin(call, is_per_thread); }
CallScope::~CallScope() { hooks().end(); }

PerThreadScope::PerThreadScope() { is_per_thread = true; }
PerThreadScope::~PerThreadScope() { is_per_thread = false; }

}  // namespace gpuemu::libcudart
