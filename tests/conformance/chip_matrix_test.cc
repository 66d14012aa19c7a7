// Compares matrix products bit for bit with results of an H200; chip_matrices.def has the
// checksums.
#include "tests/conformance/chip_inputs.h"
#include "tests/conformance/fixture.h"

namespace gpuemu {
namespace {

struct Fragment {
  const char* type;
  uint32_t registers;
};
struct Mma {
  const char* instruction;
  Fragment a, b, c, d;
  uint64_t checksum;
};
struct Wgmma {
  uint32_t n, k;
  const char *d, *a, *b;
  uint64_t checksum;
};
constexpr Mma kMma[] = {
#define CHIP_MMA(instruction, a, na, b, nb, c, nc, d, nd, checksum) \
  {instruction, {a, na}, {b, nb}, {c, nc}, {d, nd}, checksum},
#define CHIP_WGMMA(n, k, d, a, b, checksum)
#include "tests/conformance/chip_matrices.def"
#undef CHIP_MMA
#undef CHIP_WGMMA
};
constexpr Wgmma kWgmma[] = {
#define CHIP_MMA(instruction, a, na, b, nb, c, nc, d, nd, checksum)
#define CHIP_WGMMA(n, k, d, a, b, checksum) {n, k, d, a, b, checksum},
#include "tests/conformance/chip_matrices.def"
#undef CHIP_MMA
#undef CHIP_WGMMA
};

std::vector<std::string> kinds_of(const std::string& type) {
  if (!chip::is_float(type)) return {"near", "raw", "big"};
  return {"near", "wide", "raw", "special", "sub", "big", "spread", "int"};
}
/// Special values in A and C, none in B.
std::string kind_of_b(const std::string& kind) { return kind == "special" ? "near" : kind; }

uint32_t register_bits(const Fragment& fragment) {
  return chip::bits_of(fragment.type) == 64 ? 64 : 32;
}
std::string list_of(const std::string& name, uint32_t count) {
  std::string out = "{";
  for (uint32_t i = 0; i < count; ++i) out += (i == 0 ? "%" : ",%") + name + std::to_string(i);
  return out + "}";
}
/// Loads or stores the registers of this thread: element %i of the array behind parameter
/// `p<name>`.
std::string move_registers(const std::string& name, const Fragment& fragment, bool store) {
  const uint32_t bits = register_bits(fragment), bytes = bits / 8;
  std::string out = "ld.param.u64 %P, [p" + name + "]; mad.lo.u64 %P, %i, " +
                    std::to_string(bytes * fragment.registers) + ", %P;\n";
  for (uint32_t i = 0; i < fragment.registers; ++i) {
    const std::string at = "[%P+" + std::to_string(i * bytes) + "]",
                      reg = "%" + name + std::to_string(i), type = ".b" + std::to_string(bits);
    out += store ? "st.global" + type + " " + at + ", " + reg + ";\n"
                 : "ld.global" + type + " " + reg + ", " + at + ";\n";
  }
  return out;
}
std::string declare(const std::string& name, const Fragment& fragment) {
  return ".reg .b" + std::to_string(register_bits(fragment)) + " %" + name + "<" +
         std::to_string(fragment.registers) + ">; ";
}
std::string text_of(const Mma& mma) {
  return ".version 8.7\n.target sm_90\n.address_size 64\n"
         ".visible .entry k(.param .u64 pd, .param .u64 pa, .param .u64 pb, .param .u64 pc) {\n" +
         declare("a", mma.a) + declare("b", mma.b) + declare("c", mma.c) + declare("d", mma.d) +
         ".reg .b64 %P, %i; .reg .b32 %t<2>;\n"
         "mov.u32 %t0, %tid.x; mov.u32 %t1, %ctaid.x; mad.lo.u32 %t0, %t1, 32, %t0;\n"
         "cvt.u64.u32 %i, %t0;\n" +
         move_registers("a", mma.a, false) + move_registers("b", mma.b, false) +
         move_registers("c", mma.c, false) + mma.instruction + " " + list_of("d", mma.d.registers) +
         ", " + list_of("a", mma.a.registers) + ", " + list_of("b", mma.b.registers) + ", " +
         list_of("c", mma.c.registers) + ";\n" + move_registers("d", mma.d, true) + "ret; }\n";
}

Fragment accumulators_of(const Wgmma& form) {
  return {form.d, form.n / 2 / (std::string(form.d) == "f16" ? 2 : 1)};
}
/// B lies in shared memory along K without swizzling: 8 rows of 16 bytes one behind the other.
std::string text_of(const Wgmma& form) {
  const Fragment a = {form.a, 4}, d = accumulators_of(form);
  const std::string words = std::to_string(form.n * 8), type = form.a;
  const bool integers = !chip::is_float(type);
  return ".version 8.7\n.target sm_90a\n.address_size 64\n"
         ".visible .entry k(.param .u64 pd, .param .u64 pa, .param .u64 pb, .param .u64 pc) {\n"
         ".shared .align 1024 .b8 tile[2048];\n" +
         declare("a", a) + declare("d", d) +
         ".reg .b64 %P, %i, %j; .reg .b32 %t<5>; .reg .pred %p;\n"
         "mov.u32 %t0, %tid.x; mov.u32 %t1, %ctaid.x; mov.u32 %t2, tile; mov.u32 %t3, %t0;\n"
         "ld.param.u64 %P, [pb]; mul.lo.u32 %t4, %t1, " +
         words +
         "; mul.wide.u32 %i, %t4, 4; add.u64 %P, %P, %i;\n"
         "L: mul.wide.u32 %i, %t3, 4; add.u64 %i, %i, %P; setp.lt.u32 %p, %t3, " +
         words +
         "; @!%p bra D; ld.global.b32 %t4, [%i];\n"
         "{ .reg .b32 %q; mad.lo.u32 %q, %t3, 4, %t2; st.shared.b32 [%q], %t4; }\n"
         "add.u32 %t3, %t3, 128; bra L;\n"
         "D: mad.lo.u32 %t0, %t1, 128, %t0; cvt.u64.u32 %i, %t0;\n" +
         move_registers("a", a, false) +
         [&] {
           std::string load = move_registers("d", d, false);
           return load.replace(load.find("[pd]"), 4, "[pc]");
         }() +
         "and.b32 %t2, %t2, 0x3ffff; shr.u32 %t2, %t2, 4; cvt.u64.u32 %j, %t2;\n"
         "or.b64 %j, %j, 0x1000080000;\n"  // 128 bytes between neighbours along K, 256 along N.
         "setp.ne.u32 %p, 1, 0; fence.proxy.async; bar.sync 0;\n"
         "wgmma.fence.sync.aligned;\nwgmma.mma_async.sync.aligned.m64n" +
         std::to_string(form.n) + "k" + std::to_string(form.k) + "." + form.d + "." + form.a + "." +
         form.b + " " + list_of("d", d.registers) + ", " + list_of("a", 4) + ", %j, %p" +
         (integers ? "" : ", 1, 1") + (type == "f16" || type == "bf16" ? ", 0" : "") +
         ";\nwgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;\n" +
         move_registers("d", d, true) + "ret; }\n";
}

class ChipMatrices : public Conformance {
 protected:
  void SetUp() override {
    auto device = open_device(
        {.backend = GetParam(), .sm = 90, .memory_limit_bytes = Conformance::kLimitBytes});
    if (!device && std::string(GetParam()) == "cuda") GTEST_SKIP() << device.error().message;
    ASSERT_TRUE(device) << device.error().message;
    device_ = *std::move(device);
    if (device_->properties().sm != 90) GTEST_SKIP() << "recorded on sm_90";
  }
  uint64_t upload_bits(const std::vector<uint64_t>& values, uint32_t bits) {
    if (bits == 64) return upload<uint64_t>(values, "operand");
    return upload<uint32_t>({values.begin(), values.end()}, "operand");
  }
  /// Appends the results to `to` and frees what they came from.
  void run(ModuleId module, const std::vector<uint64_t>& operands, uint32_t threads,
           const Fragment& d, std::vector<uint64_t>& to) {
    const uint32_t grid = uint32_t{chip::kWarps} * 32 / threads, bits = register_bits(d);
    const size_t count = chip::kWarps * 32 * d.registers;
    const uint64_t out = *device_->allocate(count * bits / 8, "results");
    LaunchConfig config;
    config.entry = "k";
    config.grid = {grid, 1, 1};
    config.block = {threads, 1, 1};
    config.args.push_back(bytes_of(out));
    for (const uint64_t operand : operands) config.args.push_back(bytes_of(operand));
    const auto report = device_->launch(module, config);
    ASSERT_TRUE(report) << report.error().message;
    ASSERT_TRUE(report->findings.empty()) << report->findings[0].message;
    const auto append = [&](const auto& values) {
      to.insert(to.end(), values.begin(), values.end());
    };
    if (bits == 64) {
      append(download<uint64_t>(out, count));
    } else {
      append(download<uint32_t>(out, count));
    }
    EXPECT_TRUE(device_->free(out));
    for (const uint64_t operand : operands) EXPECT_TRUE(device_->free(operand));
  }
};

INSTANTIATE_TEST_SUITE_P(Emulator, ChipMatrices, testing::Values("emulator"));
INSTANTIATE_TEST_SUITE_P(Cuda, ChipMatrices, testing::Values("cuda"));

TEST_P(ChipMatrices, AreMultipliedByMmaAsTheH200Did) {
  for (const Mma& mma : kMma) {
    const ModuleId module = load(text_of(mma));
    std::vector<uint64_t> results;
    uint64_t stream = 1;
    for (const std::string& kind : kinds_of(mma.a.type)) {
      const auto operand = [&](const Fragment& fragment, const std::string& of, uint64_t with) {
        return upload_bits(chip::fragments_of(fragment.type, fragment.registers, of, with),
                           register_bits(fragment));
      };
      run(module,
          {operand(mma.a, kind, stream), operand(mma.b, kind_of_b(kind), stream + 1),
           operand(mma.c, kind, stream + 2)},
          32, mma.d, results);
      stream += 8;
    }
    EXPECT_EQ(chip::checksum(results), mma.checksum) << mma.instruction;
    EXPECT_TRUE(device_->unload_module(module));
  }
}

TEST_P(ChipMatrices, AreMultipliedByWgmmaAsTheH200Did) {
  for (const Wgmma& form : kWgmma) {
    const ModuleId module = load(text_of(form));
    const uint32_t bits = chip::bits_of(form.b), per_row = 128 / bits, groups = chip::kWarps / 4;
    std::vector<uint64_t> results;
    uint64_t stream = 1;
    for (const std::string& kind : kinds_of(form.a)) {
      const uint32_t matrix = form.n * form.k;
      const auto b = chip::elements_of(form.b, groups * matrix, kind_of_b(kind), stream + 1);
      std::vector<uint64_t> words(size_t{groups} * matrix * bits / 32);
      for (uint32_t i = 0; i < groups * matrix; ++i) {
        const uint32_t n = i % matrix / form.k, k = i % form.k;
        const uint32_t at = i / matrix * matrix + n / 8 * 8 * form.k + k / per_row * 8 * per_row +
                            n % 8 * per_row + k % per_row;
        words[size_t{at} * bits / 32] |= b[i] << (at * bits % 32);
      }
      const Fragment d = accumulators_of(form);
      run(module,
          {upload_bits(chip::fragments_of(form.a, 4, kind, stream), 32), upload_bits(words, 32),
           upload_bits(chip::fragments_of(form.d, d.registers, kind, stream + 2), 32)},
          128, d, results);
      stream += 8;
    }
    EXPECT_EQ(chip::checksum(results), form.checksum)
        << "wgmma m64n" << form.n << " " << form.d << " " << form.a << " " << form.b;
    EXPECT_TRUE(device_->unload_module(module));
  }
}

}  // namespace
}  // namespace gpuemu
