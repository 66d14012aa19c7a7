// Softmax of a few rows from C++, on two threads, each with its stream: what the C interface gives
// is owned by unique_ptr, and codes become exceptions at one place.
//
//   c++ -std=c++17 softmax.cc $(pkg-config --cflags --libs gpuemu) -pthread -o softmax
//   softmax [BACKEND]          prints the sum of each row, which is 1
#include <cstdio>
#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <gpuemu/op_call.h>

namespace {

/// The message is the calling thread's, so it is taken at once.
void need(gpuemu_code code) {
  if (code != GPUEMU_OK) {
    throw std::runtime_error(std::string(gpuemu_code_name(code)) + ": " + gpuemu_last_error());
  }
}

struct DestroyContext {
  void operator()(gpuemu_context* context) const { gpuemu_context_destroy(context); }
};
using Context = std::unique_ptr<gpuemu_context, DestroyContext>;

Context open_context(const char* backend) {
  gpuemu_options options{};
  options.struct_bytes = sizeof options;
  options.backend = backend;
  gpuemu_context* made = nullptr;
  need(gpuemu_context_create(&options, &made));
  return Context(made);
}

/// A stream, and memory in its order.
class Stream {
 public:
  explicit Stream(gpuemu_context* context) : context_(context) {
    need(gpuemu_stream_create(context, 0, 1, &id_));
  }
  ~Stream() {
    for (void* address : memory_) gpuemu_memory_free(context_, address);
    gpuemu_stream_destroy(context_, id_);
  }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  gpuemu_stream id() const { return id_; }
  void* allocate(size_t bytes) {
    memory_.reserve(memory_.size() + 1);
    void* address = nullptr;
    need(gpuemu_memory_allocate(context_, bytes, &address));
    memory_.push_back(address);
    return address;
  }

 private:
  gpuemu_context* context_;
  gpuemu_stream id_ = 0;
  std::vector<void*> memory_;
};

std::vector<float> softmax(gpuemu_context* context, const std::vector<float>& x, int64_t rows) {
  Stream stream(context);
  const int64_t shape[] = {rows, static_cast<int64_t>(x.size()) / rows};
  const size_t bytes = x.size() * sizeof(float);
  const gpuemu_tensor in{stream.allocate(bytes), GPUEMU_FLOAT32, 2, shape, nullptr};
  const gpuemu_tensor out{stream.allocate(bytes), GPUEMU_FLOAT32, 2, shape, nullptr};
  gpuemu_call call{};
  call.struct_bytes = sizeof call;
  need(gpuemu_op_find(context, "softmax", &call.op));
  call.inputs = &in;
  call.input_count = 1;
  call.outputs = &out;
  call.output_count = 1;
  call.stream = stream.id();
  std::vector<float> y(x.size());
  need(gpuemu_memory_upload(context, in.data, x.data(), bytes, stream.id()));
  need(gpuemu_op_call(context, &call));
  need(gpuemu_memory_download(context, y.data(), out.data, bytes, stream.id()));
  need(gpuemu_stream_synchronize(context, stream.id()));
  return y;
}

constexpr int64_t kRows = 3, kColumns = 40;
constexpr size_t kThreads = 2;

/// Thrown on the thread, told by main.
void fill(gpuemu_context* context, size_t number, std::vector<float>& y,
          std::exception_ptr& failed) {
  try {
    std::vector<float> x;
    for (int64_t i = 0; i < kRows * kColumns; ++i) {
      x.push_back(static_cast<float>(i % 7) + static_cast<float>(number));
    }
    y = softmax(context, x, kRows);
  } catch (...) {
    failed = std::current_exception();
  }
}

void print_sums(size_t number, const std::vector<float>& y) {
  for (int64_t row = 0; row < kRows; ++row) {
    double sum = 0;
    for (int64_t i = 0; i < kColumns; ++i) sum += y[static_cast<size_t>(row * kColumns + i)];
    std::printf("thread %zu, row %d: %.5f\n", number, static_cast<int>(row), sum);
  }
}

void run(const char* backend) {
  const Context context = open_context(backend);
  std::vector<float> y[kThreads];
  std::exception_ptr failed[kThreads];
  std::vector<std::thread> threads;
  for (size_t i = 0; i < kThreads; ++i) {
    threads.emplace_back(fill, context.get(), i, std::ref(y[i]), std::ref(failed[i]));
  }
  for (std::thread& thread : threads) thread.join();
  for (size_t i = 0; i < kThreads; ++i) {
    if (failed[i]) std::rethrow_exception(failed[i]);
    print_sums(i, y[i]);
  }
}

}  // namespace

int main(int argc, char** argv) {
  try {
    run(argc > 1 ? argv[1] : "auto");
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "softmax: %s\n", failure.what());
    return 1;
  }
  return 0;
}
