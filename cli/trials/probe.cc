#include "cli/trials/probe.h"

#include <algorithm>
#include <cstring>

#include <fmt/core.h>
#include <re2/re2.h>

#include "common/base/clock.h"
#include "common/numeric/element.h"
#include "common/tensor/fill_elements.h"
#include "runtime/backends/backends.h"

namespace gpuemu::cli {
namespace {

// A kernel that takes longer at sizes of a few dozen is not suitable for trials.
constexpr uint64_t kTimeoutMs = 2000;
constexpr uint64_t kMemoryBytes = uint64_t{1} << 30;
constexpr uint64_t kElementsMax = uint64_t{1} << 24;

constexpr size_t kImagesMax = 256;

// Distance of the numbers in a tensor, so that no mean of them equals a number of another tensor.
// float16 can represent it.
constexpr double kApart = 1.0 / 512;

/// Returns ordinary numbers that differ between tensors, so that a copy or a mean changes its
/// target.
double value_of(const ProbeTensor& tensor, uint64_t at, size_t number, uint32_t salt) {
  if (is_float(tensor.dtype)) {
    return 0.5 + 0.125 * static_cast<double>((at * 7 + number * 3 + salt * 5) % 23) +
           kApart * static_cast<double>(number % 32);
  }
  if (tensor.dtype == DType::Bool) return static_cast<double>(salt % 2);
  if (tensor.spread > 0) return static_cast<double>(static_cast<int64_t>(at) % tensor.spread);
  if (tensor.is_varied) return static_cast<double>((at * 3 + salt * 2) % 5);
  return static_cast<double>(tensor.index);
}

/// Frees the allocations added to it.
class Allocations {
 public:
  explicit Allocations(Device& device) : device_(device) {}
  ~Allocations() { free_all(); }
  void free_all() {
    for (const uint64_t address : addresses_) static_cast<void>(device_.free(address).ok());
    addresses_.clear();
  }
  Allocations(const Allocations&) = delete;
  Allocations& operator=(const Allocations&) = delete;
  void add(uint64_t address) { addresses_.push_back(address); }
  uint64_t operator[](size_t index) const { return addresses_[index]; }

 private:
  Device& device_;
  std::vector<uint64_t> addresses_;
};

/// Adds the processor time of its scope. The thread runs the launches of its devices itself.
class Spent {
 public:
  explicit Spent(std::chrono::nanoseconds& sum) : sum_(sum), begin_(thread_processor_time()) {}
  ~Spent() { sum_ += thread_processor_time() - begin_; }
  Spent(const Spent&) = delete;
  Spent& operator=(const Spent&) = delete;

 private:
  std::chrono::nanoseconds& sum_;
  std::chrono::nanoseconds begin_;
};

/// Marks the elements of kBytes bytes each that differ.
template <size_t kBytes>
std::vector<bool> changes_of(const std::byte* before, const std::byte* after, size_t count) {
  std::vector<bool> out(count);
  for (size_t at = 0; at < count; ++at) {
    if (std::memcmp(before + at * kBytes, after + at * kBytes, kBytes) != 0) out[at] = true;
  }
  return out;
}

std::vector<bool> changes(const std::vector<std::byte>& before, const std::vector<std::byte>& after,
                          size_t element) {
  if (before == after) return {};
  const size_t count = before.size() / element;
  switch (element) {
    case 1:
      return changes_of<1>(before.data(), after.data(), count);
    case 2:
      return changes_of<2>(before.data(), after.data(), count);
    case 4:
      return changes_of<4>(before.data(), after.data(), count);
    default:
      return changes_of<8>(before.data(), after.data(), count);
  }
}

/// Returns the message as a sentence about the kernel. Addresses differ in every run.
std::string sentence_of(std::string message) {
  static const RE2 kVerb("^(reads|writes|updates|copies) ");
  static const RE2 kInstruction(R"((, [^ ,]+:\d+): [a-z@][^;]*$)");
  static const RE2 kNowhere(" at 0x[0-9a-f]+, which belongs to no tensor");
  RE2::Replace(&message, kVerb, R"(it \1 )");
  RE2::Replace(&message, kNowhere, " far from every tensor");
  // Its line is enough to find the instruction.
  RE2::Replace(&message, kInstruction, R"(\1)");
  return message;
}

void add_finding(const DeviceFinding& finding, const ProbeCall& call, ProbeSeen& seen) {
  if (is_note(finding)) return;
  bool of_tensor = false;
  if (finding.kind == DeviceFindingKind::Uninitialized) {
    for (size_t i = 0; i < call.tensors.size(); ++i) {
      const ProbeTensor& tensor = call.tensors[i];
      // An undefined value may have gone through shared memory, which the finding then names.
      const bool meant = finding.tensor == tensor.name || tensor.known < tensor.elements;
      if (meant) of_tensor = seen.unknown[i] = true;
    }
  }
  if (of_tensor || !seen.problem.empty()) return;
  const auto tensor = std::ranges::find(call.tensors, finding.tensor, &ProbeTensor::name);
  const bool is_beyond = finding.kind == DeviceFindingKind::OutOfBounds &&
                         tensor != call.tensors.end() && tensor->room == tensor->elements;
  seen.problem = is_beyond ? fmt::format("it goes past the {} elements that '{}' has in a trial",
                                         tensor->elements, tensor->name)
                           : sentence_of(finding.message);
}

}  // namespace

Result<Probe> Probe::open(const std::string& ptx) {
  DeviceRequest request;
  request.backend = "emulator";
  request.threads = 1;
  request.memory_limit_bytes = kMemoryBytes;
  std::unique_ptr<Device> device = GPUEMU_TRY(open_device(request));
  const ModuleId module = GPUEMU_TRY(device->load_module(ptx, "kernel"));
  return Probe(std::move(device), module);
}

const std::vector<std::byte>& Probe::image_of(const ProbeTensor& tensor, size_t number,
                                              uint32_t salt) {
  ProbeTensor key = tensor;
  key.known = key.room = 0;
  std::vector<std::byte>& image = images_[{key, number, salt}];
  if (!image.empty()) return image;
  const size_t bytes = byte_size(tensor.dtype);
  image.resize(tensor.elements * bytes);
  fill_elements(tensor.fill, image);
  if (!tensor.fill.empty()) return image;
  for (uint64_t at = 0; at < tensor.elements; ++at) {
    write_from_double(tensor.dtype, value_of(tensor, at, number, salt), image.data() + at * bytes);
  }
  return image;
}

Status Probe::set_symbol(const ProbeSymbol& symbol, size_t number, uint32_t salt) {
  const ModuleVariable known = GPUEMU_TRY(device_->variable(module_, symbol.variable));
  const ProbeTensor values{symbol.variable, symbol.dtype, symbol.elements, symbol.elements,
                           symbol.elements};
  const std::vector<std::byte>& image = image_of(values, number, salt);
  if (known.bytes != image.size()) {
    return error(ErrorCode::InvalidArgument, "the variable {} has {} bytes, expected {}",
                 symbol.variable, known.bytes, image.size());
  }
  return device_->upload(known.address, image);
}

Result<ProbeSeen> Probe::run(const ProbeCall& call) {
  if (is_out_of_time()) {
    return error(ErrorCode::Timeout, "its launches took more than {} s", kProbeTimeMax.count());
  }
  const Spent spent(spent_);
  if (images_.size() > kImagesMax) images_.clear();
  Allocations memory(*device_);
  std::vector<const std::vector<std::byte>*> images;
  Allocations padding(*device_);
  for (const ProbeTensor& tensor : call.tensors) {
    if (tensor.elements > kElementsMax) {
      return error(ErrorCode::InvalidArgument, "'{}' would have {} elements", tensor.name,
                   tensor.elements);
    }
    const std::vector<std::byte>& image = image_of(tensor, images.size(), call.salt);
    images.push_back(&image);
    const uint64_t bytes = std::min(tensor.room, tensor.elements) * byte_size(tensor.dtype);
    memory.add(GPUEMU_TRY(device_->allocate(bytes, tensor.name)));
    // The memory after it belongs to no other tensor.
    if (bytes < image.size()) {
      padding.add(GPUEMU_TRY(device_->allocate(image.size() - bytes, "padding")));
    }
    const uint64_t address = memory[images.size() - 1];
    if (bytes == 0) continue;
    GPUEMU_TRY(device_->upload(address, std::span(image).first(bytes)));
    const uint64_t kept = tensor.known * byte_size(tensor.dtype);
    if (kept < bytes) GPUEMU_TRY(device_->forget(address + kept, bytes - kept));
  }
  padding.free_all();
  for (size_t i = 0; i < call.symbols.size(); ++i) {
    GPUEMU_TRY(set_symbol(call.symbols[i], call.tensors.size() + i, call.salt));
  }
  LaunchConfig config;
  static_cast<LaunchShape&>(config) = call.shape;
  config.entry = call.entry;
  config.timeout_ms = kTimeoutMs;
  config.sanitize = {DeviceCheck::Memory, DeviceCheck::Init};
  for (const ProbeArg& arg : call.args) {
    config.args.push_back(arg.bytes);
    if (arg.tensor < 0) continue;
    const uint64_t address = memory[static_cast<size_t>(arg.tensor)];
    config.args.back().resize(sizeof(address));
    std::memcpy(config.args.back().data(), &address, sizeof(address));
  }
  const LaunchReport report = GPUEMU_TRY(device_->launch(module_, config));
  ProbeSeen seen{.thread_instructions = report.thread_instructions};
  seen.unknown.resize(call.tensors.size());
  seen.changed.resize(call.tensors.size());
  for (const DeviceFinding& finding : report.findings) add_finding(finding, call, seen);
  for (size_t i = 0; i < call.tensors.size(); ++i) {
    const ProbeTensor& tensor = call.tensors[i];
    if (!call.wants_changes || images[i]->empty() || tensor.room < tensor.elements) continue;
    std::vector<std::byte> after(images[i]->size());
    GPUEMU_TRY(device_->download(after, memory[i]));
    seen.changed[i] = changes(*images[i], after, byte_size(tensor.dtype));
  }
  return seen;
}

}  // namespace gpuemu::cli
