// Compares single instructions bit for bit with results of an H200; chip_forms.def has the
// checksums.
#include <map>

#include "tests/conformance/chip_inputs.h"
#include "tests/conformance/fixture.h"

namespace gpuemu {
namespace {

struct Form {
  const char* kind;
  uint32_t in_bits, out_bits;
  uint64_t checksum;
  const char* body;
};
constexpr Form kForms[] = {
#define CHIP_FORM(kind, in_bits, out_bits, checksum, body) \
  {kind, in_bits, out_bits, checksum, body},
#include "tests/conformance/chip_forms.def"
#undef CHIP_FORM
};

/// Computes %d from %a, %b and %c for every element.
std::string text_of(const Form& form) {
  const std::string in = std::to_string(form.in_bits), out = std::to_string(form.out_bits);
  const std::string in_bytes = std::to_string(form.in_bits / 8);
  std::string text =
      ".version 8.6\n.target sm_90\n.address_size 64\n"
      ".visible .entry k(.param .u64 pd, .param .u64 pa, .param .u64 pb, .param .u64 pc, .param "
      ".u64 pn) {\n.reg .pred %p; .reg .b" +
      in + " %a, %b, %c; .reg .b" + out +
      " %d; .reg .b64 %P<5>, %i; .reg .b32 %t<3>;\n"
      "mov.u32 %t0, %tid.x; mov.u32 %t1, %ctaid.x; mov.u32 %t2, %ntid.x;\n"
      "mad.lo.u32 %t0, %t1, %t2, %t0; cvt.u64.u32 %i, %t0; ld.param.u64 %P4, [pn];\n"
      "setp.ge.u64 %p, %i, %P4; @%p ret;\n"
      "ld.param.u64 %P0, [pd]; mad.lo.u64 %P0, %i, " +
      std::to_string(form.out_bits / 8) + ", %P0;\n";
  for (const auto& [number, name] : {std::pair{"1", "a"}, {"2", "b"}, {"3", "c"}}) {
    text += std::string("ld.param.u64 %P") + number + ", [p" + name + "]; mad.lo.u64 %P" + number +
            ", %i, " + in_bytes + ", %P" + number + "; ld.global.b" + in + " %" + name + ", [%P" +
            number + "];\n";
  }
  return text + form.body + "\nst.global.b" + out + " [%P0], %d; ret; }\n";
}

template <typename T>
std::vector<T> narrowed(const std::vector<uint64_t>& from) {
  std::vector<T> out;
  for (const uint64_t bits : from) out.push_back(static_cast<T>(bits));
  return out;
}

class Chip : public Conformance {
 protected:
  struct Uploaded {
    uint64_t a = 0, b = 0, c = 0, count = 0;
  };
  uint64_t upload_bits(const std::vector<uint64_t>& values, uint32_t bits) {
    if (bits == 16) return upload<uint16_t>(narrowed<uint16_t>(values), "operand");
    if (bits == 32) return upload<uint32_t>(narrowed<uint32_t>(values), "operand");
    return upload<uint64_t>(values, "operand");
  }
  const Uploaded& operands_of(const Form& form) {
    const auto [at, added] = operands_.try_emplace(form.kind);
    if (added) {
      const chip::Operands values = chip::operands_of(form.kind);
      at->second = {upload_bits(values.a, form.in_bits), upload_bits(values.b, form.in_bits),
                    upload_bits(values.c, form.in_bits), values.a.size()};
    }
    return at->second;
  }
  std::vector<uint64_t> results(uint64_t address, const Form& form, size_t count) {
    std::vector<uint64_t> out;
    const auto take = [&](const auto& values) { out.assign(values.begin(), values.end()); };
    if (form.out_bits == 16) take(download<uint16_t>(address, count));
    if (form.out_bits == 32) take(download<uint32_t>(address, count));
    if (form.out_bits == 64) take(download<uint64_t>(address, count));
    return out;
  }
  void expect_recorded(const Form& form) {
    const Uploaded& in = operands_of(form);
    const uint64_t out = *device_->allocate(in.count * 8, "results");
    const ModuleId module = load(text_of(form));
    LaunchConfig config;
    config.entry = "k";
    config.grid = {static_cast<uint32_t>((in.count + 255) / 256), 1, 1};
    config.block = {256, 1, 1};
    config.sanitize = {DeviceCheck::Memory};
    for (const uint64_t argument : {out, in.a, in.b, in.c, in.count}) {
      config.args.push_back(bytes_of(argument));
    }
    const auto report = device_->launch(module, config);
    ASSERT_TRUE(report) << report.error().message;
    ASSERT_TRUE(report->findings.empty()) << form.body << ": " << report->findings[0].message;
    EXPECT_EQ(chip::checksum(results(out, form, in.count)), form.checksum) << form.body;
    EXPECT_TRUE(device_->free(out));
    EXPECT_TRUE(device_->unload_module(module));
  }

 private:
  std::map<std::string, Uploaded> operands_;
};

INSTANTIATE_TEST_SUITE_P(Emulator, Chip, testing::Values("emulator"));
INSTANTIATE_TEST_SUITE_P(Cuda, Chip, testing::Values("cuda"));

TEST_P(Chip, AnswersEveryInstructionAsTheH200Did) {
  if (!is_emulator() && device_->properties().sm != 90) GTEST_SKIP() << "recorded on sm_90";
  for (const Form& form : kForms) expect_recorded(form);
}

}  // namespace
}  // namespace gpuemu
