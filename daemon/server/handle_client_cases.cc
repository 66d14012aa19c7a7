// GetTestCase and GetTestBatch: cases of the clients' generator, nothing is run.
#include "common/base/limits.h"
#include "daemon/fuzz/legacy_cases.h"
#include "daemon/server/handlers.h"

namespace gpuemu {
namespace {

std::variant<std::vector<TestCase>, ErrorReply> make_cases(const std::string& op_name,
                                                           const FuzzConfig& fuzz, uint64_t count,
                                                           Call& call) {
  auto project = open_project(call);
  if (!project) return config_error(project.error());
  const Config& config = (*project)->config();
  const OpConfig* op = config.find_op(op_name);
  if (op == nullptr) return op_not_found(config, op_name);
  if (count > kBatchCasesMax) {
    return ErrorReply{WireErrorCode::InvalidRequest,
                      fmt::format("count is {}, the limit is {}", count, kBatchCasesMax)};
  }
  std::vector<TestCase> cases;
  for (uint64_t number = 0; number < count; ++number) {
    auto made = make_legacy_case(fuzz, op->input_names, number);
    if (!made) return error_reply(made.error());
    cases.push_back(
        {made->case_seed, std::move(made->inputs), made->shape, made->dtype, made->layout});
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
