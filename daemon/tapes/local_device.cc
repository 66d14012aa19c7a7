#include "daemon/tapes/local_device.h"

#include <utility>

#include "daemon/tapes/sibling_outputs.h"
#include "daemon/tapes/tape_attributes.h"
#include "daemon/tapes/tape_ops.h"
#include "runtime/device/device_traits.h"

namespace gpuemu {
namespace {

class LocalTapeDevice final : public TapeDevice,
                              public std::enable_shared_from_this<LocalTapeDevice> {
 public:
  LocalTapeDevice(std::unique_ptr<Device> device, Streams& streams, const LocalTapeOptions& options)
      : device_(std::move(device)),
        streams_(streams),
        registry_(OpRegistry::with_builtins()),
        worker_id_(options.worker_id),
        turn_(options.turn) {}

  Status begin(const std::string& cache_folder);
  Result<DeviceCopy> upload(std::span<const std::byte> values, const std::string& name) override;
  Result<DeviceCopy> run(const tape::Entry& entry, uint64_t seed,
                         const std::vector<Operand>& inputs) override;
  bool is_here() const override { return true; }
  std::string worker_id() const override { return worker_id_; }
  Device& device() const { return *device_; }
  SiblingOutputs& siblings() { return siblings_; }

 private:
  Result<DeviceCopy> allocate(uint64_t bytes, const std::string& name);
  Result<DeviceCopy> run_op(const tape::Entry& entry, const std::vector<Operand>& inputs);
  /// The inputs as the op sees them, and memory for all outputs; that of the entry has its name.
  Result<std::vector<Operand>> operands_of(const TapeForm& form, std::vector<Operand> inputs,
                                           const std::string& name);
  Status compute(const OpKind& op, const TapeForm& form, const std::vector<Operand>& operands);

  const std::unique_ptr<Device> device_;
  Streams& streams_;
  const OpRegistry registry_;
  std::unique_ptr<Dispatcher> dispatcher_;
  const std::string worker_id_;
  const std::shared_ptr<std::mutex> turn_;
  SiblingOutputs siblings_;
};

class LocalBytes final : public DeviceBytes {
 public:
  LocalBytes(std::shared_ptr<LocalTapeDevice> device, uint64_t address, uint64_t bytes)
      : device_(std::move(device)), address_(address), bytes_(bytes) {}
  ~LocalBytes() override {
    device_->siblings().forget_reader_of(this);
    // It was allocated by this device and is freed once: there is nothing to tell.
    (void)device_->device().free(address_).ok();
  }
  TapeDevice& device() const override { return *device_; }
  uint64_t address() const { return address_; }
  Result<std::vector<std::byte>> download() const override {
    std::vector<std::byte> values(bytes_);
    GPUEMU_TRY(device_->device().download(values, address_));
    return values;
  }

 private:
  const std::shared_ptr<LocalTapeDevice> device_;
  const uint64_t address_, bytes_;
};

uint64_t address_of(const DeviceCopy& memory) {
  return static_cast<const LocalBytes&>(*memory).address();
}

Status LocalTapeDevice::begin(const std::string& cache_folder) {
  DispatchOptions options;
  options.folder = cache_folder;
  dispatcher_ = GPUEMU_TRY(Dispatcher::create(*device_, registry_, std::move(options)));
  return ok_status();
}

Result<DeviceCopy> LocalTapeDevice::allocate(uint64_t bytes, const std::string& name) {
  auto made = device_->allocate(bytes, name);
  if (!made && made.error().code == ErrorCode::ResourceExhausted) {
    siblings_.clear();
    made = device_->allocate(bytes, name);
  }
  const uint64_t address = GPUEMU_TRY(std::move(made));
  return DeviceCopy(std::make_shared<LocalBytes>(shared_from_this(), address, bytes));
}

Result<DeviceCopy> LocalTapeDevice::upload(std::span<const std::byte> values,
                                           const std::string& name) {
  DeviceCopy memory = GPUEMU_TRY(allocate(values.size(), name));
  GPUEMU_TRY(device_->upload(address_of(memory), values));
  return memory;
}

Result<DeviceCopy> LocalTapeDevice::run(const tape::Entry& entry, uint64_t seed,
                                        const std::vector<Operand>& inputs) {
  for (const Operand& one : inputs) {
    if (&one.memory->device() == this) continue;
    return error(ErrorCode::Unavailable, "an input of '{}' is on another device", entry.id);
  }
  std::unique_lock<std::mutex> turn;
  if (turn_ != nullptr) turn = std::unique_lock(*turn_);
  if (entry.is_tape_leaf()) {
    const auto values = GPUEMU_TRY(leaf_values(entry, seed));
    return upload(values, entry.id);
  }
  return run_op(entry, inputs);
}

Result<DeviceCopy> LocalTapeDevice::run_op(const tape::Entry& entry,
                                           const std::vector<Operand>& inputs) {
  const OpKind* const op = GPUEMU_TRY(registry_.find(entry.op));
  std::vector<Shape> shapes;
  for (const Operand& one : inputs) shapes.push_back(one.shape);
  const TapeForm form = GPUEMU_TRY(tape_form(entry, *op, shapes));
  if (DeviceCopy made = siblings_.take(form.call, inputs, form.output)) return made;
  siblings_.clear();
  const auto operands = GPUEMU_TRY(operands_of(form, inputs, entry.id));
  GPUEMU_TRY(compute(*op, form, operands));
  std::vector<DeviceCopy> outputs;
  for (size_t i = inputs.size(); i < operands.size(); ++i) outputs.push_back(operands[i].memory);
  DeviceCopy own = std::exchange(outputs[form.output], nullptr);
  if (outputs.size() > 1) siblings_.keep(form.call, inputs, std::move(outputs));
  return own;
}

Result<std::vector<TapeDevice::Operand>> LocalTapeDevice::operands_of(const TapeForm& form,
                                                                      std::vector<Operand> inputs,
                                                                      const std::string& name) {
  for (size_t i = 0; i < inputs.size(); ++i) inputs[i].shape = form.inputs[i];
  for (size_t i = 0; i < form.outputs.size(); ++i) {
    const TapeForm::Output& one = form.outputs[i];
    const auto count = static_cast<uint64_t>(element_count(one.shape));
    inputs.push_back({one.shape, one.dtype, nullptr});
    inputs.back().memory =
        GPUEMU_TRY(allocate(byte_size(one.dtype) * count, i == form.output ? name : ""));
  }
  return inputs;
}

Status LocalTapeDevice::compute(const OpKind& op, const TapeForm& form,
                                const std::vector<Operand>& operands) {
  const PackedAttributes attributes = GPUEMU_TRY(pack_attributes(op.schema, form.attrs));
  std::vector<Strides> strides;
  for (const Operand& one : operands) strides.push_back(row_major_strides(one.shape));
  std::vector<DeviceTensor> views;
  for (size_t i = 0; i < operands.size(); ++i) {
    const Operand& one = operands[i];
    views.push_back({address_of(one.memory), one.dtype, one.shape, strides[i]});
  }
  const std::span all(views);
  const size_t inputs = form.inputs.size();
  OpCall call{.op = &op, .inputs = all.first(inputs), .outputs = all.subspan(inputs)};
  call.schema_id = attributes.schema_id;
  call.attributes = attributes.bytes;
  GPUEMU_TRY(dispatcher_->call(call));
  return streams_.synchronize(call.stream);
}

class LocalHosts final : public TapeHosts {
 public:
  LocalHosts(LocalTapeOptions options, size_t count)
      : options_(std::move(options)), count_(count) {}

  size_t count() const override { return count_; }
  Result<DeviceProperties> properties() const override {
    return GPUEMU_TRY(open_device(options_.device))->properties();
  }
  Result<std::shared_ptr<TapeDevice>> open(size_t place, const std::function<bool()>&) override {
    LocalTapeOptions own = options_;
    own.worker_id = fmt::format("local-{}", place);
    if (device_traits(own.device.backend).is_gpu) own.device.index = static_cast<int>(place);
    return open_local_tape_device(own);
  }
  bool has_better(const TapeDevice&) const override { return false; }

 private:
  const LocalTapeOptions options_;
  const size_t count_;
};

}  // namespace

std::shared_ptr<TapeHosts> local_tape_hosts(LocalTapeOptions options, size_t count) {
  return std::make_shared<LocalHosts>(std::move(options), count);
}

Result<std::shared_ptr<TapeDevice>> open_local_tape_device(const LocalTapeOptions& options) {
  auto device = GPUEMU_TRY(open_device(options.device));
  Streams* const streams = GPUEMU_TRY(device->streams());
  auto made = std::make_shared<LocalTapeDevice>(std::move(device), *streams, options);
  GPUEMU_TRY(made->begin(options.cache_folder));
  return std::shared_ptr<TapeDevice>(std::move(made));
}

}  // namespace gpuemu
