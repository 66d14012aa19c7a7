// C interface: ops and kernels of the caller.
#include <algorithm>
#include <mutex>

#include "ops/capi/context.h"
#include "ops/registered/text_rules.h"
#include "runtime/ptx/limits.h"
#include "runtime/ptx/parse.h"

using gpuemu::opcall::answer;
using gpuemu::opcall::is_usable;
using gpuemu::opcall::missing;
using gpuemu::opcall::refuse;

namespace gpuemu::opcall {
namespace {

constexpr uint32_t kCountMax = 1000;

std::string text_or_empty(const char* text) { return text == nullptr ? "" : text; }

Error wrong_count(const char* what, uint32_t count) {
  return error(ErrorCode::InvalidArgument, "declaration.{} is NULL or too long, its count is {}",
               what, count);
}

Result<std::vector<std::string>> texts_of(const char* what, const char* const* texts,
                                          uint32_t count) {
  std::vector<std::string> made;
  if (count > kCountMax || (count > 0 && texts == nullptr)) return wrong_count(what, count);
  for (uint32_t i = 0; i < count; ++i) {
    if (texts[i] == nullptr) {
      return error(ErrorCode::InvalidArgument, "declaration.{}[{}] is NULL", what, i);
    }
    made.emplace_back(texts[i]);
  }
  return made;
}

Result<std::vector<FieldDeclaration>> fields_from(const gpuemu_field* fields, uint32_t count) {
  std::vector<FieldDeclaration> made;
  if (count > kCountMax || (count > 0 && fields == nullptr)) return wrong_count("fields", count);
  for (uint32_t i = 0; i < count; ++i) {
    FieldDeclaration one{text_or_empty(fields[i].name), text_or_empty(fields[i].dtype)};
    if (fields[i].has_fallback != 0) one.fallback = fields[i].fallback;
    made.push_back(std::move(one));
  }
  return made;
}

Result<std::vector<LaunchDeclaration>> launches_from(const gpuemu_launch_declaration* launches,
                                                     uint32_t count) {
  std::vector<LaunchDeclaration> made;
  if (count > kCountMax || (count > 0 && launches == nullptr)) {
    return wrong_count("launches", count);
  }
  for (uint32_t i = 0; i < count; ++i) {
    const gpuemu_launch_declaration& from = launches[i];
    LaunchDeclaration one{.entry = text_or_empty(from.entry)};
    for (size_t axis = 0; axis < 3; ++axis) {
      one.grid[axis] = text_or_empty(from.grid[axis]);
      one.block[axis] = text_or_empty(from.block[axis]);
    }
    one.shared = text_or_empty(from.shared);
    one.args = GPUEMU_TRY(texts_of("launches[].args", from.args, from.arg_count));
    made.push_back(std::move(one));
  }
  return made;
}

std::vector<gpuemu_tensor> tensors_of(std::span<const DeviceTensor> views) {
  std::vector<gpuemu_tensor> tensors;
  for (const DeviceTensor& one : views) {
    tensors.push_back({reinterpret_cast<void*>(one.address), static_cast<int32_t>(one.dtype),
                       static_cast<int32_t>(one.rank()), one.shape.data(), one.strides.data()});
  }
  return tensors;
}

/// The rules of a registered kernel: from expressions, except where callbacks are set.
class CallbackRules final : public VariantRules {
 public:
  CallbackRules(const gpuemu_kernel_declaration& declared,
                std::shared_ptr<const VariantRules> texts, std::string source)
      : supports_(declared.supports_call),
        plan_(declared.plan),
        user_(declared.user),
        entries_(declared.launch_count),
        texts_(std::move(texts)),
        source_(std::move(source)) {}

  /// Returns the source, to which the variant refers.
  const std::string& source() const { return source_; }

  std::string unsupported(const OpCase& c) const override {
    if (std::string reason = texts_->unsupported(c); !reason.empty() || supports_ == nullptr) {
      return reason;
    }
    const Asked asked(c);
    const char* const reason = supports_(user_, &asked.told);
    return reason == nullptr ? "" : *reason == 0 ? "it does not say why" : reason;
  }
  Result<uint64_t> workspace_bytes(const OpCase& c) const override {
    return texts_->workspace_bytes(c);
  }
  Status check_entry(uint32_t entry, const EntryInfo& info) const override {
    return plan_ == nullptr ? texts_->check_entry(entry, info) : ok_status();
  }

  Status plan(const OpCase& c, Plan& plan) const override {
    if (plan_ == nullptr) return texts_->plan(c, plan);
    const Asked asked(c);
    std::array<gpuemu_launch, GPUEMU_LAUNCHES_MAX> launches{};
    const uint32_t count = plan_(user_, &asked.told, launches.data());
    if (count == 0 || count > launches.size()) {
      return error(ErrorCode::InvalidArgument, "plan gave {} launches, expected 1 to {}", count,
                   launches.size());
    }
    for (uint32_t i = 0; i < count; ++i) {
      const Status added = add(launches[i], plan);
      if (!added) return added.error().with_context(fmt::format("launch {} of plan", i));
    }
    return ok_status();
  }

 private:
  /// The case as C structs, and the lists to which they point.
  struct Asked {
    explicit Asked(const OpCase& c) : inputs(tensors_of(c.inputs)), outputs(tensors_of(c.outputs)) {
      told.struct_bytes = sizeof told;
      told.sm = c.device.sm;
      told.inputs = inputs.data();
      told.outputs = outputs.data();
      told.input_count = static_cast<uint32_t>(inputs.size());
      told.output_count = static_cast<uint32_t>(outputs.size());
      told.attributes = c.attributes.bytes().data();
      told.attribute_bytes = static_cast<uint32_t>(c.attributes.bytes().size());
      told.workspace = reinterpret_cast<void*>(c.workspace);
    }
    std::vector<gpuemu_tensor> inputs, outputs;
    gpuemu_case told{};
  };

  Status add(const gpuemu_launch& from, Plan& plan) const {
    const auto is_empty = [](const uint32_t(&sizes)[3]) {
      return std::ranges::find(sizes, 0U) != std::end(sizes);
    };
    if (from.entry >= entries_ || from.arg_count > GPUEMU_LAUNCH_ARGS_MAX || is_empty(from.grid) ||
        is_empty(from.block)) {
      return error(ErrorCode::InvalidArgument,
                   "entry {} of {}, grid {}x{}x{}, block {}x{}x{}, {} args: expected an entry that "
                   "there is, "
                   "sizes from 1, at most {} args",
                   from.entry, entries_, from.grid[0], from.grid[1], from.grid[2], from.block[0],
                   from.block[1], from.block[2], from.arg_count,
                   static_cast<int>(GPUEMU_LAUNCH_ARGS_MAX));
    }
    LaunchStep& step = plan.launch({from.grid[0], from.grid[1], from.grid[2]},
                                   {from.block[0], from.block[1], from.block[2]}, from.entry);
    step.shared_bytes = from.shared_bytes;
    for (uint32_t i = 0; i < from.arg_count; ++i) {
      if (from.arg_bytes[i] == 8) {
        step.arg(from.args[i]);
      } else if (from.arg_bytes[i] == 4) {
        step.arg(static_cast<uint32_t>(from.args[i]));
      } else {
        return error(ErrorCode::InvalidArgument, "argument {} has {} bytes, expected 4 or 8", i,
                     from.arg_bytes[i]);
      }
    }
    return ok_status();
  }

  const char* (*const supports_)(void*, const gpuemu_case*);
  uint32_t (*const plan_)(void*, const gpuemu_case*, gpuemu_launch*);
  void* const user_;
  const uint32_t entries_;
  const std::shared_ptr<const VariantRules> texts_;
  const std::string source_;
};

Result<KernelDeclaration> declaration_from(const gpuemu_kernel_declaration& from) {
  KernelDeclaration made{.name = text_or_empty(from.name), .source = text_or_empty(from.source)};
  made.launches = GPUEMU_TRY(launches_from(from.launches, from.launch_count));
  made.types = text_or_empty(from.types);
  made.priority = from.priority;
  made.supports = text_or_empty(from.supports);
  made.fields = GPUEMU_TRY(fields_from(from.fields, from.field_count));
  made.strided = from.strided != 0;
  made.wide = from.wide != 0;
  made.sm_min = from.sm_min;
  made.workspace = text_or_empty(from.workspace);
  return made;
}

Result<uint32_t> register_op(gpuemu_context& context, const gpuemu_op_declaration& from) {
  OpDeclaration made{.name = text_or_empty(from.name),
                     .summary = text_or_empty(from.summary),
                     .inputs = {},
                     .outputs = {}};
  made.inputs = GPUEMU_TRY(texts_of("inputs", from.inputs, from.input_count));
  made.outputs = GPUEMU_TRY(texts_of("outputs", from.outputs, from.output_count));
  made.fields = GPUEMU_TRY(fields_from(from.fields, from.field_count));
  made.in_place = from.in_place != 0;
  OpKind op = GPUEMU_TRY(op_of(made));
  return context.registry.add_op(std::move(op));
}

/// Checks a registered source for words that are no instruction, which are mistakes. The emulator
/// accepts modules with unsupported instructions, because a kernel may never execute them.
Status check_instructions(const OpKind& op, const KernelVariant& variant) {
  const auto module = ptx::parse(variant.source, variant.name + ".ptx");
  if (!module) return module.error();
  if (module->is_newer) return ok_status();
  for (const ptx::Function& function : module->functions) {
    for (const ptx::Instruction& one : function.body) {
      if (ptx::is_instruction(one.name())) continue;
      return error(ErrorCode::Compile,
                   "{}, {}: {}.ptx:{}:{}: PTX has no instruction '{}', up to .version {}.{}",
                   op.name, variant.name, variant.name, one.where.line, one.where.column,
                   one.name(), ptx::kNewestMajor, ptx::kNewestMinor);
    }
  }
  return ok_status();
}

/// Checks that PTX is valid and has the entries of some combination of dtypes.
Status check_ptx(gpuemu_context& context, const OpKind& op, const KernelVariant& variant) {
  if (!variant.source_is_ptx) return ok_status();
  GPUEMU_TRY(context.dispatcher->compile(op, variant));
  // On a GPU, the driver has refused invalid PTX.
  if (!context.device->properties().checks_bounds) return ok_status();
  return check_instructions(op, variant);
}

/// A kernel as a variant of its op, not yet registered.
struct Declared {
  KernelVariant variant;
  std::vector<AttributeField> fields;  ///< Attributes that the op does not have.
};

Result<Declared> declared_from(const OpKind& op, const gpuemu_kernel_declaration& from) {
  const KernelDeclaration declared = GPUEMU_TRY(declaration_from(from));
  std::string source;
  Declared made{.variant = GPUEMU_TRY(variant_of(op, declared, source)),
                .fields = GPUEMU_TRY(fields_of(declared.fields))};
  AttributeSchema schema = op.schema;
  schema.fields.insert(schema.fields.end(), made.fields.begin(), made.fields.end());
  auto texts = GPUEMU_TRY(rules_of(op, schema, declared));
  auto rules = std::make_shared<const CallbackRules>(from, std::move(texts), std::move(source));
  made.variant.source = rules->source();
  made.variant.rules = rules;
  return made;
}

Result<gpuemu_kernel> register_kernel(gpuemu_context& context,
                                      const gpuemu_kernel_declaration& from) {
  const OpKind* const op = context.registry.numbered(from.op);
  if (op == nullptr) {
    return error(ErrorCode::NotFound,
                 "declaration.op is {}, expected the number of gpuemu_op_find()", from.op);
  }
  auto declared = declared_from(*op, from);
  if (!declared) return declared.error().with_context(op->name + ", " + text_or_empty(from.name));
  const KernelVariant* const added = GPUEMU_TRY(
      context.registry.add_variant(*op, std::move(declared->variant), std::move(declared->fields)));
  if (const Status checked = check_ptx(context, *op, *added); !checked) {
    GPUEMU_TRY(context.registry.remove_variant(added));
    return checked.error();
  }
  const std::unique_lock lock(context.mutex);
  context.kernels[++context.last_kernel] = {op, added};
  return context.last_kernel;
}

Result<gpuemu_context::Kernel> kernel_of(gpuemu_context& context, gpuemu_kernel kernel) {
  const std::shared_lock lock(context.mutex);
  const auto found = context.kernels.find(kernel);
  if (found != context.kernels.end()) return found->second;
  return error(ErrorCode::InvalidArgument, "no kernel {}: it was removed, or it never was", kernel);
}

}  // namespace
}  // namespace gpuemu::opcall

uint64_t gpuemu_context::generation_of(gpuemu::StreamId stream) {
  if (capture_count == 0) return UINT64_MAX;
  const auto is_captured = streams->is_capturing(stream);
  if (!is_captured || !*is_captured) return UINT64_MAX;
  const std::shared_lock lock(mutex);
  const auto own = captures.find(stream);
  if (own != captures.end()) return own->second;
  // A stream that joined another stream's capture.
  uint64_t oldest = UINT64_MAX;
  for (const auto& [each, generation] : captures) oldest = std::min(oldest, generation);
  return oldest;
}

extern "C" {

gpuemu_code gpuemu_op_register(gpuemu_context* context, const gpuemu_op_declaration* declaration,
                               uint32_t* op) {
  if (!is_usable(context)) return refuse(context);
  if (declaration == nullptr) return missing("declaration");
  if (op == nullptr) return missing("op");
  const auto known =
      gpuemu::opcall::known_members(*declaration, sizeof *declaration, "declaration");
  if (!known) return answer(known.error());
  return answer(gpuemu::opcall::register_op(*context, *known), op);
}

gpuemu_code gpuemu_op_remove(gpuemu_context* context, uint32_t op) {
  if (!is_usable(context)) return refuse(context);
  const gpuemu::OpKind* const kind = context->registry.numbered(op);
  const gpuemu::Status removed = context->registry.remove_op(op);
  if (!removed) return answer(removed);
  const std::unique_lock lock(context->mutex);
  std::erase_if(context->kernels, [&](const auto& one) { return one.second.op == kind; });
  return GPUEMU_OK;
}

gpuemu_code gpuemu_kernel_register(gpuemu_context* context,
                                   const gpuemu_kernel_declaration* declaration,
                                   gpuemu_kernel* kernel) {
  if (!is_usable(context)) return refuse(context);
  if (declaration == nullptr) return missing("declaration");
  if (kernel == nullptr) return missing("kernel");
  *kernel = 0;
  const auto known =
      gpuemu::opcall::known_members(*declaration, sizeof *declaration, "declaration");
  if (!known) return answer(known.error());
  return answer(gpuemu::opcall::register_kernel(*context, *known), kernel);
}

gpuemu_code gpuemu_kernel_compile(gpuemu_context* context, gpuemu_kernel kernel) {
  if (!is_usable(context)) return refuse(context);
  const auto found = gpuemu::opcall::kernel_of(*context, kernel);
  if (!found) return answer(found.error());
  return answer(context->dispatcher->compile(*found->op, *found->variant));
}

gpuemu_code gpuemu_kernel_remove(gpuemu_context* context, gpuemu_kernel kernel) {
  if (!is_usable(context)) return refuse(context);
  const auto found = gpuemu::opcall::kernel_of(*context, kernel);
  if (!found) return answer(found.error());
  const gpuemu::Status removed = context->registry.remove_variant(found->variant);
  if (!removed) return answer(removed);
  const std::unique_lock lock(context->mutex);
  context->kernels.erase(kernel);
  return GPUEMU_OK;
}

}  // extern "C"
