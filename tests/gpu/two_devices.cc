// Two devices at once through libgpuemu: memory, streams, op calls, graphs, and what one device
// says of the other's memory. On a machine with two GPUs (scripts/gpu_machine.sh), and on any
// machine as
//   GPUEMU_EMULATED_DEVICES="sm_75, sm_90" gpuemu_two_devices --backend emulator
// Exit status 0: all is right; 77: there is no second device; 1: the first thing that is wrong.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include <gpuemu/op_call.h>

namespace {

constexpr int kSkipped = 77;
constexpr int64_t kCount = 4096;
constexpr size_t kBytes = kCount * sizeof(float);

[[noreturn]] void fail(const std::string& what) {
  std::fprintf(stderr, "two_devices: %s (%s)\n", what.c_str(), gpuemu_last_error());
  std::exit(1);
}
void need(bool condition, const std::string& what) {
  if (!condition) fail(what);
}
void need(gpuemu_code code, const std::string& what) {
  if (code != GPUEMU_OK) fail(what + ": " + gpuemu_code_name(code));
}

class Device {
 public:
  Device(const char* backend, int index) : name_("device " + std::to_string(index)) {
    gpuemu_options options{};
    options.struct_bytes = sizeof options;
    options.backend = backend;
    options.device = index;
    code_ = gpuemu_context_create(&options, &context_);
    if (code_ == GPUEMU_OK) need(gpuemu_op_find(context_, "vector_add", &add_), "vector_add");
  }
  ~Device() { gpuemu_context_destroy(context_); }
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  gpuemu_context* get() const { return context_; }
  gpuemu_code code() const { return code_; }
  const std::string& name() const { return name_; }
  void tell() const {
    gpuemu_device_info info{};
    info.struct_bytes = sizeof info;
    need(gpuemu_context_device(context_, &info), name_);
    std::printf("%s: %s, %s, sm_%d, %llu MiB\n", name_.c_str(), info.backend, info.name, info.sm,
                static_cast<unsigned long long>(info.memory_bytes >> 20));
  }
  /// out = in + in
  gpuemu_code twice(void* in, void* out, gpuemu_stream stream) const {
    const gpuemu_tensor x{in, GPUEMU_FLOAT32, 1, &kCount, nullptr};
    const gpuemu_tensor y{out, GPUEMU_FLOAT32, 1, &kCount, nullptr};
    const gpuemu_tensor inputs[] = {x, x};
    gpuemu_call call{};
    call.struct_bytes = sizeof call;
    call.op = add_;
    call.inputs = inputs;
    call.outputs = &y;
    call.input_count = 2;
    call.output_count = 1;
    call.stream = stream;
    return gpuemu_op_call(context_, &call);
  }

 private:
  std::string name_;
  gpuemu_context* context_ = nullptr;
  gpuemu_code code_ = GPUEMU_OK;
  uint32_t add_ = 0;
};

/// Two vectors of a device and a stream to use them in.
class Pair {
 public:
  explicit Pair(const Device& device) : device_(device) {
    need(gpuemu_stream_create(device.get(), 0, 1, &stream_), device.name() + ": stream");
    for (void*& one : memory_) {
      need(gpuemu_memory_allocate(device.get(), kBytes, &one), device.name() + ": memory");
    }
  }
  ~Pair() {
    for (void* one : memory_) need(gpuemu_memory_free(device_.get(), one), "free");
    need(gpuemu_stream_destroy(device_.get(), stream_), "stream");
  }
  Pair(const Pair&) = delete;
  Pair& operator=(const Pair&) = delete;

  gpuemu_stream stream() const { return stream_; }
  void* in() const { return memory_[0]; }
  void put(float value) const {
    const std::vector<float> values(kCount, value);
    need(gpuemu_memory_upload(device_.get(), memory_[0], values.data(), kBytes, stream_), "upload");
    need(gpuemu_stream_synchronize(device_.get(), stream_), device_.name() + ": upload");
  }
  gpuemu_code twice() const { return device_.twice(memory_[0], memory_[1], stream_); }
  void expect(float value, const char* what) const {
    std::vector<float> values(kCount);
    need(gpuemu_memory_download(device_.get(), values.data(), memory_[1], kBytes, stream_), what);
    need(gpuemu_stream_synchronize(device_.get(), stream_), device_.name() + ": " + what);
    for (const float one : values) need(one == value, device_.name() + ": wrong result of " + what);
  }

 private:
  const Device& device_;
  gpuemu_stream stream_ = 0;
  void* memory_[2] = {};
};

/// One thread for each device, several of each.
void work_together(const Device& first, const Device& second, int rounds) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&device = i % 2 == 0 ? first : second, rounds, i] {
      const Pair pair(device);
      for (int round = 0; round < rounds; ++round) {
        const auto value = static_cast<float>(i * rounds + round);
        pair.put(value);
        need(pair.twice(), device.name() + ": call");
        pair.expect(2 * value, "a call beside the other device");
        void* piece = nullptr;
        const size_t bytes = static_cast<size_t>(1 + round * 977) % 100'000 + 1;
        need(gpuemu_memory_allocate_async(device.get(), bytes, pair.stream(), &piece), "memory");
        need(gpuemu_memory_fill(device.get(), piece, 1, bytes, pair.stream()), "fill");
        need(gpuemu_memory_free_async(device.get(), piece, pair.stream()), "free");
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

/// One thread goes from one device to the other with every call.
void alternate(const Device& first, const Device& second, int rounds) {
  const Pair one(first), other(second);
  for (int round = 0; round < rounds; ++round) {
    const auto value = static_cast<float>(round);
    one.put(value);
    other.put(-value);
    need(one.twice(), first.name() + ": alternating");
    need(other.twice(), second.name() + ": alternating");
    other.expect(-2 * value, "alternating calls");
    one.expect(2 * value, "alternating calls");
  }
}

/// Both devices replay a graph of theirs at once; contents are read at each launch.
void replay(const Device& first, const Device& second, int replays) {
  std::vector<std::thread> threads;
  for (const Device* device : {&first, &second}) {
    threads.emplace_back([device, replays] {
      const Pair pair(*device);
      gpuemu_graph graph = 0;
      pair.put(1);
      need(pair.twice(), "before the capture");
      need(gpuemu_stream_synchronize(device->get(), pair.stream()), "before the capture");
      need(gpuemu_capture_begin(device->get(), pair.stream()), "capture");
      need(pair.twice(), "capture");
      need(gpuemu_capture_end(device->get(), pair.stream(), &graph), "capture");
      for (int i = 0; i < replays; ++i) {
        need(gpuemu_graph_launch(device->get(), graph, pair.stream()), "replay");
      }
      pair.put(7);
      need(gpuemu_graph_launch(device->get(), graph, pair.stream()), "replay");
      pair.expect(14, "the last replay");
      need(gpuemu_graph_destroy(device->get(), graph), "graph");
    });
  }
  for (std::thread& thread : threads) thread.join();
}

void refuse_foreign_memory(const Device& first, const Device& second) {
  const Pair mine(second), foreign(first);
  const char* what = "memory of the other device";
  need(second.twice(foreign.in(), mine.in(), mine.stream()) == GPUEMU_INVALID_ARGUMENT, what);
  std::printf("refused: %s\n", gpuemu_last_error());
  need(gpuemu_memory_copy(second.get(), mine.in(), foreign.in(), kBytes, mine.stream()) ==
           GPUEMU_INVALID_ARGUMENT,
       what);
  std::printf("refused: %s\n", gpuemu_last_error());
  need(gpuemu_memory_free(second.get(), foreign.in()) == GPUEMU_INVALID_ARGUMENT, what);
  std::printf("refused: %s\n", gpuemu_last_error());
  mine.put(2);
  need(mine.twice(), "after the refusals");
  mine.expect(4, "after the refusals");
}

void fill_one(const Device& first, const Device& second) {
  void* none = nullptr;
  const gpuemu_code code = gpuemu_memory_allocate(first.get(), size_t{1} << 50, &none);
  need(code == GPUEMU_RESOURCE_EXHAUSTED, "a pebibyte");
  std::printf("refused: %s\n", gpuemu_last_error());
  const Pair other(second);
  other.put(1);
}

}  // namespace

int main(int argc, char** argv) {
  const char* backend = "cuda";
  if (argc == 3 && std::strcmp(argv[1], "--backend") == 0) {
    backend = argv[2];
  } else if (argc != 1) {
    std::fprintf(stderr, "usage: gpuemu_two_devices [--backend cuda|emulator]\n");
    return 2;
  }
  const bool is_emulated = std::strcmp(backend, "emulator") == 0;
  const int rounds = is_emulated ? 10 : 200, replays = is_emulated ? 50 : 1000;
  const Device first(backend, 0);
  need(first.code(), "device 0");
  const Device second(backend, 1);
  if (second.code() == GPUEMU_UNAVAILABLE) {
    std::printf("skipped: %s\n", gpuemu_last_error());
    return kSkipped;
  }
  need(second.code(), "device 1");
  first.tell();
  second.tell();
  work_together(first, second, rounds);
  alternate(first, second, rounds);
  replay(first, second, replays);
  refuse_foreign_memory(first, second);
  fill_one(first, second);
  std::printf("two devices: right\n");
  return 0;
}
