// Tests random kernels: what is proved must hold when the emulator executes them.
#include <cstring>
#include <random>

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "judge/inbounds/prove.h"
#include "runtime/emulator/emulator.h"
#include "runtime/ptx/parse.h"

namespace gpuemu::inbounds {
namespace {

constexpr int64_t kSizeMost = 700;
constexpr uint32_t kThreads = 64;

/// Writes a kernel of one access to x, of n elements: a random index, perhaps in a loop, behind
/// guards that are right or off by a little.
class Writer {
 public:
  /// Every fifth has a loop as compilers unroll it.
  explicit Writer(uint64_t seed) : random_(seed), unrolled_(seed % 5 == 4) {}

  std::string write() {
    for (const char* name : {"%r1", "%r2", "%r3"}) live_.emplace_back(name);
    line("ld.param.u64 %rd1, [x];");
    line("ld.param.u32 %r1, [n];");
    line("mov.u32 %r2, %tid.x;");
    line("mov.u32 %r3, %ctaid.x;");
    if (below(3) > 0) {
      line("mov.u32 %r90, %ntid.x;");
      line("mad.lo.s32 %r4, %r3, %r90, %r2;");
      live_.emplace_back("%r4");
    }
    if (unrolled_) {
      unrolled();
    } else {
      anything();
    }
    return ".version 8.0\n.target sm_80\n.address_size 64\n"
           ".visible .entry k(.param .u64 x, .param .u32 n) {\n"
           ".reg .pred %p<60>; .reg .b32 %r<100>; .reg .b64 %rd<100>; .reg .f32 %f<9>;\n" +
           text_ + "DONE: ret;\n}\n";
  }

 private:
  void anything() {
    for (uint64_t i = below(4); i > 0; --i) operation();
    if (below(2) == 0) guard(any());
    if (below(2) == 0) loop();
    for (uint64_t i = below(3); i > 0; --i) operation();
    if (!looped_ || below(2) == 0) access();
  }

  /// Returns the right value in most cases, otherwise one of the others.
  std::string mostly(const std::string& right, std::initializer_list<const char*> others) {
    return below(8) > 0 ? right : of(others);
  }

  void load(const std::string& index, int64_t elements) {
    const std::string wide = fresh("rd"), at = fresh("rd");
    line(fmt::format("mul.wide.s32 {}, {}, 4; add.s64 {}, %rd1, {};", wide, index, at, wide));
    line(fmt::format("ld.global.f32 %f1, [{}+{}];", at, 4 * elements));
  }

  // for (i = first; i < n; i += step), one by one until a multiple of four iterations is left.
  void unrolled() {
    const int64_t shift = below(2) == 0 ? 0 : 6, step = int64_t{1} << shift;
    const std::string first = any(), p = fresh("p");
    line(fmt::format("setp.{}.s32 {}, {}, %r1; @{} bra DONE;", mostly("ge", {"gt", "eq"}), p, first,
                     p));
    line(fmt::format("not.b32 %r80, {}; add.s32 %r81, %r80, %r1; shr.u32 %r82, %r81, {};", first,
                     mostly(fmt::format("{}", shift), {"1", "5"})));
    line(fmt::format("add.s32 %r83, %r82, {}; and.b32 %r84, %r83, {};", mostly("1", {"0", "2"}),
                     mostly("3", {"1", "7"})));
    line(fmt::format("mov.u32 %r85, {}; mov.u32 %r91, 0;", first));
    line(fmt::format("setp.eq.s32 %p50, %r84, {}; @%p50 bra REST;", mostly("0", {"1"})));
    line("ONE:");
    load("%r85", 0);
    line(fmt::format("add.s32 %r85, %r85, {}; add.s32 %r84, %r84, -1;", step));
    line("add.s32 %r91, %r91, 1; setp.gt.u32 %p59, %r91, 40; @%p59 bra DONE;");
    line("setp.ne.s32 %p51, %r84, 0; @%p51 bra ONE;");
    line(fmt::format("REST: setp.lt.u32 %p52, %r81, {}; @%p52 bra DONE;",
                     mostly(fmt::format("{}", 3 * step), {"1", "2", "128"})));
    line("FOUR:");
    for (int64_t k = 0; k < 4; ++k) load("%r85", k * step + (below(24) == 0 ? 1 : 0));
    line(fmt::format("add.s32 %r85, %r85, {};",
                     mostly(fmt::format("{}", 4 * step), {"1", "3", "64"})));
    line(fmt::format("setp.{}.s32 %p53, %r85, %r1; @%p53 bra FOUR;", mostly("lt", {"le"})));
  }

  uint64_t below(uint64_t count) { return random_() % count; }
  void line(const std::string& text) { text_ += text + "\n"; }
  const std::string& any() {
    return live_[live_.size() - 1 - below(std::min<size_t>(live_.size(), 4))];
  }
  std::string fresh(const char* kind) { return fmt::format("%{}{}", kind, 10 + next_++); }

  std::string number() {
    const int64_t numbers[] = {0,  1,  2,  3,  4,  5,   7,     8,     31,     32,
                               63, 64, -1, -2, -4, -32, 65535, 65536, 1 << 28};
    return fmt::format("{}", numbers[below(std::size(numbers))]);
  }
  std::string operand() { return below(2) == 0 ? any() : number(); }
  const char* of(std::initializer_list<const char*> names) {
    return names.begin()[below(names.size())];
  }

  void operation() {
    const std::string to = fresh("r");
    const std::string a = any();
    switch (below(9)) {
      case 0:
      case 1:
        line(fmt::format("{}.s32 {}, {}, {};", of({"add", "sub"}), to, a, operand()));
        break;
      case 2:
        line(fmt::format("mul.lo.s32 {}, {}, {};", to, a, operand()));
        break;
      case 3:
        line(fmt::format("{}.{} {}, {}, {};", of({"min", "max"}), of({"s32", "u32"}), to, a,
                         operand()));
        break;
      case 4:
        line(fmt::format("{}.b32 {}, {}, {};", of({"and", "or", "xor"}), to, a, operand()));
        break;
      case 5:
        line(fmt::format("{} {}, {}, {};", of({"shl.b32", "shr.u32", "shr.s32"}), to, a,
                         1 + below(6)));
        break;
      case 6:
        line(fmt::format("{}.{} {}, {}, {};", of({"div", "rem"}), of({"s32", "u32"}), to, a,
                         below(2) == 0 ? "%r1" : of({"2", "3", "4", "7", "32"})));
        break;
      case 7: {
        const std::string p = compare(a, operand());
        if (below(2) == 0) {
          line(fmt::format("selp.b32 {}, {}, {}, {};", to, any(), operand(), p));
        } else {
          line(fmt::format("mov.u32 {}, {};", to, any()));
          line(fmt::format("@{}{} add.s32 {}, {}, {};", of({"", "!"}), p, to, to, operand()));
        }
        break;
      }
      default:
        line(fmt::format("bfe.u32 {}, {}, {}, {};", to, a, below(5), 1 + below(10)));
    }
    live_.push_back(to);
  }

  std::string compare(const std::string& a, const std::string& b) {
    const std::string p = fresh("p");
    line(fmt::format("setp.{}.{} {}, {}, {};", of({"lt", "le", "gt", "ge", "eq", "ne", "lt", "ge"}),
                     of({"s32", "u32"}), p, a, b));
    return p;
  }

  void guard(const std::string& what) {
    std::string p = compare(what, below(3) > 0 ? "%r1" : operand());
    if (below(4) == 0) {
      const std::string both = fresh("p");
      line(
          fmt::format("{}.pred {}, {}, {};", of({"and", "or"}), both, p, compare(what, operand())));
      p = both;
    }
    line(fmt::format("@{}{} bra DONE;", of({"", "!"}), p));
  }

  // At most a few iterations: a separate counter ends the loop.
  void loop() {
    looped_ = true;
    const std::string i = fresh("r");
    const std::string label = fmt::format("LOOP{}", next_);
    line(fmt::format("mov.u32 {}, {};", i, operand()));
    line("mov.u32 %r91, 0;");
    if (below(2) == 0) guard(i);
    line(label + ":");
    live_.push_back(i);
    if (below(2) == 0) guard(i);
    for (uint64_t k = below(2); k > 0; --k) operation();
    if (below(4) > 0) access();
    const char* step = of({"1", "2", "4", "-1", "-4", "64", "%r1", "%r2"});
    if (below(4) == 0) {
      line(fmt::format("{} {}, {}, 1;", of({"shl.b32", "shr.u32", "shr.s32"}), i, i));
    } else {
      line(fmt::format("add.s32 {}, {}, {};", i, i, step));
    }
    line("add.s32 %r91, %r91, 1; setp.gt.u32 %p59, %r91, 40; @%p59 bra DONE;");
    const std::string p = compare(i, operand());
    line(fmt::format("@{}{} bra {};", of({"", "!"}), p, label));
  }

  void access() {
    const std::string wide = fresh("rd");
    const std::string at = fresh("rd");
    std::string index = any();
    if (below(3) == 0) {
      guard(index);
    }
    const char* type = of({"s32", "u32"});
    if (below(3) == 0) {
      line(fmt::format("cvt.{}.{} {}, {};", type[0] == 's' ? "s64" : "u64", type, wide, index));
      line(fmt::format("shl.b64 {}, {}, 2;", wide, wide));
    } else {
      line(fmt::format("mul.wide.{} {}, {}, 4;", type, wide, index));
    }
    line(fmt::format("add.s64 {}, %rd1, {};", at, wide));
    line(fmt::format("ld.global.f32 %f1, [{}{}];", at, of({"", "", "", "", "+4", "+-4"})));
  }

  std::mt19937_64 random_;
  std::string text_;
  std::vector<std::string> live_;
  uint64_t next_ = 0;
  bool looped_ = false;
  bool unrolled_;
};

template <typename T>
std::vector<std::byte> bytes_of(T value) {
  std::vector<std::byte> bytes(sizeof value);
  std::memcpy(bytes.data(), &value, sizeof value);
  return bytes;
}

/// Lines of the PTX where the emulator sees an access outside of x.
std::set<uint32_t> lines_outside(Device& device, ModuleId module, int64_t n) {
  LaunchConfig config;
  config.entry = "k";
  config.grid = {static_cast<uint32_t>((n + kThreads - 1) / kThreads), 1, 1};
  config.block = {kThreads, 1, 1};
  config.sanitize = {DeviceCheck::Memory};
  const auto x = device.allocate(static_cast<uint64_t>(n) * 4, "x");
  EXPECT_TRUE(x);
  config.args = {bytes_of(*x), bytes_of(static_cast<int32_t>(n))};
  const auto report = device.launch(module, config);
  EXPECT_TRUE(report) << report.error().message;
  std::set<uint32_t> lines;
  if (report) {
    for (const DeviceFinding& finding : report->findings) {
      if (name_of(finding.kind) == "out_of_bounds") lines.insert(finding.ptx_line);
    }
  }
  EXPECT_TRUE(device.free(*x));
  return lines;
}

std::set<uint32_t> lines_proved(const ptx::Module& module) {
  LaunchDomain space;
  const Polynomial n =
      Polynomial::symbol(space.symbols.add({.name = "n", .range = {1, kSizeMost}}));
  space.grid = {space.symbols.floor_of(n + Polynomial(kThreads - 1), kThreads), Polynomial(1),
                Polynomial(1)};
  space.block = {Polynomial(kThreads), Polynomial(1), Polynomial(1)};
  space.add_threads();
  space.params = {space.add_region({"x", ptx::Space::Global, Polynomial(4) * n}), n};
  const ptx::Function& entry = *module.find("k");
  std::set<uint32_t> lines;
  for (const Access& access : prove_accesses(module, entry, std::move(space))) {
    if (access.proved) lines.insert(entry.body[access.instruction].where.line);
  }
  return lines;
}

TEST(RandomKernels, NeverLeaveATensorWhereThatIsProved) {
  const auto device = make_emulator(
      {.sm = 80, .threads = 1, .memory_limit_bytes = uint64_t{1} << 30, .name = "prove"});
  const char* wanted = std::getenv("GPUEMU_PROVE_KERNELS");
  const uint64_t kernels = wanted == nullptr ? 600 : std::strtoull(wanted, nullptr, 10);
  size_t proved = 0;
  size_t outside = 0;
  for (uint64_t seed = 0; seed < kernels; ++seed) {
    const std::string text = Writer(seed).write();
    const auto module = ptx::parse(text, "random.ptx");
    ASSERT_TRUE(module) << module.error().message << text;
    const std::set<uint32_t> lines = lines_proved(*module);
    proved += lines.size();
    const auto loaded = device->load_module(text, "random.ptx");
    ASSERT_TRUE(loaded) << loaded.error().message << text;
    for (const int64_t n : {1, 2, 3, 63, 64, 65, 127, 500, 700}) {
      const std::set<uint32_t> bad = lines_outside(*device, *loaded, n);
      outside += bad.size();
      for (const uint32_t line : bad) {
        ASSERT_FALSE(lines.contains(line))
            << "seed " << seed << ", n " << n << ", line " << line << "\n"
            << text;
      }
    }
    EXPECT_TRUE(device->unload_module(*loaded));
  }
  // Both sides must occur often: proved kernels and faulty ones.
  EXPECT_GT(proved, kernels / 20);
  EXPECT_GT(outside, kernels / 2);
  RecordProperty("proved", static_cast<int>(proved));
  fmt::print("{} kernels, {} accesses proved, {} launches outside\n", kernels, proved, outside);
}

}  // namespace
}  // namespace gpuemu::inbounds
