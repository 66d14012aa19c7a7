#include "cli/debug/case_run.h"

#include <algorithm>
#include <cstring>

#include "common/base/limits.h"

namespace gpuemu::cli {
namespace {

// This pattern is a NaN in every float format.
constexpr std::byte kPoison[2] = {std::byte{0xfa}, std::byte{0xff}};
constexpr size_t kTellingBytes = 4;

Layout layout_of(const ExportedTensor& tensor) {
  return {tensor.strides, tensor.first_element, static_cast<int64_t>(tensor.storage_elements)};
}

/// Checks that every element is inside the storage, because data from the daemon is used to address
/// memory.
Status check_layout(const ExportedTensor& tensor) {
  const int64_t count = GPUEMU_TRY(checked_element_count(tensor.shape));
  int64_t first = tensor.first_element, last = tensor.first_element;
  bool fits = tensor.strides.size() == tensor.shape.size() &&
              tensor.storage_elements <= kTensorBytesMax / byte_size(tensor.dtype) &&
              tensor.base_offset_bytes <= kTensorBytesMax;
  for (size_t axis = 0; fits && count > 0 && axis < tensor.shape.size(); ++axis) {
    int64_t reach = 0;
    int64_t& end = tensor.strides[axis] < 0 ? first : last;
    fits = !__builtin_mul_overflow(tensor.strides[axis], tensor.shape[axis] - 1, &reach) &&
           !__builtin_add_overflow(end, reach, &end);
  }
  if (fits && (count == 0 || (first >= 0 && std::cmp_less(last, tensor.storage_elements)))) {
    return ok_status();
  }
  return error(ErrorCode::Corruption,
               "tensor '{}': its layout does not fit its storage of {} elements", tensor.name,
               tensor.storage_elements);
}

Result<Dim3> sizes_of(const std::vector<uint32_t>& sizes, const char* what) {
  if (sizes.size() == 3) return Dim3{sizes[0], sizes[1], sizes[2]};
  return error(ErrorCode::Corruption, "a launch has {} numbers as its {}, not three", sizes.size(),
               what);
}

}  // namespace

bool is_unwritten(DType dtype, const std::byte* element) {
  const size_t bytes = byte_size(dtype);
  if (bytes < kTellingBytes) return false;
  for (size_t i = 0; i < bytes; ++i) {
    if (element[i] != kPoison[i % 2]) return false;
  }
  return true;
}

Result<std::unique_ptr<CaseRun>> CaseRun::open(const ExportedCaseReply& exported,
                                               const RunSettings& settings,
                                               const DeviceRequest& request) {
  std::unique_ptr<CaseRun> run(new CaseRun(exported, settings));
  DeviceRequest wanted = request;
  wanted.memory_limit_bytes = settings.memory_limit_bytes;
  wanted.contraction = contraction_from_name(settings.contraction).value_or(Contraction::Auto);
  run->device_ = GPUEMU_TRY(open_device(wanted));
  auto module = run->device_->load_module(exported.ptx, exported.kernel);
  if (!module) return module.error().with_context("kernel '" + exported.kernel + "'");
  run->module_ = *module;
  GPUEMU_TRY(run->allocate());
  GPUEMU_TRY(run->fill());
  return run;
}

CaseRun::~CaseRun() {
  // A lost device refuses this; it is destroyed with this object.
  for (const Buffer& buffer : buffers_) static_cast<void>(device_->free(buffer.allocation).ok());
}

Status CaseRun::allocate() {
  const uint64_t guard = device_->properties().checks_bounds ? 0 : kGuardBytes;
  for (const ExportedTensor& tensor : exported_.tensors) {
    GPUEMU_TRY(check_layout(tensor));
    Buffer buffer{.tensor = &tensor};
    buffer.front = guard + tensor.base_offset_bytes;
    buffer.body = tensor.storage_elements * byte_size(tensor.dtype);
    buffer.total = buffer.front + buffer.body + guard;
    auto address = device_->allocate(buffer.total, tensor.name);
    if (!address) return address.error().with_context("tensor '" + tensor.name + "'");
    buffer.allocation = *address;
    buffers_.push_back(buffer);
  }
  return ok_status();
}

Status CaseRun::fill() {
  for (const Buffer& buffer : buffers_) {
    std::vector<std::byte> image(buffer.total);
    for (size_t i = 0; i < buffer.body; ++i) image[buffer.front + i] = kPoison[i % 2];
    const ExportedTensor& tensor = *buffer.tensor;
    const auto input = exported_.inputs.find(tensor.name);
    if (input != exported_.inputs.end()) {
      if (input->second.shape != tensor.shape || input->second.dtype != tensor.dtype) {
        return error(ErrorCode::Corruption, "tensor '{}': its values are of shape {}, not {}",
                     tensor.name, to_string(input->second.shape), to_string(tensor.shape));
      }
      scatter(tensor.dtype, tensor.shape, layout_of(tensor), input->second.data,
              std::span(image).subspan(buffer.front, buffer.body));
    }
    if (buffer.total != 0) GPUEMU_TRY(device_->upload(buffer.allocation, image));
  }
  return ok_status();
}

const CaseRun::Buffer* CaseRun::find(const std::string& name) const {
  const auto found = std::ranges::find_if(
      buffers_, [&](const Buffer& buffer) { return buffer.tensor->name == name; });
  return found == buffers_.end() ? nullptr : &*found;
}

Result<LaunchReport> CaseRun::launch(size_t index, uint64_t timeout_ms) {
  const ExportedLaunch& launch = exported_.launches[index];
  LaunchConfig config;
  config.entry = launch.entry;
  config.grid = GPUEMU_TRY(sizes_of(launch.grid, "grid"));
  config.block = GPUEMU_TRY(sizes_of(launch.block, "block"));
  if (!launch.cluster.empty()) config.cluster = GPUEMU_TRY(sizes_of(launch.cluster, "cluster"));
  config.dynamic_shared_bytes = launch.shared_bytes;
  config.sanitize = settings_.sanitize;
  config.timeout_ms = timeout_ms;
  for (const ExportedArg& arg : launch.args) {
    if (arg.tensor.empty()) {
      config.args.push_back(arg.bytes);
      continue;
    }
    const Buffer* buffer = find(arg.tensor);
    if (buffer == nullptr) {
      return error(ErrorCode::Corruption, "argument '{}' names no tensor of the case", arg.text);
    }
    const uint64_t address = buffer->allocation + buffer->front + arg.offset_bytes;
    const auto* bytes = reinterpret_cast<const std::byte*>(&address);
    config.args.emplace_back(bytes, bytes + sizeof address);
  }
  return device_->launch(module_, config);
}

Result<Tensor> CaseRun::read(const ExportedTensor& tensor) const {
  return read(tensor, [this](std::span<std::byte> to, uint64_t address) {
    return device_->download(to, address);
  });
}

Result<Tensor> CaseRun::read(const ExportedTensor& tensor, const MemoryReader& reader) const {
  const Buffer* buffer = find(tensor.name);
  if (buffer == nullptr) {
    return error(ErrorCode::InvalidArgument, "tensor '{}' is not part of this run", tensor.name);
  }
  std::vector<std::byte> image(buffer->body);
  if (!image.empty()) GPUEMU_TRY(reader(image, buffer->allocation + buffer->front));
  Tensor packed = make_tensor(tensor.dtype, tensor.shape);
  gather(tensor.dtype, tensor.shape, layout_of(tensor), image, packed.data);
  return packed;
}

uint64_t CaseRun::address_of(const ExportedTensor& tensor, int64_t flat) const {
  int64_t place = tensor.first_element;
  for (size_t axis = tensor.shape.size(); axis-- > 0;) {
    place += flat % tensor.shape[axis] * tensor.strides[axis];
    flat /= tensor.shape[axis];
  }
  const Buffer* buffer = find(tensor.name);
  GPUEMU_CHECK(buffer != nullptr);
  return buffer->allocation + buffer->front +
         static_cast<uint64_t>(place) * byte_size(tensor.dtype);
}

const ExportedTensor* CaseRun::tensor_at(uint64_t address, int64_t& offset) const {
  for (const Buffer& buffer : buffers_) {
    if (address < buffer.allocation || address - buffer.allocation > buffer.total) continue;
    offset = static_cast<int64_t>(address) - static_cast<int64_t>(buffer.allocation + buffer.front);
    return buffer.tensor;
  }
  return nullptr;
}

}  // namespace gpuemu::cli
