// Tests several emulated devices through the C interface: their limits, seeds that reveal a missing
// wait, and a device that is lost after a fault.
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "ops/capi/op_call.h"

namespace {

constexpr int64_t kCount = 64;
constexpr size_t kDeviceBytes = kCount * sizeof(float);

/// A variable of the environment while this lives.
class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) { ::setenv(name, value, 1); }
  ~Variable() { ::unsetenv(name_); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
};

struct Wanted {
  int32_t device = 0, sm = 0;
  uint64_t seed = 0;
};

class Context {
 public:
  explicit Context(const Wanted& wanted = {}) {
    gpuemu_options options{};
    options.struct_bytes = sizeof options;
    options.backend = "emulator";
    options.device = wanted.device;
    options.sm = wanted.sm;
    options.threads = 1;
    options.schedule_seed = wanted.seed;
    EXPECT_EQ(gpuemu_context_create(&options, &context_), GPUEMU_OK) << gpuemu_last_error();
  }
  ~Context() { gpuemu_context_destroy(context_); }
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  gpuemu_context* get() const { return context_; }
  gpuemu_device_info info() const {
    gpuemu_device_info info{};
    info.struct_bytes = sizeof info;
    EXPECT_EQ(gpuemu_context_device(context_, &info), GPUEMU_OK) << gpuemu_last_error();
    return info;
  }
  void* memory(size_t bytes = kDeviceBytes) const {
    void* made = nullptr;
    EXPECT_EQ(gpuemu_memory_allocate(context_, bytes, &made), GPUEMU_OK) << gpuemu_last_error();
    return made;
  }
  gpuemu_stream stream() const {
    gpuemu_stream made = 0;
    EXPECT_EQ(gpuemu_stream_create(context_, 0, 1, &made), GPUEMU_OK) << gpuemu_last_error();
    return made;
  }
  /// z = x + y
  gpuemu_code add(void* x, void* y, void* z, gpuemu_stream stream) const {
    const gpuemu_tensor in[] = {tensor(x), tensor(y)}, out = tensor(z);
    gpuemu_call call{};
    call.struct_bytes = sizeof call;
    EXPECT_EQ(gpuemu_op_find(context_, "vector_add", &call.op), GPUEMU_OK);
    call.inputs = in;
    call.outputs = &out;
    call.input_count = 2;
    call.output_count = 1;
    call.stream = stream;
    return gpuemu_op_call(context_, &call);
  }
  void upload(void* to, float value, gpuemu_stream stream) const {
    const std::vector<float> values(kCount, value);
    ASSERT_EQ(gpuemu_memory_upload(context_, to, values.data(), kDeviceBytes, stream), GPUEMU_OK);
    ASSERT_EQ(gpuemu_stream_synchronize(context_, stream), GPUEMU_OK) << gpuemu_last_error();
  }
  std::vector<float> download(void* from, gpuemu_stream stream) const {
    std::vector<float> values(kCount);
    EXPECT_EQ(gpuemu_memory_download(context_, values.data(), from, kDeviceBytes, stream),
              GPUEMU_OK);
    EXPECT_EQ(gpuemu_stream_synchronize(context_, stream), GPUEMU_OK) << gpuemu_last_error();
    return values;
  }

 private:
  static gpuemu_tensor tensor(void* data) { return {data, GPUEMU_FLOAT32, 1, &kCount, nullptr}; }
  gpuemu_context* context_ = nullptr;
};

std::vector<float> all(float value) { return std::vector<float>(kCount, value); }

TEST(EmulatedContexts, OfTwoArchitecturesWorkAtOnce) {
  const Variable devices("GPUEMU_EMULATED_DEVICES", "sm_75:64, sm_90:128");
  const Context first, second({.device = 1});
  EXPECT_EQ(first.info().sm, 75);
  EXPECT_EQ(second.info().sm, 90);
  EXPECT_EQ(first.info().memory_bytes, uint64_t{64} << 20);
  EXPECT_EQ(second.info().memory_bytes, uint64_t{128} << 20);
  std::vector<std::thread> threads;
  for (const Context* one : {&first, &second, &first, &second}) {
    threads.emplace_back([one, value = static_cast<float>(threads.size())] {
      const gpuemu_stream stream = one->stream();
      void *x = one->memory(), *y = one->memory();
      one->upload(x, value, stream);
      for (int i = 0; i < 4; ++i) ASSERT_EQ(one->add(x, x, y, stream), GPUEMU_OK);
      EXPECT_EQ(one->download(y, stream), all(2 * value));
      EXPECT_EQ(gpuemu_memory_free(one->get(), x), GPUEMU_OK);
      EXPECT_EQ(gpuemu_memory_free(one->get(), y), GPUEMU_OK);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(EmulatedContexts, RefuseTheMemoryOfOneAnother) {
  const Variable devices("GPUEMU_EMULATED_DEVICES", "sm_75, sm_90");
  const Context first, second({.device = 1});
  const gpuemu_stream stream = second.stream();
  void *mine = second.memory(), *foreign = first.memory();
  EXPECT_EQ(second.add(foreign, mine, mine, stream), GPUEMU_INVALID_ARGUMENT);
  EXPECT_NE(std::string(gpuemu_last_error())
                .find("which is memory of emulator device 0; this context has emulator device 1: "
                      "copy it through the host"),
            std::string::npos)
      << gpuemu_last_error();
  EXPECT_EQ(gpuemu_memory_copy(second.get(), mine, foreign, kDeviceBytes, stream),
            GPUEMU_INVALID_ARGUMENT);
  EXPECT_NE(std::string(gpuemu_last_error()).find("from lies at"), std::string::npos)
      << gpuemu_last_error();
  EXPECT_EQ(gpuemu_memory_free(second.get(), foreign), GPUEMU_INVALID_ARGUMENT);
  EXPECT_EQ(gpuemu_memory_free(first.get(), foreign), GPUEMU_OK);
}

/// One object of each kind that belongs to one context.
struct Objects {
  explicit Objects(const Context& of) : memory(of.memory()), stream(of.stream()) {
    EXPECT_EQ(gpuemu_event_create(of.get(), &event), GPUEMU_OK);
    EXPECT_EQ(gpuemu_capture_begin(of.get(), stream), GPUEMU_OK);
    EXPECT_EQ(gpuemu_capture_end(of.get(), stream, &graph), GPUEMU_OK) << gpuemu_last_error();
  }
  void* memory;
  gpuemu_stream stream;
  gpuemu_event event = 0;
  gpuemu_graph graph = 0;
};

/// The errors for objects of another context.
void refuses(const Context& context, const Objects& foreign, const Objects& own) {
  const auto refused = [](gpuemu_code code, const char* why) {
    EXPECT_EQ(code, GPUEMU_INVALID_ARGUMENT);
    EXPECT_NE(std::string(gpuemu_last_error()).find(why), std::string::npos) << gpuemu_last_error();
  };
  gpuemu_context* const to = context.get();
  const char* const stranger = "belongs to another device or context";
  float ms = 0;
  void* none = nullptr;
  refused(gpuemu_stream_synchronize(to, foreign.stream), stranger);
  refused(gpuemu_stream_destroy(to, foreign.stream), stranger);
  refused(gpuemu_stream_set_current(to, foreign.stream), stranger);
  refused(gpuemu_capture_begin(to, foreign.stream), stranger);
  refused(gpuemu_event_record(to, foreign.event, own.stream), stranger);
  refused(gpuemu_event_record(to, own.event, foreign.stream), stranger);
  refused(gpuemu_event_wait(to, foreign.event, own.stream), stranger);
  refused(gpuemu_event_synchronize(to, foreign.event), stranger);
  refused(gpuemu_event_elapsed_ms(to, own.event, foreign.event, &ms), stranger);
  refused(gpuemu_event_destroy(to, foreign.event), stranger);
  refused(gpuemu_graph_launch(to, foreign.graph, own.stream), stranger);
  refused(gpuemu_graph_launch(to, own.graph, foreign.stream), stranger);
  refused(gpuemu_graph_destroy(to, foreign.graph), stranger);
  refused(context.add(own.memory, own.memory, own.memory, foreign.stream), stranger);
  refused(gpuemu_memory_fill(to, own.memory, 0, 4, foreign.stream), stranger);
  refused(gpuemu_memory_allocate_async(to, 64, foreign.stream, &none), stranger);
  const char* const elsewhere = "device 0 too, and other memory: copy it through the host";
  float host = 0;
  refused(gpuemu_memory_fill(to, foreign.memory, 0, 4, own.stream), elsewhere);
  refused(gpuemu_memory_copy(to, own.memory, foreign.memory, 4, own.stream), elsewhere);
  refused(gpuemu_memory_upload(to, foreign.memory, &host, 4, own.stream), elsewhere);
  refused(gpuemu_memory_download(to, &host, foreign.memory, 4, own.stream), elsewhere);
  refused(context.add(foreign.memory, own.memory, own.memory, own.stream), elsewhere);
  refused(gpuemu_memory_free(to, foreign.memory), "");
}

TEST(EmulatedContexts, RefuseTheObjectsOfOneAnother) {
  const Context first, second;
  const Objects of_first(first), of_second(second);
  refuses(first, of_second, of_first);
  refuses(second, of_first, of_second);
  // None of them has changed.
  EXPECT_EQ(gpuemu_event_record(first.get(), of_first.event, of_first.stream), GPUEMU_OK);
  EXPECT_EQ(gpuemu_graph_launch(second.get(), of_second.graph, of_second.stream), GPUEMU_OK);
  EXPECT_EQ(gpuemu_stream_synchronize(first.get(), of_first.stream), GPUEMU_OK);
  EXPECT_EQ(gpuemu_stream_synchronize(second.get(), of_second.stream), GPUEMU_OK);
}

TEST(EmulatedContexts, SayWhichDeviceIsFullAndWhoHasItsMemory) {
  const Variable devices("GPUEMU_EMULATED_DEVICES", "sm_75:64, sm_90:1");
  const Context first, second({.device = 1});
  second.memory(700'000);
  second.memory(300'000);
  void* none = nullptr;
  EXPECT_EQ(gpuemu_memory_allocate(second.get(), 100'000, &none), GPUEMU_RESOURCE_EXHAUSTED);
  EXPECT_EQ(none, nullptr);
  EXPECT_EQ(
      std::string(gpuemu_last_error())
          .find(
              "emulated device 1 (sm_90): out of memory: 'op_call memory' of 100000 bytes exceeds "
              "the emulator's memory: 1000000 of 1048576 bytes are in use by 2 allocations; the "
              "largest: 'op_call memory' 700000 at 0x"),
      0U)
      << gpuemu_last_error();
  EXPECT_NE(first.memory(1'000'000), nullptr);
}

TEST(EmulatedContexts, ShareALimitAmongThreads) {
  const Variable devices("GPUEMU_EMULATED_DEVICES", "sm_80:1");
  const Context one;
  constexpr size_t kPiece = 150'000;  // Six fit, but eight threads need two each.
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      for (int round = 0; round < 50; ++round) {
        std::vector<void*> mine;
        for (int n = 0; n < 2; ++n) {
          void* made = nullptr;
          const gpuemu_code code = gpuemu_memory_allocate(one.get(), kPiece, &made);
          if (code == GPUEMU_OK) {
            mine.push_back(made);
            continue;
          }
          ASSERT_EQ(code, GPUEMU_RESOURCE_EXHAUSTED) << gpuemu_last_error();
          // Concurrent calls of other threads must not change the message.
          ASSERT_NE(std::string(gpuemu_last_error()).find("of 1048576 bytes are in use by "),
                    std::string::npos);
        }
        for (void* piece : mine) ASSERT_EQ(gpuemu_memory_free(one.get(), piece), GPUEMU_OK);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (int n = 0; n < 6; ++n) EXPECT_NE(one.memory(kPiece), nullptr) << "nothing was lost";
}

/// y = x + x on one stream, z = y + y on another; 4x where the second waits for the first.
std::vector<float> doubled_twice(uint64_t seed, bool waits) {
  const Context one({.seed = seed});
  const gpuemu_stream a = one.stream(), b = one.stream();
  void *x = one.memory(), *y = one.memory(), *z = one.memory();
  one.upload(x, 1, a);
  one.upload(y, 0, a);
  gpuemu_event event = 0;
  EXPECT_EQ(gpuemu_event_create(one.get(), &event), GPUEMU_OK);
  EXPECT_EQ(one.add(x, x, y, a), GPUEMU_OK) << gpuemu_last_error();
  EXPECT_EQ(gpuemu_event_record(one.get(), event, a), GPUEMU_OK);
  if (waits) {
    EXPECT_EQ(gpuemu_event_wait(one.get(), event, b), GPUEMU_OK);
  }
  EXPECT_EQ(one.add(y, y, z, b), GPUEMU_OK) << gpuemu_last_error();
  std::vector<float> result = one.download(z, b);
  EXPECT_EQ(gpuemu_stream_synchronize(one.get(), a), GPUEMU_OK);
  return result;
}

TEST(ScheduleSeeds, FindAMissingWaitAndPassAProgramThatHasIt) {
  constexpr uint64_t kSeeds = 20;
  int found = 0;
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    const std::vector<float> result = doubled_twice(seed, false);
    found += result != all(4) ? 1 : 0;
    EXPECT_EQ(doubled_twice(seed, false), result) << "seed " << seed << " shows the same again";
    EXPECT_EQ(doubled_twice(seed, true), all(4)) << "seed " << seed;
  }
  // As issued it mostly works. Each seed draws which of two streams goes on: about half of them
  // find it; that fewer than four of twenty do has a chance of one in a thousand.
  EXPECT_EQ(doubled_twice(0, false), all(4));
  EXPECT_GE(found, 4);
  RecordProperty("seeds", kSeeds);
  RecordProperty("seeds_that_found_it", found);
  fmt::print("{} of {} seeds find the missing wait\n", found, kSeeds);
}

/// A graph whose memory is freed before it is launched: the mistake that a call cannot see.
gpuemu_code launch_with_freed_memory(const Context& one, gpuemu_stream stream) {
  void *x = one.memory(), *y = one.memory();
  one.upload(x, 1, stream);
  EXPECT_EQ(one.add(x, x, y, stream), GPUEMU_OK) << gpuemu_last_error();
  EXPECT_EQ(gpuemu_stream_synchronize(one.get(), stream), GPUEMU_OK) << gpuemu_last_error();
  gpuemu_graph graph = 0;
  EXPECT_EQ(gpuemu_capture_begin(one.get(), stream), GPUEMU_OK);
  EXPECT_EQ(one.add(x, x, y, stream), GPUEMU_OK) << gpuemu_last_error();
  EXPECT_EQ(gpuemu_capture_end(one.get(), stream, &graph), GPUEMU_OK);
  EXPECT_EQ(gpuemu_memory_free(one.get(), y), GPUEMU_OK);
  EXPECT_EQ(gpuemu_graph_launch(one.get(), graph, stream), GPUEMU_OK);
  return gpuemu_stream_synchronize(one.get(), stream);
}

TEST(Fault, IsToldOnceAndTheEmulatorGoesOn) {
  const Context one;
  const gpuemu_stream stream = one.stream();
  EXPECT_EQ(launch_with_freed_memory(one, stream), GPUEMU_LAUNCH);
  EXPECT_NE(std::string(gpuemu_last_error()).find("vector_add"), std::string::npos);
  EXPECT_EQ(gpuemu_stream_synchronize(one.get(), stream), GPUEMU_OK) << gpuemu_last_error();
  void *x = one.memory(), *y = one.memory();
  one.upload(x, 3, stream);
  EXPECT_EQ(one.add(x, x, y, stream), GPUEMU_OK);
  EXPECT_EQ(one.download(y, stream), all(6));
}

TEST(Fault, LosesADeviceWhoseFaultsAreSticky) {
  const Variable sticky("GPUEMU_EMULATOR_FAULTS", "sticky");
  const Variable devices("GPUEMU_EMULATED_DEVICES", "sm_80, sm_90");
  const Context lost, other({.device = 1});
  const gpuemu_stream stream = lost.stream();
  void* memory = lost.memory();
  gpuemu_event event = 0;
  ASSERT_EQ(gpuemu_event_create(lost.get(), &event), GPUEMU_OK);
  EXPECT_EQ(launch_with_freed_memory(lost, stream), GPUEMU_LAUNCH);
  std::vector<float> host(kCount);
  void* more = nullptr;
  gpuemu_stream another = 0;
  const gpuemu_code codes[] = {
      gpuemu_stream_synchronize(lost.get(), stream),
      gpuemu_memory_allocate(lost.get(), 16, &more),
      gpuemu_memory_free(lost.get(), memory),
      gpuemu_memory_upload(lost.get(), memory, host.data(), kDeviceBytes, stream),
      gpuemu_memory_download(lost.get(), host.data(), memory, kDeviceBytes, stream),
      gpuemu_memory_fill(lost.get(), memory, 0, kDeviceBytes, stream),
      gpuemu_stream_create(lost.get(), 0, 1, &another),
      lost.add(memory, memory, memory, stream),
  };
  for (const gpuemu_code code : codes) {
    EXPECT_EQ(code, GPUEMU_UNAVAILABLE) << &code - codes << ": " << gpuemu_last_error();
  }
  EXPECT_EQ(gpuemu_stream_synchronize(lost.get(), stream), GPUEMU_UNAVAILABLE);
  EXPECT_NE(std::string(gpuemu_last_error())
                .find("emulated device 0 is lost after a fault (out_of_bounds) of kernel "
                      "'vector_add"),
            std::string::npos)
      << gpuemu_last_error();
  // The other device has nothing to do with it, and who owns the lost one gets another.
  for (const Context* works : {&other}) {
    const gpuemu_stream on = works->stream();
    void* x = works->memory();
    works->upload(x, 1, on);
    EXPECT_EQ(works->download(x, on), all(1));
  }
  const Context replacement;
  EXPECT_NE(replacement.memory(), nullptr);
}

TEST(Fault, IsOfAKindThatThereIs) {
  const Variable wrong("GPUEMU_EMULATOR_FAULTS", "stick");
  gpuemu_options options{};
  options.struct_bytes = sizeof options;
  options.backend = "emulator";
  gpuemu_context* none = nullptr;
  EXPECT_EQ(gpuemu_context_create(&options, &none), GPUEMU_INVALID_ARGUMENT);
  EXPECT_STREQ(gpuemu_last_error(),
               "GPUEMU_EMULATOR_FAULTS is 'stick', expected 'continue' or 'sticky'");
}

}  // namespace
