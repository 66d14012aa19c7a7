#include "daemon/executor/execute_buffer.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "common/base/limits.h"
#include "common/base/text.h"
#include "common/tensor/fill_elements.h"

namespace gpuemu {
namespace {

constexpr std::byte kNanPoison[2] = {std::byte{0xfa}, std::byte{0xff}};
constexpr std::byte kFinitePoison{0x55};

struct Sizes {
  uint64_t front, body, total;
};

Result<Sizes> sizes_of(const PlanTensor& tensor, bool checks_bounds) {
  const Layout& layout = tensor.layout;
  const int64_t count = GPUEMU_TRY(checked_element_count(tensor.shape));
  if (layout.strides.size() != tensor.shape.size() || layout.offset_elements < 0 ||
      layout.buffer_elements < 0) {
    return error(ErrorCode::InvalidArgument, "tensor '{}': its layout does not fit its shape {}",
                 tensor.name, to_string(tensor.shape));
  }
  if (!tensor.initial.empty() && tensor.initial.size() != byte_size(tensor.dtype)) {
    return error(ErrorCode::InvalidArgument, "tensor '{}': an element of {} bytes, expected {}",
                 tensor.name, tensor.initial.size(), byte_size(tensor.dtype));
  }
  // The places of the first and the last element, bounded so that nothing overflows.
  int64_t first = layout.offset_elements;
  int64_t last = layout.offset_elements;
  for (size_t i = 0; count > 0 && i < tensor.shape.size(); ++i) {
    int64_t reach = 0;
    if (__builtin_mul_overflow(layout.strides[i], tensor.shape[i] - 1, &reach) ||
        __builtin_add_overflow(reach < 0 ? first : last, reach, reach < 0 ? &first : &last)) {
      return error(ErrorCode::InvalidArgument,
                   "tensor '{}': stride {} of dimension {} is not usable", tensor.name,
                   layout.strides[i], i);
    }
  }
  const uint64_t element = byte_size(tensor.dtype);
  const auto elements = static_cast<uint64_t>(layout.buffer_elements);
  const bool outside = count > 0 && (first < 0 || last >= layout.buffer_elements);
  if (outside || elements > kTensorBytesMax / element) {
    return error(ErrorCode::InvalidArgument,
                 "tensor '{}': element {} in a buffer of {} elements, the limit is {} bytes",
                 tensor.name, first < 0 ? first : last, layout.buffer_elements, kTensorBytesMax);
  }
  const uint64_t guard = checks_bounds ? 0 : kGuardBytes;
  const uint64_t front = guard + tensor.base_offset_bytes;
  return Sizes{front, elements * element, front + elements * element + guard};
}

bool same_bytes(std::span<const std::byte> a, std::span<const std::byte> b) {
  return a.empty() || std::memcmp(a.data(), b.data(), a.size()) == 0;
}

/// The differences between two images of the same size.
struct Differences {
  uint64_t count = 0;
  uint64_t first = 0, last = 0;
};

Differences differences(std::span<const std::byte> a, std::span<const std::byte> b) {
  Differences found;
  if (same_bytes(a, b)) return found;
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i] == b[i]) continue;
    if (found.count++ == 0) found.first = i;
    found.last = i;
  }
  return found;
}

void fill_with_poison(std::span<std::byte> to, uint32_t run) {
  const std::byte pair[2] = {poison_byte(run, 0), poison_byte(run, 1)};
  if (to.empty()) return;
  std::memcpy(to.data(), pair, std::min(to.size(), sizeof pair));
  for (size_t done = sizeof pair; done < to.size(); done *= 2) {
    std::memcpy(to.data() + done, to.data(), std::min(done, to.size() - done));
  }
}

/// Returns whether the elements fill the whole buffer in order, without a gap that a kernel could
/// write.
bool is_dense(const PlanTensor& tensor) {
  const Layout dense = contiguous_layout(tensor.shape);
  return tensor.layout.strides == dense.strides &&
         tensor.layout.offset_elements == dense.offset_elements &&
         tensor.layout.buffer_elements == dense.buffer_elements;
}

}  // namespace

std::byte poison_byte(uint32_t run, uint64_t index) {
  return run % 2 == 0 ? kNanPoison[index % 2] : kFinitePoison;
}

std::byte guard_byte(uint32_t run) { return run % 2 == 0 ? std::byte{0xc3} : std::byte{0x3c}; }

Result<uint64_t> ExecuteBuffer::bytes_for(const PlanTensor& tensor, bool checks_bounds) {
  const Sizes sizes = GPUEMU_TRY(sizes_of(tensor, checks_bounds));
  return sizes.total;
}

Result<ExecuteBuffer> ExecuteBuffer::create(RunMemory& memory, const PlanTensor& tensor) {
  const Sizes sizes = GPUEMU_TRY(sizes_of(tensor, memory.device().properties().checks_bounds));
  ExecuteBuffer buffer(memory, tensor);
  buffer.front_bytes_ = sizes.front;
  buffer.body_bytes_ = sizes.body;
  buffer.total_bytes_ = sizes.total;
  Result<uint64_t> address = memory.allocate(sizes.total, tensor.name);
  if (!address) {
    buffer.memory_ = nullptr;
    return address.error().with_context("tensor '" + tensor.name + "'");
  }
  buffer.allocation_ = *address;
  return buffer;
}

ExecuteBuffer::ExecuteBuffer(ExecuteBuffer&& other) noexcept
    : memory_(std::exchange(other.memory_, nullptr)),
      tensor_(other.tensor_),
      allocation_(other.allocation_),
      front_bytes_(other.front_bytes_),
      body_bytes_(other.body_bytes_),
      total_bytes_(other.total_bytes_),
      uploaded_(other.uploaded_),
      downloaded_(other.downloaded_) {}

ExecuteBuffer::~ExecuteBuffer() {
  // A lost device refuses; its process ends soon, and the memory with it.
  if (memory_ != nullptr) static_cast<void>(memory_->free(allocation_, total_bytes_).ok());
}

std::span<const std::byte> ExecuteBuffer::body(std::span<const std::byte> image) const {
  return image.subspan(front_bytes_, body_bytes_);
}

Result<std::span<const std::byte>> ExecuteBuffer::image(Arena& arena, uint32_t run,
                                                        bool warmup) const {
  const bool reads = is_read(*tensor_), dense = is_dense(*tensor_);
  const uint64_t bytes = packed_bytes(tensor_->dtype, tensor_->shape);
  const uint64_t offset = warmup ? tensor_->warmup_offset : tensor_->arena_offset;
  if (reads && dense && total_bytes_ == bytes && memory_->copies_now()) {
    return std::span<const std::byte>(GPUEMU_TRY(arena.range(offset, bytes)));
  }
  const std::span<std::byte> all = memory_->host(total_bytes_);
  const auto within = all.subspan(front_bytes_, body_bytes_);
  std::ranges::fill(all.first(front_bytes_), guard_byte(run));
  std::ranges::fill(all.subspan(front_bytes_ + body_bytes_), guard_byte(run));
  // Memory that a dense input overwrites needs no poison.
  if (!reads || !dense) fill_with_poison(within, run);
  if (reads) {
    const std::span<const std::byte> packed = GPUEMU_TRY(arena.range(offset, bytes));
    scatter(tensor_->dtype, tensor_->shape, tensor_->layout, packed, within);
  } else if (!tensor_->initial.empty()) {
    std::vector<std::byte> packed(bytes);
    fill_elements(tensor_->initial, packed);
    scatter(tensor_->dtype, tensor_->shape, tensor_->layout, packed, within);
  }
  return std::span<const std::byte>(all);
}

Status ExecuteBuffer::upload(Arena& arena, uint32_t run, bool warmup) {
  uploaded_ = GPUEMU_TRY(image(arena, run, warmup));
  if (total_bytes_ == 0) return ok_status();
  GPUEMU_TRY(memory_->upload(allocation_, uploaded_));
  // A kernel must not read poison.
  const bool is_known = is_read(*tensor_) || !tensor_->initial.empty();
  return is_known ? ok_status() : memory_->device().forget(address(), body_bytes_);
}

Status ExecuteBuffer::download() {
  downloaded_ = memory_->host(total_bytes_);
  return memory_->download(downloaded_, allocation_);
}

std::vector<std::byte> ExecuteBuffer::packed() const {
  std::vector<std::byte> elements(packed_bytes(tensor_->dtype, tensor_->shape));
  gather(tensor_->dtype, tensor_->shape, tensor_->layout, body(downloaded_), elements);
  return elements;
}

std::optional<HarnessFinding> ExecuteBuffer::guard_finding() const {
  const size_t end_of_body = front_bytes_ + body_bytes_;
  const auto before = uploaded_.first(front_bytes_);
  const auto behind = uploaded_.subspan(end_of_body);
  if (is_dense(*tensor_) && same_bytes(before, downloaded_.first(front_bytes_)) &&
      same_bytes(behind, downloaded_.subspan(end_of_body))) {
    return std::nullopt;
  }
  // The expected memory: as uploaded, with the current elements.
  std::vector<std::byte> expected(uploaded_.begin(), uploaded_.end());
  const auto within = std::span(expected).subspan(front_bytes_, body_bytes_);
  if (tensor_->role == PlanTensor::Role::Scratch) {
    std::ranges::copy(body(downloaded_), within.begin());
  } else {
    scatter(tensor_->dtype, tensor_->shape, tensor_->layout, packed(), within);
  }
  const Differences all = differences(expected, downloaded_);
  if (all.count == 0) return std::nullopt;
  const auto first = static_cast<int64_t>(all.first) - static_cast<int64_t>(front_bytes_);
  const auto end = static_cast<int64_t>(body_bytes_);
  HarnessFinding finding{HarnessFinding::Kind::GuardDamaged, tensor_->name, 0, all.count, ""};
  if (first < 0) {
    finding.first_index = first;
    finding.message = fmt::format("{} written around '{}', the first {} before its start",
                                  counted(all.count, "byte"), tensor_->name,
                                  counted(static_cast<uint64_t>(-first), "byte"));
  } else if (first < end) {
    finding.message = fmt::format(
        "{} written around '{}', the first at byte {} of its buffer, which no element uses",
        counted(all.count, "byte"), tensor_->name, first);
  } else {
    finding.first_index = first - end + 1;
    finding.message = fmt::format("{} written around '{}', the first {} behind its end",
                                  counted(all.count, "byte"), tensor_->name,
                                  counted(static_cast<uint64_t>(finding.first_index), "byte"));
  }
  return finding;
}

std::optional<HarnessFinding> ExecuteBuffer::input_finding() const {
  if (tensor_->role != PlanTensor::Role::Input) return std::nullopt;
  if (same_bytes(body(uploaded_), body(downloaded_))) return std::nullopt;
  std::vector<std::byte> before(packed_bytes(tensor_->dtype, tensor_->shape));
  gather(tensor_->dtype, tensor_->shape, tensor_->layout, body(uploaded_), before);
  const std::vector<std::byte> after = packed();
  const size_t element = byte_size(tensor_->dtype);
  HarnessFinding finding{HarnessFinding::Kind::InputModified, tensor_->name, 0, 0, ""};
  for (size_t i = 0; i < before.size(); i += element) {
    if (std::equal(&before[i], &before[i] + element, &after[i])) continue;
    if (finding.count++ == 0) finding.first_index = static_cast<int64_t>(i / element);
  }
  // guard_finding() reports bytes between elements.
  if (finding.count == 0) return std::nullopt;
  return finding;
}

}  // namespace gpuemu
