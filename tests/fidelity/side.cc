#include "tests/fidelity/side.h"

#include <algorithm>
#include <filesystem>

#include "common/base/blake2.h"
#include "daemon/executor/execute.h"
#include "judge/cases/case.h"

namespace gpuemu::fidelity {
namespace {

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text));
}

class LiveSide final : public Side {
 public:
  LiveSide(DeviceRequest request, std::unique_ptr<Device> device, Arena arena)
      : request_(std::move(request)),
        device_(std::move(device)),
        memory_(std::make_unique<RunMemory>(*device_)),
        arena_(std::move(arena)) {}

  std::string title() const override {
    const DeviceProperties& of = device_->properties();
    const std::string driver = of.driver_version.empty() ? "" : ", CUDA " + of.driver_version;
    return fmt::format("{}{} (sm_{}), contraction {}", of.name, driver, of.sm,
                       name_of(request_.contraction));
  }

  Result<Answer> run(const Subject& subject, const CasePlan& plan) override {
    BuiltPlan built = GPUEMU_TRY(
        build_plan(*subject.config, *subject.kernel, subject.prepared, *subject.op, plan));
    built.plan.runs = 1;
    GPUEMU_TRY(arena_.grow(built.result_offset + 1));
    Answer answer;
    GPUEMU_TRY(fill_inputs(subject, plan, built.plan, answer));
    const Result<ExecutionReport> report = execute_case(subject, built.plan);
    if (!report) {
      answer.note = report.error().message;
      if (report.error().code == ErrorCode::Unavailable) GPUEMU_TRY(reopen());
      return answer;
    }
    if (!report->harness.empty()) answer.note = report->harness.front().message;
    if (!report->device.empty()) answer.note = report->device.front().message;
    for (const PlanTensor* tensor : output_tensors(built.plan)) {
      const uint64_t bytes =
          static_cast<uint64_t>(element_count(tensor->shape)) * byte_size(tensor->dtype);
      const auto from = GPUEMU_TRY(arena_.range(tensor->output_offset, bytes));
      answer.outputs.emplace_back(from.begin(), from.end());
    }
    return answer;
  }

 private:
  Status fill_inputs(const Subject& subject, const CasePlan& plan, const ExecutionPlan& execution,
                     Answer& answer) {
    std::vector<std::string> hashes;
    for (size_t index = 0; index < plan.inputs.size(); ++index) {
      const CaseTensor& input = plan.inputs[index];
      const auto planned = std::ranges::find(execution.tensors, input.name, &PlanTensor::name);
      const uint64_t bytes =
          static_cast<uint64_t>(element_count(input.shape)) * byte_size(input.dtype);
      const auto to = GPUEMU_TRY(arena_.range(planned->arena_offset, bytes));
      fill_input(*subject.op, plan, index, to);
      hashes.push_back(content_hash({{reinterpret_cast<const char*>(to.data()), to.size()}}));
    }
    for (const std::string& hash : hashes) answer.inputs = content_hash({answer.inputs, hash});
    return ok_status();
  }

  Result<ExecutionReport> execute_case(const Subject& subject, const ExecutionPlan& plan) {
    if (loaded_ != subject.name()) {
      if (!loaded_.empty()) GPUEMU_TRY(device_->unload_module(module_));
      loaded_.clear();
      module_ = GPUEMU_TRY(device_->load_module(subject.prepared.ptx, subject.prepared.name));
      loaded_ = subject.name();
    }
    return execute(*memory_, module_, arena_, plan);
  }

  /// A context that a kernel broke is of no more use, to the kernels after it neither.
  Status reopen() {
    loaded_.clear();
    std::unique_ptr<Device> fresh = GPUEMU_TRY(open_device(request_));
    memory_ = std::make_unique<RunMemory>(*fresh);
    device_ = std::move(fresh);
    return ok_status();
  }

  DeviceRequest request_;
  std::unique_ptr<Device> device_;
  std::unique_ptr<RunMemory> memory_;  ///< Of the device.
  Arena arena_;
  ModuleId module_ = 0;
  std::string loaded_;
};

class RecordedSide final : public Side {
 public:
  explicit RecordedSide(Recording recording) : recording_(std::move(recording)) {}

  std::string title() const override { return recording_.device; }

  Result<Answer> run(const Subject& subject, const CasePlan& plan) override {
    const std::string name = case_name(subject, plan);
    Answer answer;
    if (const auto note = recording_.notes.find(name); note != recording_.notes.end()) {
      answer.note = note->second;
    }
    const auto inputs = recording_.tensors.find(name + "/inputs");
    if (inputs == recording_.tensors.end()) {
      if (answer.note.empty()) answer.note = "not recorded";
      return answer;
    }
    for (const std::byte byte : inputs->second) answer.inputs += std::to_integer<char>(byte);
    for (size_t i = 0;; ++i) {
      const auto found = recording_.tensors.find(fmt::format("{}/{}", name, i));
      if (found == recording_.tensors.end()) return answer;
      answer.outputs.push_back(found->second);
    }
  }

 private:
  Recording recording_;
};

}  // namespace

std::vector<const PlanTensor*> output_tensors(const ExecutionPlan& plan) {
  std::vector<const PlanTensor*> out;
  for (const PlanTensor& tensor : plan.tensors) {
    if (tensor.role == PlanTensor::Role::Output || tensor.role == PlanTensor::Role::InOut) {
      out.push_back(&tensor);
    }
  }
  return out;
}

Result<std::unique_ptr<Side>> open_side(const DeviceRequest& request) {
  if (std::filesystem::exists(request.backend)) {
    return std::unique_ptr<Side>(
        std::make_unique<RecordedSide>(GPUEMU_TRY(read_recording(request.backend))));
  }
  auto device = GPUEMU_TRY(open_device(request));
  return std::unique_ptr<Side>(
      std::make_unique<LiveSide>(request, std::move(device), GPUEMU_TRY(Arena::create())));
}

std::string case_name(const Subject& subject, const CasePlan& plan) {
  return fmt::format("{}/{}-{}", subject.name(), plan.base_seed, plan.iteration);
}

void record(Recording& into, const std::string& name, const Answer& answer) {
  if (!answer.note.empty()) into.notes[name] = answer.note;
  const auto inputs = bytes_of(answer.inputs);
  into.tensors[name + "/inputs"] = {inputs.begin(), inputs.end()};
  for (size_t i = 0; i < answer.outputs.size(); ++i) {
    into.tensors[fmt::format("{}/{}", name, i)] = answer.outputs[i];
  }
}

}  // namespace gpuemu::fidelity
