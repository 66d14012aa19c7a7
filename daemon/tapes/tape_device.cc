#include "daemon/tapes/tape_device.h"

#include "daemon/tapes/tape_form.h"
#include "daemon/tapes/tape_ops.h"

namespace gpuemu {

DeviceBytes::~DeviceBytes() {
  // It was allocated by this device and is freed once: there is nothing to tell.
  (void)device_->device().free(address_).ok();
}

Result<std::vector<std::byte>> DeviceBytes::download() const {
  std::vector<std::byte> values(bytes_);
  GPUEMU_TRY(device_->device().download(values, address_));
  return values;
}

Result<std::shared_ptr<TapeDevice>> TapeDevice::open(const DeviceRequest& request,
                                                     const std::string& cache_folder) {
  auto device = GPUEMU_TRY(open_device(request));
  Streams* const streams = GPUEMU_TRY(device->streams());
  const std::shared_ptr<TapeDevice> made(new TapeDevice(std::move(device), *streams));
  DispatchOptions options;
  options.folder = cache_folder;
  made->dispatcher_ =
      GPUEMU_TRY(Dispatcher::create(*made->device_, made->registry_, std::move(options)));
  return made;
}

Result<DeviceCopy> TapeDevice::allocate(uint64_t bytes, const std::string& name) {
  const uint64_t address = GPUEMU_TRY(device_->allocate(bytes, name));
  return DeviceCopy(std::make_shared<DeviceBytes>(shared_from_this(), address, bytes));
}

Result<DeviceCopy> TapeDevice::upload(std::span<const std::byte> values, const std::string& name) {
  DeviceCopy memory = GPUEMU_TRY(allocate(values.size(), name));
  GPUEMU_TRY(device_->upload(memory->address(), values));
  return memory;
}

Status TapeDevice::run(const tape::Entry& entry, const std::vector<Operand>& inputs,
                       const Operand& output) {
  const OpKind* const op = GPUEMU_TRY(registry_.find(entry.op));
  std::vector<Shape> shapes;
  for (const Operand& one : inputs) shapes.push_back(one.shape);
  TapeForm form = GPUEMU_TRY(tape_form(entry, *op, shapes));
  const PackedAttributes attributes = GPUEMU_TRY(pack_attributes(op->schema, form.attrs));
  std::vector<Operand> operands = inputs;
  for (size_t i = 0; i < inputs.size(); ++i) operands[i].shape = std::move(form.inputs[i]);
  for (size_t i = 0; i < form.outputs.size(); ++i) {
    operands.push_back({form.outputs[i].shape, form.outputs[i].dtype, output.memory});
    if (i == form.output) continue;  // The others are computed and thrown away.
    const auto count = static_cast<uint64_t>(element_count(form.outputs[i].shape));
    operands.back().memory = GPUEMU_TRY(allocate(byte_size(form.outputs[i].dtype) * count, ""));
  }
  std::vector<Strides> strides;
  for (const Operand& one : operands) strides.push_back(row_major_strides(one.shape));
  std::vector<DeviceTensor> views;
  for (size_t i = 0; i < operands.size(); ++i) {
    const Operand& one = operands[i];
    views.push_back({one.memory->address(), one.dtype, one.shape, strides[i]});
  }
  const std::span all(views);
  OpCall call{.op = op, .inputs = all.first(inputs.size()), .outputs = all.subspan(inputs.size())};
  call.schema_id = attributes.schema_id;
  call.attributes = attributes.bytes;
  GPUEMU_TRY(dispatcher_->call(call));
  return streams_.synchronize(call.stream);
}

}  // namespace gpuemu
