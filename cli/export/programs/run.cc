// Runs the kernel of this folder on a GPU through the CUDA driver and compares its outputs with
// what is expected. Needs libcuda.so.1 at run time and nothing at build time:
//   g++ -std=c++17 -O1 run.cc -o run -ldl && ./run
// Exit code: 0 every output is right, 1 not, 2 a file is damaged, 3 there is no GPU to run on.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <limits>
#include <sstream>
#include <string>
#include <vector>

#include <dlfcn.h>

enum class NanPolicy { Match, Class, Any };
struct Tensor {
  const char *name, *role, *dtype;
  std::vector<long long> shape, strides;  // In elements of device memory.
  size_t storage;                         // Elements that the strides reach over.
  size_t first;                           // Index of element 0.
  size_t base;                            // Bytes from an aligned address.
  double edge;                            // From here on infinity counts as the value.
  NanPolicy nan_policy;
  const char *input, *expected, *bounds;  // Files; "" where there is none.
};
struct Arg {
  int tensor;  // -1: the bytes.
  std::vector<unsigned char> bytes;
  unsigned long long offset_bytes;  // Added to the tensor's address.
};
struct Launch {
  const char* entry;
  unsigned grid[3], block[3], cluster[3];
  unsigned shared;
  std::vector<Arg> args;
};
struct Case {
  const char *op, *seed, *finding;
  std::vector<Tensor> tensors;
  std::vector<Launch> launches;
};

#include "case.h"

using Bytes = std::vector<unsigned char>;

constexpr size_t kGuard = 256;  // Bytes around every tensor that no kernel may change.

[[noreturn]] static void stop(int code, const std::string& text) {
  std::fprintf(stderr, "%s\n", text.c_str());
  std::exit(code);
}

// --- Files ---------------------------------------------------------------------------------------

static std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) stop(2, "cannot read " + path + "; run this program in its own folder");
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

// The elements of an .npy file, and its type as NumPy spells it ("<f8").
static Bytes read_npy(const std::string& path, std::string& type) {
  const std::string text = read_file(path);
  if (text.compare(0, 6, "\x93NUMPY") != 0 || text.size() < 10) stop(2, path + " is no .npy file");
  const size_t header =
      static_cast<unsigned char>(text[8]) + 256u * static_cast<unsigned char>(text[9]);
  const std::string head = text.substr(10, header);
  const size_t at = head.find("'descr': '");
  if (at == std::string::npos || 10 + header > text.size()) stop(2, path + " is damaged");
  type = head.substr(at + 10, head.find('\'', at + 10) - at - 10);
  return Bytes(text.begin() + static_cast<std::ptrdiff_t>(10 + header), text.end());
}

// --- Numbers -------------------------------------------------------------------------------------

static size_t width_of(const std::string& dtype) {
  const size_t bits = dtype.find_first_of("123456789");  // "float16" has 16; "bool" has none.
  return bits == std::string::npos ? 1 : std::stoul(dtype.substr(bits)) / 8;
}

template <typename T>
static T load(const unsigned char* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

static long double half(uint16_t bits) {
  const int exponent = bits >> 10 & 31, mantissa = bits & 1023;
  const long double sign = bits >> 15 ? -1 : 1;
  if (exponent == 31) {
    return mantissa ? std::numeric_limits<long double>::quiet_NaN() : sign * INFINITY;
  }
  return sign * (exponent ? std::ldexp(1024.0L + mantissa, exponent - 25)
                          : std::ldexp(static_cast<long double>(mantissa), -24));
}

// 64-bit integers and doubles alike fit a long double.
static long double number(const std::string& dtype, const unsigned char* at) {
  if (dtype == "float64" || dtype == "<f8") return load<double>(at);
  if (dtype == "float32") return load<float>(at);
  if (dtype == "float16") return half(load<uint16_t>(at));
  if (dtype == "bfloat16") {
    const uint32_t bits = static_cast<uint32_t>(load<uint16_t>(at)) << 16;
    return load<float>(reinterpret_cast<const unsigned char*>(&bits));
  }
  if (dtype == "int64" || dtype == "<i8") return static_cast<long double>(load<int64_t>(at));
  if (dtype == "uint64" || dtype == "<u8") return static_cast<long double>(load<uint64_t>(at));
  if (dtype == "int32" || dtype == "<i4") return load<int32_t>(at);
  if (dtype == "uint32" || dtype == "<u4") return load<uint32_t>(at);
  if (dtype == "int16" || dtype == "<i2") return load<int16_t>(at);
  if (dtype == "uint16" || dtype == "<u2") return load<uint16_t>(at);
  if (dtype == "int8" || dtype == "|i1") return load<int8_t>(at);
  return load<uint8_t>(at);
}

static size_t width_of_npy(const std::string& type) {
  return static_cast<size_t>(std::atoi(type.c_str() + 2));
}

// --- Memory images -------------------------------------------------------------------------------

static size_t count_of(const Tensor& tensor) {
  size_t count = 1;
  for (const long long size : tensor.shape) count *= static_cast<size_t>(size);
  return count;
}

// Where element `index` (row-major) lies in the storage.
static size_t place_of(const Tensor& tensor, size_t index) {
  size_t place = tensor.first;
  for (size_t axis = tensor.shape.size(); axis-- > 0;) {
    const auto size = static_cast<size_t>(tensor.shape[axis]);
    place += index % size * static_cast<size_t>(tensor.strides[axis]);
    index /= size;
  }
  return place;
}

// Guards, poison and the input's elements, as the device gets them.
static Bytes image_of(const Tensor& tensor, int run) {
  const size_t width = width_of(tensor.dtype);
  const size_t front = kGuard + tensor.base;
  Bytes image(front + tensor.storage * width + kGuard, run == 0 ? 0xc3 : 0x3c);
  std::memset(image.data() + front, run == 0 ? 0xff : 0x55, tensor.storage * width);
  if (*tensor.input == 0) return image;
  std::string type;
  const Bytes packed = read_npy(tensor.input, type);
  if (packed.size() != count_of(tensor) * width) {
    stop(2, std::string(tensor.input) + " has another size than case.h says");
  }
  for (size_t i = 0; i < count_of(tensor); ++i) {
    std::memcpy(&image[front + place_of(tensor, i) * width], &packed[i * width], width);
  }
  return image;
}

// --- The CUDA driver -----------------------------------------------------------------------------

struct LaunchAttribute {
  int id;
  char pad[4];
  unsigned value[16];
};
struct LaunchConfig {
  unsigned grid[3], block[3], shared;
  void* stream;
  LaunchAttribute* attributes;
  unsigned attribute_count;
};

class Driver {
 public:
  Driver() {
    library_ = dlopen("libcuda.so.1", RTLD_NOW);
    if (library_ == nullptr) {
      stop(3, std::string("no GPU here: ") + dlerror() +
                  "\nrun.py runs the same case on gpuemu's emulator");
    }
    int device = 0, count = 0;
    const int begun = call<int(unsigned)>("cuInit")(0);
    if (begun != 0) stop(3, "no GPU here: cuInit says " + name(begun));
    check(call<int(int*)>("cuDeviceGetCount")(&count), "cuDeviceGetCount");
    if (count == 0) stop(3, "no GPU here: the driver knows no device");
    check(call<int(int*, int)>("cuDeviceGet")(&device, 0), "cuDeviceGet");
    check(call<int(void**, int)>("cuDevicePrimaryCtxRetain")(&context_, device),
          "cuDevicePrimaryCtxRetain");
    check(call<int(void*)>("cuCtxSetCurrent")(context_), "cuCtxSetCurrent");
    load_module();
  }

  uint64_t allocate(const Bytes& image) {
    uint64_t address = 0;
    check(call<int(uint64_t*, size_t)>("cuMemAlloc_v2")(&address, image.size()), "cuMemAlloc");
    check(call<int(uint64_t, const void*, size_t)>("cuMemcpyHtoD_v2")(address, image.data(),
                                                                      image.size()),
          "cuMemcpyHtoD");
    return address;
  }
  Bytes download(uint64_t address, size_t bytes) {
    Bytes image(bytes);
    check(call<int(void*, uint64_t, size_t)>("cuMemcpyDtoH_v2")(image.data(), address, bytes),
          "cuMemcpyDtoH");
    return image;
  }
  void free(uint64_t address) { check(call<int(uint64_t)>("cuMemFree_v2")(address), "cuMemFree"); }

  void launch(const Launch& launch, const std::vector<uint64_t>& addresses) {
    void* function = nullptr;
    check(call<int(void**, void*, const char*)>("cuModuleGetFunction")(&function, module_,
                                                                       launch.entry),
          launch.entry);
    constexpr int kDynamicSharedBytes = 8;
    if (launch.shared > 48u << 10) {
      check(call<int(void*, int, int)>("cuFuncSetAttribute")(function, kDynamicSharedBytes,
                                                             static_cast<int>(launch.shared)),
            "cuFuncSetAttribute");
    }
    std::vector<Bytes> values;
    for (const Arg& arg : launch.args) {
      values.push_back(arg.bytes);
      if (arg.tensor < 0) continue;
      const uint64_t address = addresses[static_cast<size_t>(arg.tensor)] + arg.offset_bytes;
      const auto* from = reinterpret_cast<const unsigned char*>(&address);
      values.back().assign(from, from + sizeof address);
    }
    std::vector<void*> params;
    for (Bytes& value : values) params.push_back(value.data());
    LaunchAttribute cluster{4, {}, {launch.cluster[0], launch.cluster[1], launch.cluster[2]}};
    LaunchConfig config{};
    std::memcpy(config.grid, launch.grid, sizeof config.grid);
    std::memcpy(config.block, launch.block, sizeof config.block);
    config.shared = launch.shared;
    config.attributes = &cluster;
    config.attribute_count = launch.cluster[0] > 0 ? 1 : 0;
    const int started =
        config.attribute_count > 0
            ? call<int(const LaunchConfig*, void*, void**, void**)>("cuLaunchKernelEx")(
                  &config, function, params.data(), nullptr)
            : call<int(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                       void*, void**, void**)>("cuLaunchKernel")(
                  function, launch.grid[0], launch.grid[1], launch.grid[2], launch.block[0],
                  launch.block[1], launch.block[2], launch.shared, nullptr, params.data(), nullptr);
    check(started, "the launch");
    check(call<int()>("cuCtxSynchronize")(), "the kernel");
  }

 private:
  template <typename Signature>
  Signature* call(const char* symbol) {
    auto* found = reinterpret_cast<Signature*>(dlsym(library_, symbol));
    if (found == nullptr) stop(3, std::string("the driver is too old: it has no ") + symbol);
    return found;
  }
  std::string name(int code) {
    const char* text = nullptr;
    call<int(int, const char**)>("cuGetErrorName")(code, &text);
    return text != nullptr ? text : "error " + std::to_string(code);
  }
  void check(int code, const std::string& what) {
    if (code == 0) return;
    std::printf("FAIL: %s: %s\n", what.c_str(), name(code).c_str());
    std::exit(1);
  }
  void load_module() {
    const std::string ptx = read_file("kernel.ptx");
    std::vector<char> log(16384);
    int options[] = {5, 6};  // CU_JIT_ERROR_LOG_BUFFER and its size.
    void* values[] = {log.data(), reinterpret_cast<void*>(log.size())};
    const int loaded = call<int(void**, const void*, unsigned, int*, void**)>("cuModuleLoadDataEx")(
        &module_, ptx.c_str(), 2, options, values);
    if (loaded != 0) std::printf("%s\n", log.data());
    check(loaded, "loading kernel.ptx");
  }

  void* library_ = nullptr;
  void* context_ = nullptr;
  void* module_ = nullptr;
};

// --- Judging -------------------------------------------------------------------------------------

static bool is_right(long double output, long double reference, long double bound,
                     const Tensor& tensor) {
  const NanPolicy policy = tensor.nan_policy;
  const double edge = tensor.edge;
  if (std::isfinite(output) && std::isfinite(reference)) {
    return std::fabs(output - reference) <= bound;
  }
  if (std::isfinite(output)) return policy == NanPolicy::Any;
  const bool lenient = policy != NanPolicy::Match && !std::isfinite(reference);
  if (std::isnan(output)) return std::isnan(reference) || lenient;
  if (output == reference || lenient) return true;
  const bool at_edge = std::isfinite(reference) && edge > 0 && std::fabs(reference) >= edge;
  return at_edge && std::signbit(output) == std::signbit(reference);
}

static std::string index_text(const Tensor& tensor, size_t index) {
  std::string text = "]";
  for (size_t axis = tensor.shape.size(); axis-- > 0;) {
    const auto size = static_cast<size_t>(tensor.shape[axis]);
    text = (axis > 0 ? ", " : "") + std::to_string(index % size) + text;
    index /= size;
  }
  return tensor.name + ("[" + text);
}

// Compares one output; true when all its elements are right.
static bool judge(const Tensor& tensor, const Bytes& image) {
  const size_t width = width_of(tensor.dtype), count = count_of(tensor);
  std::string type, bound_type;
  const Bytes expected = read_npy(tensor.expected, type);
  const Bytes bounds = read_npy(tensor.bounds, bound_type);
  if (expected.size() != count * width_of_npy(type) || bounds.size() != count * sizeof(double)) {
    stop(2, std::string(tensor.expected) + " has another size than case.h says");
  }
  size_t wrong = 0;
  for (size_t i = 0; i < count; ++i) {
    const long double output =
        number(tensor.dtype, &image[kGuard + tensor.base + place_of(tensor, i) * width]);
    const long double reference = number(type, &expected[i * width_of_npy(type)]);
    const double bound = load<double>(&bounds[i * sizeof(double)]);
    if (is_right(output, reference, bound, tensor)) continue;
    if (wrong++ > 0) continue;
    std::printf("FAIL: %s is %.9Lg, expected %.9Lg within %.3g\n", index_text(tensor, i).c_str(),
                output, reference, bound);
  }
  if (wrong > 0) {
    std::printf("      %zu of %zu elements of %s are wrong\n", wrong, count, tensor.name);
  }
  return wrong == 0;
}

// Bytes around a tensor and, of inputs, its elements too must be as they were.
static bool is_untouched(const Tensor& tensor, const Bytes& before, const Bytes& after) {
  const size_t front = kGuard + tensor.base, end = before.size() - kGuard;
  const bool input = std::string(tensor.role) == "input";
  for (size_t i = 0; i < before.size(); ++i) {
    if (before[i] == after[i] || (i >= front && i < end && !input)) continue;
    const bool inside = i >= front && i < end;
    std::printf("FAIL: the kernel wrote %s '%s', at byte %lld\n",
                inside ? "to input" : "outside of", tensor.name,
                static_cast<long long>(i) - static_cast<long long>(front));
    return false;
  }
  return true;
}

static std::vector<Bytes> execute(Driver& driver, int run, std::vector<Bytes>& before) {
  std::vector<uint64_t> allocations, addresses;
  for (const Tensor& tensor : kCase.tensors) {
    before.push_back(image_of(tensor, run));
    allocations.push_back(driver.allocate(before.back()));
    addresses.push_back(allocations.back() + kGuard + tensor.base);
  }
  for (const Launch& launch : kCase.launches) driver.launch(launch, addresses);
  std::vector<Bytes> after;
  for (size_t i = 0; i < allocations.size(); ++i) {
    after.push_back(driver.download(allocations[i], before[i].size()));
    driver.free(allocations[i]);
  }
  return after;
}

int main() {
  std::printf("op %s, seed %s; found when it was exported: %s\n", kCase.op, kCase.seed,
              kCase.finding);
  Driver driver;
  bool right = true;
  std::vector<Bytes> first, second;
  const std::vector<Bytes> after = execute(driver, 0, first), again = execute(driver, 1, second);
  for (size_t i = 0; i < kCase.tensors.size(); ++i) {
    const Tensor& tensor = kCase.tensors[i];
    right = is_untouched(tensor, first[i], after[i]) && right;
    if (*tensor.expected == 0) continue;
    const bool both = judge(tensor, after[i]);
    // Runs on differently poisoned memory: what differs was not computed from the inputs.
    right = (both && judge(tensor, again[i])) && right;
  }
  std::printf(right ? "PASS: every output is right\n" : "FAIL\n");
  return right ? 0 : 1;
}
