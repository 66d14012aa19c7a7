#include "daemon/judge_service/session.h"

#include <algorithm>
#include <cstring>

#include <fmt/ranges.h>

#include "common/codec/json_codec.h"
#include "common/config/names.h"
#include "common/pipes/members.h"
#include "daemon/judge_service/judged_case.h"
#include "daemon/judge_service/service.h"

namespace gpuemu {
namespace {

using pipes::Json;
using pipes::Message;
using pipes::optional;
using pipes::required;

/// The most ops that one process checks; each is kept as text and as parsed configuration.
constexpr size_t kConfigsMax = 64;
/// Elements of the largest tensor of a case: the caller has checked its declared sizes.
constexpr int64_t kCheckedElementsMax = int64_t{1} << 24;

Result<DType> dtype_member(const Json& from, const char* name) {
  const auto text = GPUEMU_TRY(required<std::string>(from, name));
  const auto dtype = dtype_from_alias(text);
  if (!dtype) return error(ErrorCode::InvalidArgument, "'{}' is '{}', no dtype", name, text);
  return *dtype;
}

template <typename T>
Result<std::map<std::string, T>> named_numbers(const Json& from, const char* name) {
  std::map<std::string, T> found;
  const auto at = from.find(name);
  if (at == from.end() || at->is_null()) return found;
  if (!at->is_object()) {
    return error(ErrorCode::InvalidArgument, "'{}' must be numbers by name", name);
  }
  for (const auto& [key, value] : at->items()) {
    const bool fits = std::is_integral_v<T> ? value.is_number_integer() : value.is_number();
    if (!fits) return error(ErrorCode::InvalidArgument, "'{}.{}' is not a number", name, key);
    value.get_to(found[key]);
  }
  return found;
}

/// Splits the data of a request into tensors.
class DataReader {
 public:
  explicit DataReader(std::span<const std::byte> data) : rest_(data) {}

  Result<std::span<const std::byte>> take(uint64_t bytes) {
    if (bytes > rest_.size()) {
      return error(ErrorCode::InvalidArgument, "the data ends {} bytes before its last tensor",
                   bytes - rest_.size());
    }
    const auto found = rest_.first(bytes);
    rest_ = rest_.subspan(bytes);
    return found;
  }

  Result<TensorView> tensor(const Json& described) {
    TensorView view;
    view.dtype = GPUEMU_TRY(dtype_member(described, "dtype"));
    view.shape = GPUEMU_TRY(required<Shape>(described, "shape"));
    const int64_t count = GPUEMU_TRY(checked_element_count(view.shape));
    view.data = GPUEMU_TRY(take(static_cast<uint64_t>(count) * byte_size(view.dtype)));
    return view;
  }

 private:
  std::span<const std::byte> rest_;
};

Json json_of(const CaseTensor& tensor) {
  return {{"name", tensor.name}, {"dtype", name_of(tensor.dtype)}, {"shape", tensor.shape}};
}

Result<Json> object_member(const Json& from, const char* name) {
  const auto found = from.find(name);
  if (found == from.end() || !found->is_object()) {
    return error(ErrorCode::InvalidArgument, "'{}' must be a tensor {{dtype, shape}}", name);
  }
  return *found;
}

/// Replaces layout and values of the plan by those that the request names.
Status take_words(const Json& request, CasePlan& plan) {
  const auto layout = GPUEMU_TRY(optional(request, "layout", std::string(name_of(plan.layout))));
  const auto known = memory_layout_from_name(layout);
  if (!known) {
    return error(ErrorCode::InvalidArgument, "unknown layout '{}', expected one of {}", layout,
                 fmt::join(layout_names(), ", "));
  }
  plan.layout = *known;
  const auto values =
      GPUEMU_TRY(optional(request, "values", std::string(name_of(plan.value_strategy))));
  plan.value_strategy = GPUEMU_TRY(parse_strategies({values})).front();
  return ok_status();
}

}  // namespace

Result<std::shared_ptr<const Config>> CheckSession::config_of(const Json& request) {
  const auto text = GPUEMU_TRY(required<std::string>(request, "op"));
  const auto known = configs_.find(text);
  if (known != configs_.end()) return known->second;
  ConfigResult loaded = parse_config(text, "check.toml");
  if (!loaded.config) return error(ErrorCode::InvalidArgument, "{}", loaded.text());
  if (loaded.config->ops.size() != 1) {
    return error(ErrorCode::InvalidArgument, "'op' has {} ops, expected one",
                 loaded.config->ops.size());
  }
  set_default_nan_policy(loaded.config->ops.front());
  if (configs_.size() >= kConfigsMax) configs_.clear();
  return configs_[text] = std::make_shared<const Config>(*std::move(loaded.config));
}

Result<Message> CheckSession::make_case(const Json& request) {
  const auto config = GPUEMU_TRY(config_of(request));
  OpConfig op = config->ops.front();
  const auto output = GPUEMU_TRY(optional(request, "output_dtype", std::string()));
  if (!output.empty()) op.outputs = {{.name = kJudgedOutput, .shape = {}, .dtype = output}};
  const auto number = GPUEMU_TRY(required<uint64_t>(request, "case"));
  CaseOptions options;
  options.elements_max = kCheckedElementsMax;
  const auto strategies = GPUEMU_TRY(optional(request, "strategies", std::vector<std::string>()));
  options.strategies = GPUEMU_TRY(parse_strategies(strategies));
  options.dtypes = {op.dtypes[number % op.dtypes.size()]};  // In turn, as in campaigns.
  if (request.contains("dtype")) options.dtypes = {GPUEMU_TRY(dtype_member(request, "dtype"))};
  const auto seed = GPUEMU_TRY(required<uint64_t>(request, "seed"));
  CasePlan plan = GPUEMU_TRY(plan_case(op, seed, number, options));
  GPUEMU_TRY(take_words(request, plan));
  const auto dims = GPUEMU_TRY(named_numbers<int64_t>(request, "dims"));
  if (request.contains("dims")) plan = GPUEMU_TRY(with_dims(op, plan, dims));
  Message reply{Json::object(), {}};
  Json inputs = Json::array();
  for (size_t index = 0; index < plan.inputs.size(); ++index) {
    const CaseTensor& input = plan.inputs[index];
    inputs.push_back(json_of(input));
    const size_t first = reply.data.size();
    reply.data.resize(first + packed_bytes(input.dtype, input.shape));
    fill_input(op, plan, index, std::span(reply.data).subspan(first));
  }
  reply.json = {{"dtype", name_of(plan.dtype)},
                {"dims", plan.dims},
                {"layout", name_of(plan.layout)},
                {"values", name_of(plan.value_strategy)},
                {"seed", plan.case_seed},
                {"inputs", std::move(inputs)},
                {"parameters", plan.value_parameters}};
  return reply;
}

Result<Message> CheckSession::judge(const Message& request) {
  const auto config = GPUEMU_TRY(config_of(request.json));
  const OpConfig& op = config->ops.front();
  JudgedCase judged{*config, op, {}, {}, {}, {}, {}};
  judged.plan.op = op.name;
  judged.plan.base_seed = GPUEMU_TRY(required<uint64_t>(request.json, "seed"));
  judged.plan.iteration = GPUEMU_TRY(required<uint64_t>(request.json, "case"));
  judged.plan.case_seed = case_seed_of(judged.plan.base_seed, judged.plan.iteration, op.name);
  judged.plan.dtype = GPUEMU_TRY(dtype_member(request.json, "dtype"));
  judged.plan.dims = GPUEMU_TRY(named_numbers<int64_t>(request.json, "dims"));
  judged.plan.attrs = GPUEMU_TRY(named_numbers<double>(request.json, "attrs"));
  DataReader data(request.data);
  const auto inputs = request.json.find("inputs");
  if (inputs == request.json.end() || !inputs->is_array()) {
    return error(ErrorCode::InvalidArgument, "'inputs' must be a list of tensors");
  }
  for (const Json& input : *inputs) {
    const auto name = GPUEMU_TRY(required<std::string>(input, "name"));
    judged.inputs.push_back({name, GPUEMU_TRY(data.tensor(input))});
  }
  const Json output = GPUEMU_TRY(object_member(request.json, "output"));
  const Json reference = GPUEMU_TRY(object_member(request.json, "reference"));
  judged.output = GPUEMU_TRY(data.tensor(output));
  judged.reference = GPUEMU_TRY(data.tensor(reference));
  std::vector<double> scale;
  if (GPUEMU_TRY(optional(request.json, "scale", false))) {
    scale.resize(static_cast<size_t>(element_count(judged.reference.shape)));
    const auto bytes = GPUEMU_TRY(data.take(scale.size() * sizeof(double)));
    std::memcpy(scale.data(), bytes.data(), bytes.size());
    judged.scale = scale;
  }
  for (uint64_t left = GPUEMU_TRY(optional(request.json, "changed", uint64_t{0})); left > 0;
       --left) {
    judged.changed.push_back(GPUEMU_TRY(data.tensor(reference)));
  }
  const Judgement made = GPUEMU_TRY(judge_case(judged));
  Message reply{{{"result", Json::parse(encode_result(made.result))}}, {}};
  if (made.flushed) reply.json["flushed"] = true;
  if (made.narrow) reply.json["narrow"] = true;
  for (const JudgedInput& input : judged.inputs) {
    const auto wanted = made.wanted.find(input.name);
    if (wanted == made.wanted.end()) continue;
    reply.json["wanted"] = true;
    reply.data.insert(reply.data.end(), wanted->second.data.begin(), wanted->second.data.end());
  }
  return reply;
}

Result<Message> CheckSession::answer(const Message& request) {
  const auto name = GPUEMU_TRY(required<std::string>(request.json, "request"));
  if (name == "case") return make_case(request.json);
  if (name == "judge") return judge(request);
  return error(ErrorCode::InvalidArgument, "unknown request '{}', expected case or judge", name);
}

Status serve_checks(int in, int out) {
  CheckSession session;
  return pipes::serve(in, out, [&](const Message& request) { return session.answer(request); });
}

}  // namespace gpuemu
