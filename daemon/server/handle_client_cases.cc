// GetTestCase and GetTestBatch: returns cases of the clients' generator without running them.
#include "common/base/limits.h"
#include "common/protocol/wire_errors.h"
#include "daemon/server/handlers.h"
#include "daemon/server/project.h"
#include "judge/cases/case.h"
#include "judge/cases/legacy_cases.h"

namespace gpuemu {
namespace {

// Limit of the tensors in a reply, before base64 makes them a third larger: it must fit
// kMessageBytesMax.
constexpr uint64_t kReplyTensorBytesMax = kMessageBytesMax / 2;

/// Returns the bytes of the inputs of cases 0 to count - 1 without making them; stops above the
/// limit.
Result<uint64_t> bytes_of_cases(const FuzzConfig& fuzz, const std::vector<std::string>& names,
                                uint64_t count) {
  uint64_t bytes = 0;
  for (uint64_t number = 0; number < count && bytes <= kReplyTensorBytesMax; ++number) {
    const LegacyPlan plan = GPUEMU_TRY(plan_legacy_case(fuzz, names, number));
    for (const Shape& shape : plan.input_shapes) {
      bytes += packed_bytes(plan.dtype, shape);
    }
  }
  return bytes;
}

TestCase to_wire(LegacyCase made) {
  TestCase out{made.case_seed, {}, made.shape, made.dtype, made.layout};
  for (auto& [name, tensor] : made.inputs) {
    out.inputs[name] = {std::move(tensor), made.input_strides[name]};
  }
  return out;
}

std::variant<std::vector<TestCase>, ErrorReply> make_cases(const std::string& op_name,
                                                           const FuzzConfig& fuzz, uint64_t count,
                                                           Call& call) {
  auto project = open_project(call);
  if (!project) return config_error(project.error());
  const Config& config = (*project)->config();
  const OpConfig* op = config.find_op(op_name);
  if (op == nullptr) return op_not_found(call, config, op_name);
  const auto bytes = bytes_of_cases(fuzz, op->input_names, count);
  if (!bytes) return error_reply(bytes.error());
  if (*bytes > kReplyTensorBytesMax) {
    return ErrorReply{WireErrorCode::InvalidRequest,
                      fmt::format("{} cases of these shapes hold more than {} bytes; ask for "
                                  "fewer cases at a time or for smaller shapes",
                                  count, kReplyTensorBytesMax)};
  }
  std::vector<TestCase> cases;
  for (uint64_t number = 0; number < count; ++number) {
    auto made = make_legacy_case(fuzz, op->input_names, number);
    if (!made) return error_reply(made.error());
    cases.push_back(to_wire(*std::move(made)));
  }
  return cases;
}

}  // namespace

Reply handle(const GetTestCaseRequest& request, Call& call) {
  auto cases = make_cases(request.op_name, request.fuzz_config, 1, call);
  if (auto* failure = std::get_if<ErrorReply>(&cases)) return *failure;
  return TestCaseReply{std::get<std::vector<TestCase>>(std::move(cases)).front()};
}

Reply handle(const GetTestBatchRequest& request, Call& call) {
  auto cases = make_cases(request.op_name, request.fuzz_config, request.count, call);
  if (auto* failure = std::get_if<ErrorReply>(&cases)) return *failure;
  return TestBatchReply{std::get<std::vector<TestCase>>(std::move(cases))};
}

}  // namespace gpuemu
