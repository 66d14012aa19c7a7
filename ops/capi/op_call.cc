// C interface: the call of any op. Converts C structs to an OpCall and checks them.
#include "ops/capi/op_call.h"

#include <array>
#include <cstring>
#include <memory>
#include <type_traits>

#include "ops/capi/context.h"
#include "runtime/shadow/shadow.h"

namespace gpuemu::opcall {
namespace {

static_assert(GPUEMU_FLOAT16 == static_cast<int>(DType::Float16) &&
              GPUEMU_FLOAT32 == static_cast<int>(DType::Float32) &&
              GPUEMU_INT32 == static_cast<int>(DType::Int32) &&
              GPUEMU_BOOL == static_cast<int>(DType::Bool) && GPUEMU_BOOL + 1 == kDTypeCount);

/// Most ops have a few operands, so that a call allocates no memory for them.
constexpr size_t kOperandsMax = 16;

/// The views of one operand list, with room for strides that callers left out. Only used members
/// are written: clearing all of it would take as long as the rest of a call.
class Views {
 public:
  Views() {}  // NOLINT: members are written before they are read.
  DeviceTensor& add() { return *std::construct_at(tensors() + count_++); }
  std::span<int64_t> strides_of_last() { return strides_[count_ - 1]; }
  std::span<const DeviceTensor> all() const { return {tensors(), count_}; }

 private:
  DeviceTensor* tensors() { return reinterpret_cast<DeviceTensor*>(room_.data()); }
  const DeviceTensor* tensors() const {
    return reinterpret_cast<const DeviceTensor*>(room_.data());
  }

  static_assert(std::is_trivially_destructible_v<DeviceTensor>);
  size_t count_ = 0;
  alignas(DeviceTensor) std::array<std::byte, kOperandsMax * sizeof(DeviceTensor)> room_;
  std::array<std::array<int64_t, kRankMax>, kOperandsMax> strides_;
};

Error wrong(const char* list, size_t index, const std::string& what) {
  return error(ErrorCode::InvalidArgument, "{}[{}]: {}", list, index, what);
}

Status view_of(const char* list, size_t index, const gpuemu_tensor& from, Views& views) {
  if (from.dtype < 0 || from.dtype >= static_cast<int32_t>(kDTypeCount)) {
    return wrong(list, index,
                 fmt::format("dtype {}, expected 0 to {}", from.dtype, kDTypeCount - 1));
  }
  if (from.rank < 0 || from.rank > static_cast<int32_t>(kRankMax)) {
    return wrong(list, index, fmt::format("rank {}, expected 0 to {}", from.rank, kRankMax));
  }
  if (from.rank > 0 && from.shape == nullptr) return wrong(list, index, "shape is NULL");
  const auto rank = static_cast<size_t>(from.rank);
  DeviceTensor& view = views.add();
  view.address = reinterpret_cast<uint64_t>(from.data);
  view.dtype = static_cast<DType>(from.dtype);
  view.shape = {from.shape, rank};
  if (from.strides != nullptr) {
    view.strides = {from.strides, rank};
    return ok_status();
  }
  const std::span<int64_t> strides = views.strides_of_last();
  int64_t stride = 1;
  for (size_t axis = rank; axis-- > 0;) {
    strides[axis] = stride;
    // A product that overflows is refused together with the shape, by check_case.
    if (__builtin_mul_overflow(stride, from.shape[axis], &stride)) stride = 0;
  }
  view.strides = strides.first(rank);
  return ok_status();
}

Result<std::span<const DeviceTensor>> views_of(const char* list, const gpuemu_tensor* tensors,
                                               uint32_t count, Views& views) {
  if (count > kOperandsMax) {
    return error(ErrorCode::InvalidArgument, "{} {}, expected at most {}", count, list,
                 kOperandsMax);
  }
  if (count > 0 && tensors == nullptr) {
    return error(ErrorCode::InvalidArgument, "{} is NULL and its count is {}", list, count);
  }
  for (uint32_t i = 0; i < count; ++i) GPUEMU_TRY(view_of(list, i, tensors[i], views));
  return views.all();
}

/// Returns the bytes that a tensor spans. If they do not fit 64 bits, check_case refuses the
/// tensor.
uint64_t extent(const DeviceTensor& tensor) {
  int64_t last = 0;
  for (size_t i = 0; i < tensor.rank(); ++i) {
    int64_t reach = 0;
    if (tensor.shape[i] <= 0 ||
        __builtin_mul_overflow(tensor.strides[i], tensor.shape[i] - 1, &reach) || reach < 0 ||
        __builtin_add_overflow(last, reach, &last)) {
      return 0;
    }
  }
  uint64_t bytes = 0;
  const bool overflows =
      __builtin_mul_overflow(static_cast<uint64_t>(last) + 1, byte_size(tensor.dtype), &bytes);
  return overflows ? 0 : bytes;
}

Status check_memory(gpuemu_context& context, const std::vector<OperandSpec>& operands,
                    std::span<const DeviceTensor> tensors) {
  for (size_t i = 0; i < tensors.size() && i < operands.size(); ++i) {
    if (tensors[i].address == 0) continue;
    GPUEMU_TRY(
        context.check_range(operands[i].name.c_str(), tensors[i].address, extent(tensors[i])));
  }
  return ok_status();
}

/// Returns only whether all is valid; the slow path finds out what is not.
bool is_in_memory(gpuemu_context& context, const OpCall& call) {
  std::array<gpuemu_context::Use, 2 * kOperandsMax> uses;
  size_t count = 0;
  for (const DeviceTensor& one : call.inputs) {
    if (one.address != 0) uses[count++] = {one.address, extent(one), false};
  }
  for (const DeviceTensor& one : call.outputs) {
    if (one.address != 0) uses[count++] = {one.address, extent(one), true};
  }
  return context.holds(std::span(uses).first(count));
}

/// The tags of a thread's calls, for one context.
struct Tags {
  const gpuemu_context* context = nullptr;
  uint64_t next = 0;  ///< 0: none.
};
Tags& tags_of_thread() {
  thread_local Tags tags;
  return tags;
}

/// The action for a converted call.
using Doing = Status (Dispatcher::*)(const OpCall& call);

/// `exact`: for Dispatcher::call_exact.
Status do_with(gpuemu_context& context, const gpuemu_call& call, Doing doing,
               std::vector<std::vector<ShadowElement>>* exact) {
  const OpKind* const kind = context.registry.numbered(call.op);
  if (kind == nullptr) {
    return error(ErrorCode::NotFound,
                 "op {}, expected 1 to {}: the number of gpuemu_op_find(), of an op that was not "
                 "removed",
                 call.op, context.registry.count());
  }
  if (call.attribute_bytes > 0 && call.attributes == nullptr) {
    return error(ErrorCode::InvalidArgument, "attributes is NULL and attribute_bytes is {}",
                 call.attribute_bytes);
  }
  const OpKind& op = *kind;
  Views in, out;
  OpCall described{.op = &op};
  described.inputs = GPUEMU_TRY(views_of("inputs", call.inputs, call.input_count, in));
  described.outputs = GPUEMU_TRY(views_of("outputs", call.outputs, call.output_count, out));
  described.schema_id = call.schema_id;
  described.attributes = {static_cast<const std::byte*>(call.attributes), call.attribute_bytes};
  described.stream = context.stream_of(call.stream);
  if (call.variant != nullptr) described.variant = call.variant;
  described.exact = exact;
  described.generation_max = context.generation_of(described.stream);
  described.operands = &context.operands;
  Tags& tags = tags_of_thread();
  const bool is_tagged = tags.next != 0 && tags.context == &context;
  if (is_tagged) described.tag = tags.next;
  GPUEMU_TRY((context.dispatcher.get()->*doing)(described));
  if (is_tagged) ++tags.next;
  return ok_status();
}

gpuemu_code take_call(gpuemu_context* context, const gpuemu_call* call, Doing doing,
                      std::vector<std::vector<ShadowElement>>* exact = nullptr) {
  if (!is_usable(context)) return refuse(context);
  if (call == nullptr) return missing("call");
  constexpr size_t kFirst = offsetof(gpuemu_call, stream) + sizeof(gpuemu_call::stream);
  const auto known = known_members(*call, kFirst, "call");
  if (!known) return answer(known.error());
  return answer(do_with(*context, *known, doing, exact));
}

/// Copies the elements of one output. Elements that no float instruction computed are unknown.
void give_exact(const std::vector<ShadowElement>& from, gpuemu_exact* to) {
  for (size_t i = 0; i < from.size(); ++i) {
    to[i] = {from[i].high, from[i].low, from[i].bound, from[i].known ? 1U : 0U, 0U};
  }
}

}  // namespace
}  // namespace gpuemu::opcall

gpuemu::Status gpuemu_context::Operands::check(const gpuemu::OpCall& call) {
  using gpuemu::opcall::extent;
  if (gpuemu::opcall::is_in_memory(context_, call)) return gpuemu::ok_status();
  const gpuemu::OpKind& op = *call.op;
  for (const auto& [declared, tensors] :
       {std::pair(&op.inputs, call.inputs), std::pair(&op.outputs, call.outputs)}) {
    const gpuemu::Status inside = gpuemu::opcall::check_memory(context_, *declared, tensors);
    if (!inside) return inside.error().with_context(op.name);
  }
  for (size_t i = 0; i < call.outputs.size() && i < op.outputs.size(); ++i) {
    const gpuemu::DeviceTensor& written = call.outputs[i];
    const gpuemu::Status writable =
        context_.check_writable(op.outputs[i].name.c_str(), written.address, extent(written));
    if (!writable) return writable.error().with_context(op.name);
  }
  return gpuemu::ok_status();
}

using gpuemu::opcall::answer;
using gpuemu::opcall::is_usable;
using gpuemu::opcall::missing;
using gpuemu::opcall::refuse;

extern "C" {

gpuemu_code gpuemu_op_find(gpuemu_context* context, const char* name, uint32_t* op) {
  if (!is_usable(context)) return refuse(context);
  if (name == nullptr) return missing("name");
  if (op == nullptr) return missing("op");
  return answer(context->registry.number_of(name), op);
}

uint32_t gpuemu_op_count(gpuemu_context* context) {
  return !is_usable(context) ? 0 : context->registry.count();
}

const char* gpuemu_op_name(gpuemu_context* context, uint32_t op) {
  if (!is_usable(context)) return nullptr;
  const gpuemu::OpKind* const found = context->registry.numbered(op);
  return found == nullptr ? nullptr : found->name.c_str();
}

gpuemu_code gpuemu_op_call(gpuemu_context* context, const gpuemu_call* call) {
  return gpuemu::opcall::take_call(context, call, &gpuemu::Dispatcher::call);
}

gpuemu_code gpuemu_op_tag(gpuemu_context* context, uint64_t first) {
  if (!is_usable(context)) return refuse(context);
  gpuemu::opcall::tags_of_thread() = {context, first};
  return GPUEMU_OK;
}

gpuemu_code gpuemu_op_calls(gpuemu_context* context, const gpuemu_call* const* calls,
                            uint32_t count, uint32_t* done) {
  if (done != nullptr) *done = 0;
  if (!is_usable(context)) return refuse(context);
  if (calls == nullptr && count > 0) return missing("calls");
  for (uint32_t i = 0; i < count; ++i) {
    const gpuemu_code code = gpuemu_op_call(context, calls[i]);
    if (code != GPUEMU_OK) return code;
    if (done != nullptr) *done = i + 1;
  }
  return GPUEMU_OK;
}

gpuemu_code gpuemu_op_call_exact(gpuemu_context* context, const gpuemu_call* call,
                                 gpuemu_exact* const* exact) {
  if (exact == nullptr) return missing("exact");
  std::vector<std::vector<gpuemu::ShadowElement>> made;
  const gpuemu_code code =
      gpuemu::opcall::take_call(context, call, &gpuemu::Dispatcher::call_exact, &made);
  if (code != GPUEMU_OK) return code;
  for (size_t i = 0; i < made.size(); ++i) {
    if (exact[i] != nullptr) gpuemu::opcall::give_exact(made[i], exact[i]);
  }
  return GPUEMU_OK;
}

gpuemu_code gpuemu_op_prepare(gpuemu_context* context, const gpuemu_call* call) {
  return gpuemu::opcall::take_call(context, call, &gpuemu::Dispatcher::prepare);
}

}  // extern "C"
