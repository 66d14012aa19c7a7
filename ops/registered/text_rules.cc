// Computes launches from expressions.
#include "ops/registered/text_rules.h"

#include <algorithm>
#include <limits>

#include "runtime/device/launch_check.h"

namespace gpuemu {
namespace {

struct Argument {
  enum class Kind : uint8_t { Input, Output, Workspace, Int32, Int64, Float32, Float64 };
  Kind kind = Kind::Input;
  size_t operand = 0;
  std::optional<Expression> value = {};
  std::string text = {};

  size_t bytes() const { return kind == Kind::Int32 || kind == Kind::Float32 ? 4 : 8; }
};

struct Launch {
  std::string entry;
  std::array<std::optional<Expression>, 3> grid, block;
  std::optional<Expression> shared;
  std::vector<Argument> args;
};

constexpr std::pair<std::string_view, Argument::Kind> kValues[] = {
    {"i32:", Argument::Kind::Int32},
    {"i64:", Argument::Kind::Int64},
    {"f32:", Argument::Kind::Float32},
    {"f64:", Argument::Kind::Float64}};

class TextRules final : public VariantRules {
 public:
  std::vector<Launch> launches;
  std::optional<Expression> supports, workspace;

  std::string unsupported(const OpCase& c) const override {
    if (!supports) return {};
    const auto value = supports->whole(c);
    if (!value) return value.error().message;
    return *value != 0 ? "" : fmt::format("it needs {}", supports->text());
  }

  Result<uint64_t> workspace_bytes(const OpCase& c) const override {
    if (!workspace) return uint64_t{0};
    const int64_t bytes = GPUEMU_TRY(workspace->whole(c));
    if (bytes >= 0) return static_cast<uint64_t>(bytes);
    return error(ErrorCode::InvalidArgument, "workspace \"{}\" is {}, expected bytes from 0",
                 workspace->text(), bytes);
  }

  Status plan(const OpCase& c, Plan& plan) const override {
    for (size_t i = 0; i < launches.size(); ++i) {
      const Status added = add(launches[i], static_cast<uint32_t>(i), c, plan);
      if (!added) return added.error().with_context(fmt::format("launches[{}]", i));
    }
    return ok_status();
  }

  Status check_entry(uint32_t entry, const EntryInfo& info) const override {
    const std::vector<Argument>& args = launches[entry].args;
    if (args.size() != info.params.size()) {
      return error(ErrorCode::InvalidArgument, "launches[{}] has {} args, the entry {} takes {}",
                   entry, args.size(), info.name, info.params.size());
    }
    for (size_t i = 0; i < args.size(); ++i) {
      if (args[i].bytes() == info.params[i].bytes) continue;
      return error(ErrorCode::InvalidArgument,
                   "launches[{}].args[{}] \"{}\" has {} bytes, the parameter {} of {} has {}",
                   entry, i, args[i].text, args[i].bytes(), i, info.name, info.params[i].bytes);
    }
    return ok_status();
  }

 private:
  static Result<uint32_t> size_of(const std::optional<Expression>& size, const char* what,
                                  const OpCase& c, int64_t least) {
    if (!size) return static_cast<uint32_t>(least);
    const int64_t value = GPUEMU_TRY(size->whole(c));
    if (value >= least && value <= std::numeric_limits<uint32_t>::max()) {
      return static_cast<uint32_t>(value);
    }
    return error(ErrorCode::InvalidArgument, "{} \"{}\" is {}, expected {} to {}", what,
                 size->text(), value, least, std::numeric_limits<uint32_t>::max());
  }
  static Result<Dim3> dims_of(const std::array<std::optional<Expression>, 3>& sizes,
                              const char* what, const OpCase& c) {
    Dim3 dims;
    dims.x = GPUEMU_TRY(size_of(sizes[0], what, c, 1));
    dims.y = GPUEMU_TRY(size_of(sizes[1], what, c, 1));
    dims.z = GPUEMU_TRY(size_of(sizes[2], what, c, 1));
    return dims;
  }

  static Status add(const Launch& launch, uint32_t index, const OpCase& c, Plan& plan) {
    const Dim3 grid = GPUEMU_TRY(dims_of(launch.grid, "grid", c));
    const Dim3 block = GPUEMU_TRY(dims_of(launch.block, "block", c));
    LaunchStep& step = plan.launch(grid, block, index);
    step.shared_bytes = GPUEMU_TRY(size_of(launch.shared, "shared", c, 0));
    for (const Argument& one : launch.args) GPUEMU_TRY(add(one, c, step));
    return ok_status();
  }

  static Status add(const Argument& argument, const OpCase& c, LaunchStep& step) {
    switch (argument.kind) {
      case Argument::Kind::Input:
        step.arg(c.in(argument.operand));
        return ok_status();
      case Argument::Kind::Output:
        step.arg(c.out(argument.operand));
        return ok_status();
      case Argument::Kind::Workspace:
        step.arg(c.workspace);
        return ok_status();
      case Argument::Kind::Float32:
        step.arg(static_cast<float>(GPUEMU_TRY(argument.value->number(c))));
        return ok_status();
      case Argument::Kind::Float64:
        step.arg(GPUEMU_TRY(argument.value->number(c)));
        return ok_status();
      case Argument::Kind::Int32:
      case Argument::Kind::Int64:
        break;
    }
    const int64_t value = GPUEMU_TRY(argument.value->whole(c));
    if (argument.kind == Argument::Kind::Int64) {
      step.arg(value);
    } else if (value == static_cast<int32_t>(value)) {
      step.arg(static_cast<int32_t>(value));
    } else {
      return error(ErrorCode::InvalidArgument,
                   "the argument \"{}\" is {}, which 32 bits do not hold", argument.text, value);
    }
    return ok_status();
  }
};

class Reader {
 public:
  Reader(const OpKind& op, const AttributeSchema& schema, bool has_workspace)
      : op_(op), schema_(schema), has_workspace_(has_workspace) {}

  Result<std::optional<Expression>> size(const std::string& text, const std::string& what) const {
    if (text.find_first_not_of(' ') == text.npos) return std::optional<Expression>();
    auto parsed = Expression::parse(text, op_, schema_);
    if (!parsed) return parsed.error().with_context(what);
    return std::optional(*std::move(parsed));
  }

  Result<Launch> launch(const LaunchDeclaration& declared, const std::string& where) const {
    Launch made{.entry = declared.entry, .grid = {}, .block = {}, .shared = {}, .args = {}};
    for (size_t axis = 0; axis < 3; ++axis) {
      made.grid[axis] = GPUEMU_TRY(size(declared.grid[axis], where + ".grid"));
      made.block[axis] = GPUEMU_TRY(size(declared.block[axis], where + ".block"));
    }
    made.shared = GPUEMU_TRY(size(declared.shared, where + ".shared"));
    if (declared.args.size() > kPlanArgumentsMax) {
      return error(ErrorCode::InvalidArgument, "{} has {} args, expected at most {}", where,
                   declared.args.size(), kPlanArgumentsMax);
    }
    for (size_t i = 0; i < declared.args.size(); ++i) {
      made.args.push_back(
          GPUEMU_TRY(argument(declared.args[i], fmt::format("{}.args[{}]", where, i))));
    }
    return made;
  }

 private:
  Result<Argument> argument(const std::string& text, const std::string& where) const {
    Argument made{.text = text};
    for (const auto& [begin, kind] : kValues) {
      if (!text.starts_with(begin)) continue;
      made.kind = kind;
      made.value = GPUEMU_TRY(size(text.substr(begin.size()), where));
      if (made.value) return made;
      return error(ErrorCode::InvalidArgument, "{}: \"{}\" has no value", where, text);
    }
    // A tensor changed in place is in both lists; the output's address is used for writing.
    const auto output = std::ranges::find(op_.outputs, text, &OperandSpec::name);
    if (output != op_.outputs.end()) {
      made.kind = Argument::Kind::Output;
      made.operand = static_cast<size_t>(output - op_.outputs.begin());
      return made;
    }
    const auto input = std::ranges::find(op_.inputs, text, &OperandSpec::name);
    if (input != op_.inputs.end()) {
      made.operand = static_cast<size_t>(input - op_.inputs.begin());
      return made;
    }
    made.kind = Argument::Kind::Workspace;
    if (text == "workspace" && has_workspace_) return made;
    std::string known = has_workspace_ ? "workspace" : "";
    for (const auto* list : {&op_.inputs, &op_.outputs}) {
      for (const OperandSpec& one : *list) known += (known.empty() ? "" : ", ") + one.name;
    }
    return error(
        ErrorCode::InvalidArgument,
        "{}: \"{}\" is neither an operand of {} ({}) nor a value such as \"i32:{}.count\"{}", where,
        text, op_.name, known, op_.outputs[0].name,
        text == "workspace" ? "; the kernel declares no workspace" : "");
  }

  const OpKind& op_;
  const AttributeSchema& schema_;
  const bool has_workspace_;
};

}  // namespace

Result<std::shared_ptr<const VariantRules>> rules_of(const OpKind& op,
                                                     const AttributeSchema& schema,
                                                     const KernelDeclaration& declaration) {
  if (declaration.launches.empty() || declaration.launches.size() > kPlanStepsMax) {
    return error(ErrorCode::InvalidArgument, "{} launches, expected 1 to {}",
                 declaration.launches.size(), kPlanStepsMax);
  }
  auto rules = std::make_shared<TextRules>();
  const Reader sizes(op, schema, false);
  rules->workspace = GPUEMU_TRY(sizes.size(declaration.workspace, "workspace"));
  rules->supports = GPUEMU_TRY(sizes.size(declaration.supports, "supports"));
  const Reader reader(op, schema, rules->workspace.has_value());
  for (size_t i = 0; i < declaration.launches.size(); ++i) {
    rules->launches.push_back(
        GPUEMU_TRY(reader.launch(declaration.launches[i], fmt::format("launches[{}]", i))));
  }
  return std::shared_ptr<const VariantRules>(std::move(rules));
}

}  // namespace gpuemu
