// Tests the rules for declarations, also on those of the built-in ops.
#include "ops/dispatch/registry.h"

#include <gtest/gtest.h>

#include "kernels/catalog.h"
#include "ops/dispatch/type_binding.h"

namespace gpuemu {
namespace {

OpKind op_called(const std::string& name) {
  return {.name = name,
          .summary = "y = x",
          .inputs = {{"x"}},
          .outputs = {{"y"}},
          .variants = {{.name = "plain",
                        .module = "none",
                        .entries = {"copy_{T}"},
                        .types = {{'T', {DType::Float32}}},
                        .plan = [](const OpCase&, Plan&) {}}}};
}
std::string problem(const OpKind& op) {
  const Status status = check_declaration(op);
  return status ? "" : status.error().message;
}

/// Every combination of dtypes that a variant computes.
std::vector<TypeBinding> bindings(const KernelVariant& variant) {
  std::vector<TypeBinding> all(1);
  for (const TypeRule& rule : variant.types) {
    std::vector<TypeBinding> longer;
    for (const TypeBinding& start : all) {
      for (const DType dtype : rule.dtypes) {
        longer.push_back(start);
        longer.back().bind(rule.letter, dtype);
      }
    }
    all = longer;
  }
  return all;
}

TEST(Registry, EveryEntryOfABuiltinOpIsInItsModule) {
  const OpRegistry registry = OpRegistry::with_builtins();
  for (const OpKind* op : registry.ops()) {
    for (const KernelVariant& variant : op->variants) {
      if (!variant.library.empty()) continue;  // Not our code.
      if (!variant.source.empty()) {           // A template for all dtypes.
        for (const std::string& pattern : variant.entries) {
          const size_t scope = pattern.find("::"), name = scope == pattern.npos ? 0 : scope + 2;
          const std::string entry = pattern.substr(name, pattern.find('<') - name);
          EXPECT_NE(variant.source.find("__global__ void " + entry + "("), std::string::npos)
              << op->name << " " << variant.name << ": " << entry;
        }
        continue;
      }
      const BuiltinKernel* module = find_builtin(variant.module);
      ASSERT_NE(module, nullptr) << op->name << ": " << variant.module;
      const std::string ptx = module->ptx();
      for (const TypeBinding& types : bindings(variant)) {
        for (const std::string& pattern : variant.entries) {
          const std::string entry = *entry_name(pattern, types);
          EXPECT_NE(ptx.find(".visible .entry " + entry + "("), std::string::npos)
              << op->name << " " << variant.name << ": " << entry;
        }
      }
    }
  }
}

TEST(Registry, FindsByNameAndListsWhatThereIs) {
  const OpRegistry registry = OpRegistry::with_builtins();
  EXPECT_EQ(registry.ops().size(), builtin_ops().size());
  EXPECT_EQ((*registry.find("gelu"))->name, "gelu");
  const auto missing = registry.find("gel");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ErrorCode::NotFound);
  EXPECT_NE(missing.error().message.find("there are: "), std::string::npos);
}

TEST(Registry, TakesOpsOfOthersButNoNameOrSchemaTwice) {
  OpRegistry registry = OpRegistry::with_builtins();
  const OpKind mine = op_called("aaa");
  ASSERT_TRUE(registry.add(mine));
  EXPECT_EQ(registry.ops().front(), &mine);
  EXPECT_FALSE(registry.add(mine));
  OpKind other = op_called("other");
  other.schema = {.number = 1, .fields = {{.name = "eps"}}};
  const Status taken = registry.add(other);
  ASSERT_FALSE(taken);
  EXPECT_EQ(taken.error().message, "op 'other': attribute schema 1 is another op's");
}

TEST(Registry, TriesVariantsByPriorityThenByOrder) {
  OpKind op = op_called("op");
  op.variants = {op.variants[0], op.variants[0], op.variants[0]};
  op.variants[0].name = "a";
  op.variants[1].name = "b";
  op.variants[1].priority = 5;
  op.variants[2].name = "c";
  std::string order;
  for (const KernelVariant* variant : by_priority(op)) order += variant->name;
  EXPECT_EQ(order, "bac");
}

TEST(Declaration, ThatContradictsItselfIsRefused) {
  EXPECT_EQ(problem(op_called("op")), "");
  OpKind op = op_called("op");
  op.outputs.clear();
  EXPECT_EQ(problem(op), "op 'op': it has no output");
  op = op_called("op");
  op.inputs.push_back({"x"});
  EXPECT_EQ(problem(op), "op 'op': two operands are called 'x'");
  op = op_called("op");
  op.inputs.push_back({"index", 'I'});
  EXPECT_EQ(problem(op), "op 'op': variant 'plain': no dtypes for 'I', the letter of index");
  op = op_called("op");
  op.variants[0].entries = {"copy_{U}"};
  EXPECT_NE(problem(op).find("expected {T} or {T:c}"), std::string::npos);
  op = op_called("op");
  op.variants.push_back(op.variants[0]);
  EXPECT_EQ(problem(op), "op 'op': two variants are called 'plain'");
  op = op_called("op");
  op.variants[0].library = "cublas";
  EXPECT_EQ(problem(op),
            "op 'op': variant 'plain': a library's variant has a product and no entries");
  op = op_called("op");
  op.variants.clear();
  EXPECT_EQ(problem(op), "op 'op': it has no variant");
}

TEST(Declaration, OfAttributesOnlyGrowsAtTheEndAndWithDefaults) {
  OpKind op = op_called("op");
  op.schema = {.number = 900,
               .fields = {{.name = "a", .fallback = 1, .since = 2}, {.name = "b", .since = 1}}};
  EXPECT_NE(problem(op).find("fields are added at the end"), std::string::npos);
  op.schema.fields = {{.name = "a"}, {.name = "b", .since = 2}};
  EXPECT_NE(problem(op).find("needs a default"), std::string::npos);
  op.schema.number = 0;
  EXPECT_NE(problem(op), "");
}

TEST(EntryName, PutsDtypesWhereTheLettersStand) {
  TypeBinding types;
  types.bind('T', DType::Float16);
  types.bind('U', DType::Int8);
  EXPECT_EQ(*entry_name("cast_{T}_{U}", types), "cast_float16_int8");
  EXPECT_EQ(*entry_name("cast<{T:c}, {U:c}>", types), "cast<__half, int8_t>");
  EXPECT_EQ(*entry_name("plain", types), "plain");
  for (const char* wrong : {"{", "{V}", "{T", "{T:d}", "{}", "a{TT}"}) {
    EXPECT_FALSE(entry_name(wrong, types)) << wrong;
  }
}

}  // namespace
}  // namespace gpuemu
