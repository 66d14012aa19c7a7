// Relations between different launches: other orders or shared memory, and outputs used as inputs.
#include <algorithm>

#include "common/config/names.h"
#include "common/numeric/element.h"
#include "judge/relations/relation_check.h"

namespace gpuemu {
namespace {

/// Returns the tensor of that name, else the first with the shape and type of `like`; null if none.
const CaseTensor* choose(const std::vector<CaseTensor>& tensors, const std::string& name,
                         const CaseTensor& like) {
  for (const CaseTensor& tensor : tensors) {
    if (!name.empty() && tensor.name != name) continue;
    if (tensor.shape == like.shape && tensor.dtype == like.dtype) return &tensor;
  }
  return nullptr;
}

/// Finds the dims for which the op's first input has the shape; nothing if they are not determined.
bool solve_dims(const OpConfig& op, const Shape& shape, std::map<std::string, int64_t>& dims) {
  if (op.inputs.empty() || op.inputs.front().shape.size() != shape.size()) return false;
  std::map<std::string, int64_t> solved;
  for (const DimSpec& dim : op.dims) {
    if (dims.contains(dim.name)) solved[dim.name] = dims[dim.name];
  }
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    const std::string& text = op.inputs.front().shape[axis].text();
    if (std::ranges::find(op.dims, text, &DimSpec::name) == op.dims.end()) continue;
    solved[text] = shape[axis];
  }
  dims = solved;
  return solved.size() == op.dims.size();
}

}  // namespace

RelationResult relate_idempotent(const RelationCheck& relation) {
  const CaseTensor& output = relation.plan().outputs.front();
  const CaseTensor* input = choose(relation.plan().inputs, relation.text("input"), output);
  if (input == nullptr) return not_checked();
  const DerivedRun base = GPUEMU_TRY(relation.base(relation.op().deterministic));
  NamedTensors inputs = base.inputs;
  inputs.at(input->name) = base.outputs.at(output.name);
  if (!is_in_range(relation.op(), relation.plan(), input->name, inputs.at(input->name))) {
    return not_checked();
  }
  const NamedTensors got = GPUEMU_TRY(relation.checker().run(inputs));
  RelationCheck::Demand demand{fmt::format("'{}' the output of a run before", input->name),
                               relation.exact(false)};
  demand.inputs = &inputs;
  return relation.agree(got, {{output.name, base.outputs.at(output.name)}}, demand);
}

RelationResult relate_in_place(const RelationCheck& relation) {
  const CasePlan& plan = relation.plan();
  const std::string wanted = relation.text("output");
  const CaseTensor* output = nullptr;
  for (const CaseTensor& tensor : plan.outputs) {
    if (!tensor.inout && (wanted.empty() || tensor.name == wanted)) {
      output = &tensor;
      break;
    }
  }
  if (output == nullptr) return not_checked();
  const CaseTensor* input = choose(plan.inputs, relation.text("input"), *output);
  if (input == nullptr || input->inout || input->layout != output->layout) return not_checked();
  if (!output->initial.empty()) return not_checked();  // Its memory cannot hold the input too.
  const bool exact = relation.exact(true);
  const DerivedRun base = GPUEMU_TRY(relation.base(exact));
  const DerivedCase derived{.plan = plan,
                            .inputs = base.inputs,
                            .in_place_input = input->name,
                            .in_place_output = output->name};
  const NamedTensors got = GPUEMU_TRY(relation.checker().of().run(derived));
  RelationCheck::Demand demand{
      fmt::format("'{}' written to the memory of '{}'", output->name, input->name), exact};
  demand.inputs = &base.inputs;
  return relation.agree(got, base.outputs, demand);
}

RelationResult relate_launch(const RelationCheck& relation) {
  const bool exact = relation.exact(false);
  const DerivedRun base = GPUEMU_TRY(relation.base(exact));
  const DerivedCase derived{.plan = relation.plan(),
                            .inputs = base.inputs,
                            .in_place_input = {},
                            .in_place_output = {},
                            .launch = &relation.spec()};
  const NamedTensors got = GPUEMU_TRY(relation.checker().of().run(derived));
  RelationCheck::Demand demand{"another launch", exact};
  demand.inputs = &base.inputs;
  return relation.agree(got, base.outputs, demand);
}

RelationResult relate_deterministic(const RelationCheck& relation) {
  const double tolerance = relation.number("tolerance", 0);
  std::vector<ThreadOrder> orders;
  for (const std::string& name : split_words(relation.text("schedules"))) {
    orders.push_back(*thread_order_from_name(name));  // The configuration has checked the name.
  }
  if (orders.empty()) {
    for (int i = 1; i < kThreadOrders; ++i) orders.push_back(static_cast<ThreadOrder>(i));
  }
  // Without a number, each order is used once.
  const auto runs =
      static_cast<size_t>(relation.number("runs", static_cast<double>(orders.size() + 1)));
  for (size_t run = 1; run < runs; ++run) {
    DerivedCase derived{.plan = relation.plan(),
                        .inputs = relation.checker().of().inputs,
                        .in_place_input = {},
                        .in_place_output = {}};
    derived.order = orders[(run - 1) % orders.size()];
    derived.order_seed = relation.plan().case_seed + run;
    const NamedTensors got = GPUEMU_TRY(relation.checker().of().run(derived));
    RelationCheck::Demand demand{
        fmt::format("the same inputs again (run {} of {}, threads in the order '{}' where the "
                    "device can choose)",
                    run + 1, runs, name_of(derived.order)),
        true};
    for (const auto& [name, output] : relation.checker().of().outputs) {
      demand.slack[name] = std::vector<double>(static_cast<size_t>(output.count()), tolerance);
    }
    RelationVerdict verdict = relation.agree(got, relation.checker().of().outputs, demand);
    if (verdict.finding) return verdict;
  }
  return RelationVerdict{.checked = runs > 1, .finding = {}};
}

/// The other op, applied to this op's output, must return this op's first input.
RelationResult relate_inverse(const RelationCheck& relation) {
  const OpConfig* other = relation.checker().of().find_op(relation.text("op"));
  const CasePlan& plan = relation.plan();
  if (other == nullptr || plan.inputs.empty() || other->outputs.empty()) return not_checked();
  const DerivedRun base = GPUEMU_TRY(relation.base(relation.op().deterministic));
  const CaseTensor &input = plan.inputs.front(), &output = plan.outputs.front();
  CasePlan wanted = plan;
  wanted.op = other->name;
  wanted.kernel.clear();
  std::map<std::string, int64_t> dims = plan.dims;
  if (!solve_dims(*other, output.shape, dims)) return not_checked();
  wanted.attrs.clear();
  for (const AttrSpec& attr : other->attrs) {
    const auto known = plan.attrs.find(attr.name);
    wanted.attrs[attr.name] = known == plan.attrs.end() ? attr.values.front() : known->second;
  }
  const auto made = with_dims(*other, wanted, dims);
  if (!made) return not_checked();
  DerivedCase derived{.plan = *made, .inputs = {}, .in_place_input = {}, .in_place_output = {}};
  for (const CaseTensor& needed : made->inputs) {
    const bool is_first = &needed == &made->inputs.front();
    const auto own = base.inputs.find(needed.name);
    if (!is_first && own == base.inputs.end()) return not_checked();
    const Tensor& given = is_first ? base.outputs.at(output.name) : own->second;
    if (given.shape != needed.shape || given.dtype != needed.dtype) return not_checked();
    derived.inputs[needed.name] = given;
  }
  const NamedTensors back = GPUEMU_TRY(relation.checker().of().run(derived));
  const auto result = back.find(other->outputs.front().name);
  const Tensor& start = base.inputs.at(input.name);
  if (result == back.end() || result->second.shape != start.shape) return not_checked();
  RelationCheck::Demand demand{
      fmt::format("op '{}' on the output, which must give '{}' back", other->name, input.name),
      relation.exact(!relation.spec().numbers.contains("tolerance"))};
  demand.slack[input.name] =
      std::vector<double>(static_cast<size_t>(start.count()), relation.number("tolerance", 0));
  demand.inputs = &base.inputs;
  return relation.agree({{input.name, result->second}}, {{input.name, start}}, demand);
}

}  // namespace gpuemu
