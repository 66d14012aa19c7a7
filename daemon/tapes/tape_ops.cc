#include "daemon/tapes/tape_ops.h"

#include "common/tensor/tensor.h"
#include "daemon/tapes/tape_attributes.h"
#include "kernels/op.h"
#include "ops/dispatch/check_case.h"
#include "ops/dispatch/libraries.h"
#include "runtime/tape/tape.h"

namespace gpuemu {
namespace {

/// Tensors that are only looked at lie so far from each other.
constexpr uint64_t kPretendedDistance = uint64_t{1} << 44;

/// The tensors of an entry as a call sees them, at addresses that nobody looks at.
struct PretendedTensors {
  std::vector<Shape> shapes;
  std::vector<Strides> strides;
  std::vector<DeviceTensor> views;

  void add(const Shape& shape, DType dtype) {
    shapes.push_back(shape);
    strides.push_back(row_major_strides(shape));
    views.push_back({(views.size() + 1) * kPretendedDistance, dtype, {}, {}});
  }
  void finish() {
    for (size_t i = 0; i < views.size(); ++i) {
      views[i].shape = shapes[i];
      views[i].strides = strides[i];
    }
  }
};

/// Why no kernel of the op computes the case; "" when one does.
std::string refusal_of_all(const OpCase& c, const TypeBinding& types) {
  std::string reasons;
  for (const KernelVariant* variant : variants_here(c.op)) {
    const std::string reason = refusal(c, *variant, types);
    if (reason.empty()) return "";
    reasons += fmt::format("{}{}: {}", reasons.empty() ? "" : "; ", variant->name, reason);
  }
  return "no kernel computes this: " + reasons;
}

}  // namespace

TapeOps::TapeOps(DeviceProperties device)
    : device_(std::move(device)), registry_(OpRegistry::with_builtins()) {}

Status TapeOps::check(const tape::Entry& entry, std::span<const tape::Known* const> inputs) const {
  if (entry.is_tape_leaf()) return check_leaf(entry);
  const auto found = registry_.find(entry.op);
  if (!found) {
    return error(ErrorCode::InvalidArgument,
                 "gpuemu has no op '{}'; `gpuemu kernels` lists the ops, and a tape "
                 "also has randn, ones, tensor, fetch and drop",
                 entry.op);
  }
  const OpKind& op = **found;
  std::vector<Shape> shapes;
  for (const tape::Known* input : inputs) shapes.push_back(input->shape);
  const TapeForm form = GPUEMU_TRY(tape_form(entry, op, shapes));
  PretendedTensors tensors;
  bool is_huge = false;
  for (size_t i = 0; i < inputs.size(); ++i) {
    is_huge = is_huge || inputs[i]->bytes >= kPretendedDistance;
    tensors.add(form.inputs[i], inputs[i]->dtype);
  }
  for (const TapeForm::Output& output : form.outputs) {
    is_huge = is_huge || tensor_bytes(output.shape, output.dtype) >= kPretendedDistance;
    tensors.add(output.shape, output.dtype);
  }
  tensors.finish();
  if (is_huge) {
    return error(ErrorCode::InvalidArgument, "a tensor has 2^44 bytes or more; no device holds it");
  }
  const PackedAttributes attributes = GPUEMU_TRY(pack_attributes(op.schema, form.attrs));
  const std::span views(tensors.views);
  const OpCase c{op, views.first(inputs.size()), views.subspan(inputs.size()),
                 Attributes(op.schema, attributes.bytes), device_};
  const TypeBinding types = GPUEMU_TRY(check_case(c));
  const std::string refused = refusal_of_all(c, types);
  return refused.empty() ? ok_status() : Status(error(ErrorCode::InvalidArgument, "{}", refused));
}

}  // namespace gpuemu
