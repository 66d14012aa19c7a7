#include "judge/relations/relation_checker.h"

#include <cmath>
#include <cstring>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "common/config/config.h"
#include "common/config/names.h"
#include "judge/relations/known_properties.h"

namespace gpuemu {
namespace {

using Floats = std::vector<float>;

Floats floats_of(const Tensor& tensor) {
  Floats values(static_cast<size_t>(tensor.count()));
  if (!values.empty()) std::memcpy(values.data(), tensor.data.data(), tensor.data.size());
  return values;
}

Tensor tensor_like(const CaseTensor& like, const Floats& values) {
  Tensor tensor = make_tensor(like.dtype, like.shape);
  if (!values.empty()) std::memcpy(tensor.data.data(), values.data(), tensor.data.size());
  return tensor;
}

using Kernel = std::function<void(const DerivedCase&, std::map<std::string, Floats>& tensors)>;

/// An op whose kernel is a function of this program.
class Relate : public testing::Test {
 protected:
  /// y = f(x) over rows x cols, or y[rows] when it reduces.
  void rows_op(const std::string& output_shape, const std::string& more = "") {
    const std::string toml = R"([[ops]]
name = "op"
kernel = "k"
inputs = [{ name = "x", shape = ["rows", "cols"] )" +
                             more + R"(}]
outputs = [{ name = "y", shape = )" +
                             output_shape + R"( }]
dims = { rows = [1, 64], cols = [1, 64] }
accumulate = "cols"
)";
    load(toml, {{"rows", 6}, {"cols", 8}});
  }
  void matmul_op(const std::string& b_shape) {
    load(R"([[ops]]
name = "op"
kernel = "k"
inputs = [{ name = "a", shape = ["m", "k"] }, { name = "b", shape = )" +
             b_shape + R"( }]
outputs = [{ name = "y", shape = ["m", "n"] }]
dims = { m = [1, 64], n = [1, 64], k = [1, 64] }
accumulate = "k"
)",
         {{"m", 5}, {"n", 7}, {"k", 6}});
  }

  void load(const std::string& ops, const std::map<std::string, int64_t>& dims) {
    const ConfigResult parsed = parse_config(ops + R"([[kernels]]
name = "k"
source = "k.cu"
launches = [{ entry = "k", grid = 1, block = 32, args = [] }]
)",
                                             "gpuemu.toml");
    ASSERT_TRUE(parsed.config) << parsed.text();
    config_ = *parsed.config;
    op_ = &config_.ops[0];
    auto plan = plan_case(*op_, 7, 0, {.dtypes = {}, .strategies = {Strategy::Normal}});
    ASSERT_TRUE(plan) << plan.error().message;
    auto sized = with_dims(*op_, *plan, dims);
    ASSERT_TRUE(sized) << sized.error().message;
    plan_ = *sized;
    plan_.value_strategy = Strategy::Normal;
  }

  Result<NamedTensors> run(const DerivedCase& derived) {
    ++runs_;
    if (derived.wide_index != nullptr) return error(ErrorCode::Unsupported, "no memory for that");
    std::map<std::string, Floats> tensors;
    for (const auto& [name, tensor] : derived.inputs) tensors[name] = floats_of(tensor);
    for (const CaseTensor& output : derived.plan.outputs) {
      tensors[output.name].resize(static_cast<size_t>(element_count(output.shape)));
    }
    kernel_(derived, tensors);
    NamedTensors outputs;
    for (const CaseTensor& output : derived.plan.outputs) {
      outputs[output.name] = tensor_like(output, tensors[output.name]);
    }
    return outputs;
  }

  RelationVerdict check(const InvariantSpec& spec, Kernel kernel) {
    kernel_ = std::move(kernel);
    NamedTensors inputs;
    for (size_t i = 0; i < plan_.inputs.size(); ++i) {
      Tensor tensor = make_tensor(plan_.inputs[i].dtype, plan_.inputs[i].shape);
      fill_input(*op_, plan_, i, tensor.data);
      inputs.emplace(plan_.inputs[i].name, std::move(tensor));
    }
    const DerivedCaseRunner runner = [this](const DerivedCase& f) { return run(f); };
    const NamedTensors outputs =
        *run({.plan = plan_, .inputs = inputs, .in_place_input = {}, .in_place_output = {}});
    ValidationPolicy policy;
    policy.nan_policy = NanPolicy::Match;
    policy.accumulate_length = 8;
    RelationChecker checker(
        {*op_, plan_, inputs, outputs, policy,
         [](const std::string&, DType) { return Tolerance{.automatic = true, .ulp = {}}; }, runner,
         [this](const std::string& name) { return config_.find_op(name); }});
    auto verdict = checker.check(spec);
    EXPECT_TRUE(verdict) << verdict.error().message;
    return verdict.ok() ? *verdict : RelationVerdict{};
  }
  /// Checked, and nothing found.
  void expect_holds(const InvariantSpec& spec, const Kernel& kernel) {
    const RelationVerdict verdict = check(spec, kernel);
    EXPECT_TRUE(verdict.checked) << name_of(spec.kind);
    EXPECT_FALSE(verdict.finding) << verdict.finding->message;
  }
  /// Returns the message of the finding.
  std::string found(const InvariantSpec& spec, const Kernel& kernel) {
    const RelationVerdict verdict = check(spec, kernel);
    EXPECT_TRUE(verdict.finding) << name_of(spec.kind) << " found nothing";
    if (!verdict.finding) return "";
    EXPECT_EQ(verdict.finding->kind, FindingKind::RelationViolation);
    EXPECT_EQ(verdict.finding->message.find(fmt::format("relation {}", name_of(spec.kind))), 0u);
    return verdict.finding->message;
  }

  Config config_;
  const OpConfig* op_ = nullptr;
  CasePlan plan_;
  Kernel kernel_;
  int runs_ = 0;
};

InvariantSpec spec_of(InvariantKind kind, std::map<std::string, double> numbers = {},
                      std::map<std::string, std::string> texts = {}) {
  return {.kind = kind, .numbers = std::move(numbers), .strings = std::move(texts)};
}

size_t dim(const DerivedCase& derived, const char* name) {
  return static_cast<size_t>(derived.plan.dims.at(name));
}

/// y[i] = f(x[i]).
Kernel elementwise(float (*f)(float)) {
  return [f](const DerivedCase&, std::map<std::string, Floats>& t) {
    for (size_t i = 0; i < t["y"].size(); ++i) t["y"][i] = f(t["x"][i]);
  };
}

/// Rows of x to rows of y: f(row, cols, out).
Kernel by_row(void (*f)(const float*, size_t, float*)) {
  return [f](const DerivedCase& derived, std::map<std::string, Floats>& t) {
    const size_t rows = dim(derived, "rows"), cols = dim(derived, "cols");
    const size_t step = t["y"].size() / rows;
    for (size_t row = 0; row < rows; ++row) f(&t["x"][row * cols], cols, &t["y"][row * step]);
  };
}

void softmax(const float* x, size_t count, float* y) {
  float most = x[0], sum = 0;
  for (size_t i = 1; i < count; ++i) most = std::fmax(most, x[i]);
  for (size_t i = 0; i < count; ++i) sum += y[i] = std::exp(x[i] - most);
  for (size_t i = 0; i < count; ++i) y[i] /= sum;
}
void softmax_without_max(const float* x, size_t count, float* y) {
  float sum = 0;
  for (size_t i = 0; i < count; ++i) sum += y[i] = std::exp(x[i]);
  for (size_t i = 0; i < count; ++i) y[i] /= sum;
}
void row_sum(const float* x, size_t count, float* y) {
  y[0] = 0;
  for (size_t i = 0; i < count; ++i) y[0] += x[i];
}
void row_sum_without_last(const float* x, size_t count, float* y) {
  row_sum(x, count > 1 ? count - 1 : count, y);
}
void row_max_from_zero(const float* x, size_t count, float* y) {
  y[0] = 0;
  for (size_t i = 0; i < count; ++i) y[0] = std::fmax(y[0], x[i]);
}
void running_sum(const float* x, size_t count, float* y) {
  float sum = 0;
  for (size_t i = 0; i < count; ++i) y[i] = sum += x[i];
}

TEST_F(Relate, EveryRelationOfTheConfigurationIsKnownHere) {
  rows_op(R"(["rows", "cols"])");
  for (const InvariantInfo& row : invariant_table()) {
    if (row.is_relation) check(spec_of(row.kind), elementwise([](float x) { return x; }));
  }
}

TEST_F(Relate, ScalingByPowersOfTwoIsExact) {
  rows_op(R"(["rows", "cols"])");
  expect_holds(spec_of(InvariantKind::ScaleEquivariant),
               elementwise([](float x) { return 0.3f * x; }));
  expect_holds(spec_of(InvariantKind::ScaleEquivariant, {{"degree", 2}}),
               elementwise([](float x) { return x * x; }));
  const std::string message = found(spec_of(InvariantKind::ScaleEquivariant, {{"factor", 4}}),
                                    elementwise([](float x) { return 0.3f * x + 1e-6f; }));
  EXPECT_NE(message.find("with 'x' times 4"), std::string::npos) << message;
}

TEST_F(Relate, ShiftsShowASoftmaxThatSubtractsNoMaximum) {
  rows_op(R"(["rows", "cols"])");
  expect_holds(spec_of(InvariantKind::ShiftInvariant), by_row(softmax));
  const std::string message =
      found(spec_of(InvariantKind::ShiftInvariant), by_row(softmax_without_max));
  EXPECT_NE(message.find("nan"), std::string::npos) << message;
}

TEST_F(Relate, MirroredInputsMirrorOddFunctionsOnly) {
  rows_op(R"(["rows", "cols"])");
  expect_holds(spec_of(InvariantKind::Odd), elementwise([](float x) { return std::tanh(x); }));
  expect_holds(spec_of(InvariantKind::Even), elementwise([](float x) { return std::cos(x); }));
  found(spec_of(InvariantKind::Odd), elementwise([](float x) { return x > 0 ? x : 0.5f * x; }));
  found(spec_of(InvariantKind::Even), elementwise([](float x) { return x; }));
}

TEST_F(Relate, RowsThatReadTheirNeighboursAreNotIndependent) {
  rows_op(R"(["rows", "cols"])");
  expect_holds(spec_of(InvariantKind::RowIndependent), by_row(softmax));
  const auto leaking = [](const DerivedCase& derived, std::map<std::string, Floats>& t) {
    const size_t cols = dim(derived, "cols");
    for (size_t i = 0; i < t["y"].size(); ++i) {
      t["y"][i] = t["x"][i] + 0 * t["x"][i >= cols ? i - cols : i];  // 0 * NaN leaks.
      if (i >= cols) t["y"][i] += 1e-7f * t["x"][i - cols];
    }
  };
  found(spec_of(InvariantKind::RowIndependent), leaking);
}

TEST_F(Relate, PermutedSlicesPermuteTheOutput) {
  rows_op(R"(["rows", "cols"])");
  expect_holds(spec_of(InvariantKind::PermutationEquivariant), by_row(softmax));
  expect_holds(spec_of(InvariantKind::PermutationEquivariant, {}, {{"dim", "cols"}}),
               by_row(softmax));
  found(spec_of(InvariantKind::PermutationEquivariant, {}, {{"dim", "cols"}}), by_row(running_sum));
}

TEST_F(Relate, AReductionDoesNotCareForTheOrder) {
  rows_op(R"(["rows"])");
  expect_holds(spec_of(InvariantKind::PermutationInvariant), by_row(row_sum));
  found(spec_of(InvariantKind::PermutationInvariant), by_row(row_sum_without_last));
}

TEST_F(Relate, PaddingWithTheIdentityChangesNothing) {
  rows_op(R"(["rows"])");
  const auto padded = [](double fill) {
    return spec_of(InvariantKind::PadInvariant, {{"fill", fill}}, {{"dim", "cols"}});
  };
  expect_holds(padded(0), by_row(row_sum));
  found(padded(0), by_row(row_sum_without_last));
  expect_holds(padded(-1000), by_row(row_max_from_zero));
  found(padded(5), by_row(row_max_from_zero));
}

TEST_F(Relate, PaddingRespectsWhatTheDimMayBe) {
  rows_op(R"(["rows"])");
  plan_ = *with_dims(*op_, plan_, {{"rows", 2}, {"cols", 64}});
  EXPECT_FALSE(
      check(spec_of(InvariantKind::PadInvariant, {}, {{"dim", "cols"}}), by_row(row_sum)).checked);
}

TEST_F(Relate, SumsSplitAlongTheirLength) {
  rows_op(R"(["rows"])");
  expect_holds(spec_of(InvariantKind::Additive), by_row(row_sum));
  found(spec_of(InvariantKind::Additive), by_row(row_max_from_zero));
  expect_holds(spec_of(InvariantKind::Linear), by_row(row_sum));
  found(spec_of(InvariantKind::Linear), by_row(row_max_from_zero));
}

TEST_F(Relate, TheFutureDoesNotChangeThePast) {
  rows_op(R"(["rows", "cols"])");
  expect_holds(spec_of(InvariantKind::Causal, {}, {{"dim", "cols"}}), by_row(running_sum));
  found(spec_of(InvariantKind::Causal, {}, {{"dim", "cols"}}), by_row(softmax));
}

TEST_F(Relate, AFunctionOfItsOwnResult) {
  rows_op(R"(["rows", "cols"])");
  expect_holds(spec_of(InvariantKind::Idempotent, {{"exact", 1}}),
               elementwise([](float x) { return std::fmax(x, 0.0f); }));
  found(spec_of(InvariantKind::Idempotent), elementwise([](float x) { return 0.5f * x; }));
}

/// y = a b, or a b^T when b is stored as [n, k]; `faulty` swaps the result for square outputs.
void multiply(const DerivedCase& derived, std::map<std::string, Floats>& t, bool turned,
              bool faulty) {
  const size_t m = dim(derived, "m"), n = dim(derived, "n"), k = dim(derived, "k");
  for (size_t i = 0; i < m; ++i) {
    for (size_t j = 0; j < n; ++j) {
      float sum = 0;
      for (size_t l = 0; l < k - (faulty && m < n ? 1 : 0); ++l) {
        sum += t["a"][i * k + l] * t["b"][turned ? j * k + l : l * n + j];
      }
      t["y"][i * n + j] = sum;
    }
  }
}

TEST_F(Relate, ATransposedProductIsTheProductOfTheTransposed) {
  for (const bool turned : {false, true}) {
    matmul_op(turned ? R"(["n", "k"])" : R"(["k", "n"])");
    expect_holds(spec_of(InvariantKind::TransposeDual),
                 [&](const DerivedCase& f, auto& t) { multiply(f, t, turned, false); });
    found(spec_of(InvariantKind::TransposeDual),
          [&](const DerivedCase& f, auto& t) { multiply(f, t, turned, true); });
  }
}

TEST_F(Relate, AProductAddsUpOverItsInnerDim) {
  matmul_op(R"(["k", "n"])");
  const auto right = [](const DerivedCase& f, auto& t) { multiply(f, t, false, false); };
  expect_holds(spec_of(InvariantKind::Additive), right);
  expect_holds(spec_of(InvariantKind::RowIndependent), right);
  expect_holds(spec_of(InvariantKind::Linear, {}, {{"input", "b"}}), right);
}

void largest(const float* x, size_t count, float* y) {
  std::fill(y, y + count, *std::max_element(x, x + count));
}

TEST_F(Relate, TheLargestOfARowReadsIt) {
  rows_op(R"(["rows", "cols"])");
  expect_holds(spec_of(InvariantKind::ReadsInputs), by_row(largest));
  rows_op(R"(["rows", "cols"])", ", range = [0.5, 1.5] ");
  expect_holds(spec_of(InvariantKind::ReadsInputs), by_row(largest));
}

TEST_F(Relate, OutputsThatIgnoreTheInputsAreFound) {
  rows_op(R"(["rows", "cols"])");
  expect_holds(spec_of(InvariantKind::ReadsInputs), by_row(softmax));
  const std::string message =
      found(spec_of(InvariantKind::ReadsInputs), elementwise([](float) { return 0.0f; }));
  EXPECT_NE(message.find("every input changed"), std::string::npos) << message;
}

TEST_F(Relate, RowPointersAndMasksThatSelectNothingSayNothing) {
  const auto pointers = [this](const char* range, const char* shape, bool sorted = true) {
    load(fmt::format(R"([[ops]]
name = "op"
kernel = "k"
inputs = [{{ name = "begin", shape = {}, dtype = "int32", range = {}, sorted = {} }},
          {{ name = "x", shape = ["n"] }}]
outputs = [{{ name = "y", shape = ["rows"] }}]
dims = {{ rows = [1, 64], n = [1, 64] }}
)",
                     shape, range, sorted),
         {{"rows", 20}, {"n", 32}});
  };
  const Kernel sums_rows = [](const DerivedCase& derived, std::map<std::string, Floats>& t) {
    std::vector<int32_t> begin(t["y"].size() + 1);
    std::memcpy(begin.data(), derived.inputs.at("begin").data.data(), begin.size() * 4);
    for (size_t row = 0; row < t["y"].size(); ++row) {
      t["y"][row] = 0;
      for (int32_t e = begin[row]; e < begin[row + 1]; ++e) {
        t["y"][row] += t["x"][static_cast<size_t>(e)];
      }
    }
  };
  pointers("[7, 7]", R"(["rows + 1"])");
  EXPECT_FALSE(check(spec_of(InvariantKind::ReadsInputs), sums_rows).checked);
  pointers("[0, 32]", R"(["rows + 1"])");
  expect_holds(spec_of(InvariantKind::ReadsInputs), sums_rows);
  const Kernel zeros = elementwise([](float) { return 0.0f; });
  found(spec_of(InvariantKind::ReadsInputs), zeros);
  // Rows of one element are sorted whatever they hold, so they are no row pointers.
  pointers("[0, 32]", R"(["rows + 1", 1])");
  found(spec_of(InvariantKind::ReadsInputs), zeros);
  // A mask that is set everywhere.
  pointers("[1, 1]", R"(["rows"])", false);
  EXPECT_FALSE(check(spec_of(InvariantKind::ReadsInputs), zeros).checked);
  pointers("[0, 1]", R"(["rows"])", false);
  found(spec_of(InvariantKind::ReadsInputs), zeros);
}

TEST_F(Relate, ValuesStayInTheRangeOfTheInput) {
  rows_op(R"(["rows", "cols"])", ", range = [0.5, 1.5] ");
  EXPECT_FALSE(check(spec_of(InvariantKind::Odd), elementwise([](float x) { return x; })).checked);
  EXPECT_FALSE(check(spec_of(InvariantKind::ShiftInvariant), by_row(softmax)).checked);
  check(spec_of(InvariantKind::ReadsInputs),
        [](const DerivedCase&, std::map<std::string, Floats>& t) {
          for (const float x : t["x"]) EXPECT_TRUE(x >= 0.5f && x <= 1.5f) << x;
        });
}

TEST_F(Relate, FollowUpsAreTheSameEveryTime) {
  rows_op(R"(["rows", "cols"])");
  std::vector<Floats> seen[2];
  for (std::vector<Floats>& runs : seen) {
    check(spec_of(InvariantKind::RowIndependent),
          [&](const DerivedCase&, std::map<std::string, Floats>& t) {
            Floats bits = t["x"];
            for (float& x : bits) x = std::isnan(x) ? 12345.0f : x;
            runs.push_back(bits);
            t["y"] = t["x"];
          });
  }
  ASSERT_EQ(seen[0].size(), 2u);
  EXPECT_NE(seen[0][0], seen[0][1]);
  EXPECT_EQ(seen[0], seen[1]);
}

TEST_F(Relate, PartsOneAfterTheOtherAreTheWhole) {
  rows_op(R"(["rows"])");
  expect_holds(spec_of(InvariantKind::Concat), by_row(row_sum));
  const Kernel one_row_less = [](const DerivedCase& derived, std::map<std::string, Floats>& t) {
    const size_t rows = dim(derived, "rows"), cols = dim(derived, "cols");
    for (size_t row = 0; row < rows; ++row) row_sum(&t["x"][row * cols], cols, &t["y"][row]);
    if (rows >= 6) t["y"][0] += 1;
  };
  const std::string message =
      found(spec_of(InvariantKind::Concat, {}, {{"dim", "rows"}}), one_row_less);
  EXPECT_NE(message.find("slices along 'rows' in two runs"), std::string::npos) << message;
  EXPECT_FALSE(
      check(spec_of(InvariantKind::Concat, {}, {{"dim", "cols"}}), by_row(row_sum)).checked);
  plan_ = *with_dims(*op_, plan_, {{"rows", 1}, {"cols", 8}});
  EXPECT_FALSE(check(spec_of(InvariantKind::Concat), by_row(row_sum)).checked);
}

TEST_F(Relate, EachOrderOfTheThreadsGivesTheSame) {
  rows_op(R"(["rows", "cols"])");
  expect_holds(spec_of(InvariantKind::Deterministic), elementwise([](float x) { return 2 * x; }));
  EXPECT_EQ(runs_, kThreadOrders);
  const Kernel ordered = [](const DerivedCase& derived, std::map<std::string, Floats>& t) {
    t["y"] = t["x"];
    if (derived.order == ThreadOrder::Priorities) t["y"][3] += 0.5F;
  };
  const std::string message = found(spec_of(InvariantKind::Deterministic), ordered);
  EXPECT_NE(message.find("threads in the order 'priorities'"), std::string::npos) << message;
  EXPECT_NE(message.find("element 3"), std::string::npos) << message;
  expect_holds(spec_of(InvariantKind::Deterministic, {{"tolerance", 0.6}}), ordered);
  found(spec_of(InvariantKind::Deterministic, {{"tolerance", 0.4}}), ordered);
  expect_holds(spec_of(InvariantKind::Deterministic, {}, {{"schedules", "reverse random"}}),
               ordered);
  expect_holds(spec_of(InvariantKind::Deterministic, {{"runs", 2}}), ordered);
}

TEST(Schedules, OfTheConfigurationAreThoseOfDevices) {
  ASSERT_EQ(schedule_names().size(), static_cast<size_t>(kThreadOrders));
  for (int i = 0; i < kThreadOrders; ++i) {
    EXPECT_EQ(schedule_names()[static_cast<size_t>(i)], name_of(static_cast<ThreadOrder>(i)));
  }
}

TEST_F(Relate, NothingIsAskedOfEmptyTensors) {
  rows_op(R"(["rows", "cols"])");
  plan_ = *with_dims(*op_, plan_, {{"rows", 0}, {"cols", 8}});
  EXPECT_FALSE(
      check(spec_of(InvariantKind::Odd), elementwise([](float x) { return x + 1; })).checked);
}

TEST(Infer, ASquareProductHasNoRowsOfItsOwn) {
  const Expression n = *Expression::parse("n"), k = *Expression::parse("k");
  OpConfig op;
  op.name = "matmul";
  op.inputs = {{.name = "a", .shape = {n, k}}, {.name = "b", .shape = {k, n}}};
  op.outputs = {{.name = "c", .shape = {n, n}}};
  const auto relations = relations_of(op, KernelConfig());
  ASSERT_EQ(relations.size(), 1u) << "row i of the output reads column j, of the same size";
  EXPECT_EQ(relations.front().kind, InvariantKind::ReadsInputs);
}

TEST(Infer, AKnownKindBringsItsRelationsUnlessAReferenceDecides) {
  OpConfig op;
  op.name = "softmax";
  op.outputs.push_back({.name = "y", .shape = {Expression::constant(2), Expression::constant(3)}});
  KernelConfig kernel;
  const auto names = [&] {
    std::vector<InvariantKind> all;
    for (const InvariantSpec& spec : relations_of(op, kernel)) all.push_back(spec.kind);
    return all;
  };
  EXPECT_EQ(names(), (std::vector{InvariantKind::RowIndependent, InvariantKind::ShiftInvariant,
                                  InvariantKind::ReadsInputs}));
  op.invariants_off = {InvariantKind::ShiftInvariant};
  EXPECT_EQ(names(), (std::vector{InvariantKind::RowIndependent, InvariantKind::ReadsInputs}));
  op.reference = "softmax.py";
  EXPECT_TRUE(names().empty());
  op.invariants = {spec_of(InvariantKind::Odd), spec_of(InvariantKind::Finite)};
  kernel.invariants = {spec_of(InvariantKind::Odd)};
  EXPECT_EQ(names(), std::vector{InvariantKind::Odd});
  EXPECT_EQ(invariants_of(op, kernel).size(), 1u);
}

}  // namespace
}  // namespace gpuemu
