// Calls one op on the emulator as declared: for tests of kernels.
#pragma once

#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "common/numeric/element.h"
#include "common/rng/fill.h"
#include "kernels/catalog.h"
#include "kernels/op.h"
#include "ops/dispatch/check_case.h"
#include "ops/dispatch/registry.h"
#include "ops/dispatch/type_binding.h"
#include "runtime/backends/backends.h"

namespace gpuemu {

using Numbers = std::vector<double>;
using Sizes = std::vector<int64_t>;

/// One emulator for all calls of a test, so that a module is loaded only once.
class TestDevice {
 public:
  static TestDevice& shared() {
    static TestDevice device;
    return device;
  }
  Device& operator*() { return *device_; }
  Device* operator->() { return device_.get(); }
  ModuleId module(const std::string& name) {
    const auto found = modules_.find(name);
    if (found != modules_.end()) return found->second;
    const BuiltinKernel* kernel = find_builtin(name);
    EXPECT_NE(kernel, nullptr) << name;
    const auto loaded = device_->load_module(kernel->ptx(), name);
    EXPECT_TRUE(loaded) << loaded.error().message;
    return modules_.emplace(name, *loaded).first->second;
  }

 private:
  TestDevice() {
    auto device = open_device({.backend = "emulator", .threads = 1});
    EXPECT_TRUE(device) << device.error().message;
    device_ = *std::move(device);
  }

  std::unique_ptr<Device> device_;
  std::map<std::string, ModuleId> modules_;
};

/// One call of an op. Tensors are contiguous. Any finding of the emulator fails the test.
class OpRun {
 public:
  /// Uses the first variant that supports the call, unless one is named.
  explicit OpRun(const std::string& op, std::string variant = "")
      : device_(TestDevice::shared()), variant_(std::move(variant)) {
    for (const OpKind* one : builtin_ops()) op_ = one->name == op ? one : op_;
    EXPECT_NE(op_, nullptr) << op;
  }

  /// Adds an input uniform in [-3, 3]. Returns its values as the kernel sees them, rounded to the
  /// dtype.
  Numbers input(DType dtype, Sizes shape) {
    Numbers values(count_of(shape));
    fill_doubles(derive_state(1, inputs_.size(), op_->name), Distribution::uniform(-3, 3), values);
    return input(dtype, std::move(shape), std::move(values));
  }
  Numbers input(DType dtype, Sizes shape, Numbers values) {
    std::vector<std::byte> bytes(values.size() * byte_size(dtype));
    narrow_from_double(dtype, values, bytes);
    widen_to_double(dtype, bytes, values);
    inputs_.push_back(make(dtype, std::move(shape)));
    EXPECT_TRUE(device_->upload(inputs_.back().address, bytes));
    return values;
  }
  void output(DType dtype, Sizes shape) { outputs_.push_back(make(dtype, std::move(shape))); }
  /// Adds an input with any strides, in elements. Returns its values in the order of the indices.
  Numbers strided_input(DType dtype, Sizes shape, Sizes strides) {
    Owned tensor = place(dtype, std::move(shape), std::move(strides));
    Numbers values(tensor.stored);
    fill_doubles(derive_state(1, inputs_.size(), op_->name), Distribution::uniform(-3, 3), values);
    std::vector<std::byte> bytes(values.size() * byte_size(dtype));
    narrow_from_double(dtype, values, bytes);
    EXPECT_TRUE(device_->upload(tensor.address, bytes));
    inputs_.push_back(tensor);
    return values_of(tensor);
  }
  void strided_output(DType dtype, Sizes shape, Sizes strides) {
    outputs_.push_back(place(dtype, std::move(shape), std::move(strides)));
  }
  /// Adds the next field of the schema.
  template <typename T>
  void attribute(T value) {
    const auto* bytes = reinterpret_cast<const std::byte*>(&value);
    attributes_.insert(attributes_.end(), bytes, bytes + sizeof(T));
  }

  /// Runs the op and returns the first output.
  Numbers run() {
    const std::vector<DeviceTensor> inputs = views(inputs_), outputs = views(outputs_);
    EXPECT_TRUE(check_attributes(op_->schema, schema_id(), attributes_));
    OpCase c{*op_, inputs, outputs, Attributes(op_->schema, attributes_), device_->properties()};
    const auto types = check_case(c);
    EXPECT_TRUE(types) << types.error().message;
    const KernelVariant* variant = chosen(c, *types);
    EXPECT_NE(variant, nullptr) << variant_;
    if (variant->workspace_bytes != nullptr) {
      c.workspace = *device_->allocate(variant->workspace_bytes(c), "workspace");
    }
    auto plan = std::make_unique<Plan>();
    variant->plan(c, *plan);
    for (const LaunchStep& step : plan->steps()) launch(*variant, step, *types);
    return result(0);
  }
  Numbers result(size_t output) { return values_of(outputs_[output]); }
  /// Returns the threads of a block in each launch so far.
  const std::vector<uint32_t>& block_threads() const { return block_threads_; }

 private:
  struct Owned {
    uint64_t address = 0;
    DType dtype = DType::Float32;
    Sizes shape, strides;
    size_t stored = 0;  ///< Span from the first to the last element.
  };

  /// Returns the id of the schema version that has as many bytes as were given.
  uint32_t schema_id() const {
    if (attributes_.empty()) return 0;
    uint32_t version = 1;
    while (version < op_->schema.version() &&
           op_->schema.byte_size_of(version) < attributes_.size()) {
      ++version;
    }
    return op_->schema.number * 256 + version;
  }
  static size_t count_of(const Sizes& shape) {
    int64_t count = 1;
    for (const int64_t size : shape) count *= size;
    return static_cast<size_t>(count);
  }
  static std::vector<DeviceTensor> views(const std::vector<Owned>& tensors) {
    std::vector<DeviceTensor> all;
    for (const Owned& one : tensors) {
      all.push_back({one.address, one.dtype, one.shape, one.strides});
    }
    return all;
  }
  Owned make(DType dtype, Sizes shape) {
    int64_t stride = 1;
    Sizes strides(shape.size());
    for (size_t i = shape.size(); i-- > 0; stride *= shape[i]) strides[i] = stride;
    return place(dtype, std::move(shape), std::move(strides));
  }
  Owned place(DType dtype, Sizes shape, Sizes strides) {
    Owned tensor{.dtype = dtype, .shape = std::move(shape), .strides = std::move(strides)};
    int64_t last = 0;
    for (size_t i = 0; i < tensor.shape.size(); ++i) {
      last += (tensor.shape[i] - 1) * tensor.strides[i];
    }
    tensor.stored = count_of(tensor.shape) == 0 ? 0 : static_cast<size_t>(last + 1);
    tensor.address =
        *device_->allocate(tensor.stored * byte_size(dtype), fmt::format("tensor {}", tensors_++));
    return tensor;
  }
  Numbers values_of(const Owned& tensor) {
    Numbers stored(tensor.stored), values(count_of(tensor.shape));
    std::vector<std::byte> bytes(stored.size() * byte_size(tensor.dtype));
    EXPECT_TRUE(device_->download(bytes, tensor.address));
    widen_to_double(tensor.dtype, bytes, stored);
    for (size_t i = 0; i < values.size(); ++i) {
      auto left = static_cast<int64_t>(i);
      int64_t offset = 0;
      for (size_t axis = tensor.shape.size(); axis-- > 0; left /= tensor.shape[axis]) {
        offset += left % tensor.shape[axis] * tensor.strides[axis];
      }
      values[i] = stored[static_cast<size_t>(offset)];
    }
    return values;
  }
  const KernelVariant* chosen(const OpCase& c, const TypeBinding& types) const {
    for (const KernelVariant* one : by_priority(*op_)) {
      if (!variant_.empty() && one->name != variant_) continue;
      const std::string reason = refusal(c, *one, types);
      if (reason.empty()) return one;
      EXPECT_TRUE(variant_.empty()) << reason;
    }
    return nullptr;
  }
  void launch(const KernelVariant& variant, const LaunchStep& step, const TypeBinding& types) {
    LaunchConfig config;
    config.entry = *entry_name(variant.entries[step.entry], types);
    config.grid = step.grid;
    config.block = step.block;
    block_threads_.push_back(step.block.x * step.block.y * step.block.z);
    config.dynamic_shared_bytes = step.shared_bytes;
    for (size_t i = 0; i < step.arg_count(); ++i) {
      const auto bytes = step.argument(i);
      config.args.emplace_back(bytes.begin(), bytes.end());
    }
    const auto report = device_->launch(device_.module(variant.module), config);
    ASSERT_TRUE(report) << report.error().message;
    for (const DeviceFinding& finding : report->findings) ADD_FAILURE() << finding.message;
  }

  TestDevice& device_;
  const OpKind* op_ = nullptr;
  std::string variant_;
  std::vector<Owned> inputs_, outputs_;
  std::vector<std::byte> attributes_;
  size_t tensors_ = 0;
  std::vector<uint32_t> block_threads_;
};

}  // namespace gpuemu
