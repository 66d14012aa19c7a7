#include "runtime/emulator/decode/instrument.h"

#include <algorithm>

#include "runtime/device/profile.h"
#include "runtime/emulator/decode/decode.h"
#include "runtime/emulator/steps/counting.h"
#include "runtime/emulator/steps/steps.h"
#include "runtime/ptx/isa/opcode.h"

namespace gpuemu::emulator {
namespace {

std::string_view group_of(ptx::Opcode opcode) {
  using Class = ptx::OpcodeClass;
  switch (ptx::info(opcode).what) {
    case Class::Arithmetic:
      return "arithmetic";
    case Class::Compare:
      return "compare";
    case Class::Logic:
      return "logic";
    case Class::Convert:
      return "convert";
    case Class::Memory:
      return "memory";
    case Class::Atomic:
      return "atomic";
    case Class::Control:
      return "control";
    case Class::Warp:
      return "warp";
    case Class::Barrier:
      return "barrier";
    case Class::Matrix:
      return "matrix";
    case Class::Async:
      return "async";
    case Class::Texture:
      return "texture";
    case Class::Misc:
    case Class::Video:
    case Class::Unknown:
      return "other";
  }
  return "other";
}

/// FNV-1a: the same for the same text everywhere.
uint64_t id_of(const std::string& text) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash;
}

class Instrumenter {
 public:
  Instrumenter(Program& program, Code& code, const ptx::ControlFlow& flow)
      : program_(program), places_(*program.places), code_(code), flow_(flow) {}

  void run() {
    first_instruction_ = static_cast<uint32_t>(places_.instructions.size());
    first_block_ = static_cast<uint32_t>(places_.blocks.size());
    places_.functions.push_back(code_.name);
    add_places();
    wrap();
    for (uint32_t i = 0; i < flow_.blocks.size(); ++i) count_block(i);
    unwrap_followers();
  }

 private:
  void add_places() {
    const auto function = static_cast<uint32_t>(places_.functions.size() - 1);
    for (const ptx::Instruction& instruction : code_.source->body) {
      InstructionPlace& place = places_.instructions.emplace_back();
      place.function = function;
      place.ptx_line = instruction.where.line;
      place.line = instruction.source.line;
      const auto file = program_.module.files.find(instruction.source.file);
      if (file != program_.module.files.end()) place.file = file->second;
      place.text = instruction.spelling();
      place.group = group_of(instruction.opcode);
    }
    for (uint32_t i = 0; i < flow_.blocks.size(); ++i)
      places_.blocks.push_back({id_of(fmt::format("{}#{}", code_.name, i)), function,
                                first_instruction_ + flow_.blocks[i].begin,
                                first_instruction_ + flow_.blocks[i].end - 1});
  }

  void wrap() {
    size_t use = 0;
    code_.probes.resize(code_.ins.size());
    for (size_t i = 0; i < code_.ins.size(); ++i) {
      Ins& ins = code_.ins[i];
      Probe& probe = code_.probes[i];
      straight_.push_back(runs_straight(ins));
      probe.run = ins.run;
      probe.guard = ins.guard;
      probe.guard_xor = ins.guard_xor;
      probe.counted = ins.counted;
      probe.instruction = code_.source->body.empty() ? kNone : first_instruction_ + ins.origin;
      probe.uses_begin = static_cast<uint32_t>(use);
      while (use < code_.memory_uses.size() && code_.memory_uses[use].ins == i) ++use;
      probe.uses_end = static_cast<uint32_t>(use);
      ins.run = steps::count;
      ins.guard = kTrueOffset;
      ins.guard_xor = 0;
      ins.counted = 0;
    }
  }

  /// A step that leaves lanes and flow alone and counts nothing but that it ran.
  bool is_plain(size_t step) const {
    const Probe& probe = code_.probes[step];
    return straight_[step] && probe.uses_begin == probe.uses_end && probe.taken == kNone &&
           probe.next == kNone && probe.targets == kNone;
  }

  /// Of plain steps one behind the other all run as often as the first, which counts for them: the
  /// others run as they do in code that counts nothing. spread_counts() gives them their counts.
  void unwrap_followers() {
    bool led = false;
    for (size_t i = 0; i < code_.ins.size(); ++i) {
      const Probe& probe = code_.probes[i];
      const bool plain = is_plain(i);
      if (plain && led && probe.block == kNone) {
        Ins& ins = code_.ins[i];
        ins.run = probe.run;
        ins.counted = probe.counted;
        continue;
      }
      led = plain && probe.counted != 0;
    }
  }

  /// One for several ways between the same blocks.
  uint32_t edge(uint32_t from, uint32_t to) {
    for (size_t i = places_.edges.size(); i-- > 0 && places_.edges[i].from == first_block_ + from;)
      if (places_.edges[i].to == first_block_ + to) return static_cast<uint32_t>(i);
    const uint64_t id = id_of(fmt::format("{}#{}-{}", code_.name, from, to));
    places_.edges.push_back({id, first_block_ + from, first_block_ + to});
    return static_cast<uint32_t>(places_.edges.size() - 1);
  }

  /// The block that begins at step `place`; kNone behind the last.
  uint32_t block_at(uint32_t place) const {
    // The step that ends the function belongs to the last instruction and begins nothing.
    if (place + size_t{1} >= code_.ins.size()) return kNone;
    const uint32_t origin = code_.ins[place].origin;
    const uint32_t block = flow_.block_of[origin];
    return flow_.blocks[block].begin == origin ? block : kNone;
  }

  void count_block(uint32_t index) {
    const ptx::BasicBlock& block = flow_.blocks[index];
    const auto begin = std::ranges::lower_bound(code_.ins, block.begin, {}, &Ins::origin);
    auto end = std::ranges::lower_bound(code_.ins, block.end, {}, &Ins::origin);
    // The step that ends the function comes after those of its last instruction.
    if (end == code_.ins.end() && end - begin > 1) --end;
    if (begin == end) return;
    code_.probes[static_cast<size_t>(begin - code_.ins.begin())].block = first_block_ + index;
    const auto last = static_cast<size_t>(end - code_.ins.begin()) - 1;
    Probe& probe = code_.probes[last];
    const bool direct = probe.run == steps::branch;
    const uint32_t target = direct ? block_at(code_.ins[last].aux) : kNone;
    if (target != kNone) probe.taken = edge(index, target);
    if (probe.run == steps::branch_indexed) {
      const auto first = static_cast<uint32_t>(code_.lists.size());
      for (uint32_t i = 0; i < code_.ins[last].aux; ++i) {
        const uint32_t to = block_at(code_.lists[code_.ins[last].list + i]);
        code_.lists.push_back(to == kNone ? kNone : edge(index, to));
      }
      probe.targets = first;
    }
    const bool falls = std::ranges::binary_search(block.successors, index + 1);
    const bool jumps = (direct || probe.run == steps::branch_indexed) && probe.guard == kTrueOffset;
    if (falls && !jumps) probe.next = edge(index, index + 1);
  }

  Program& program_;
  ProfilePlaces& places_;
  Code& code_;
  const ptx::ControlFlow& flow_;
  uint32_t first_instruction_ = 0, first_block_ = 0;
  std::vector<bool>
      straight_;  ///< Per step: whether it has no guard and leaves lanes and flow alone.
};

}  // namespace

void instrument(Program& program, Code& code, const ptx::ControlFlow& flow) {
  Instrumenter(program, code, flow).run();
}

void spread_counts(const Program& program, ProfileCounts& counts) {
  for (const Code& code : program.functions) {
    uint32_t leader = kNone;
    for (size_t i = 0; i < code.probes.size(); ++i) {
      const Probe& probe = code.probes[i];
      if (code.ins[i].run == steps::count) {
        leader = probe.instruction;
      } else if (probe.counted != 0) {
        InstructionCount& of = counts.instructions[probe.instruction];
        of.warps = counts.instructions[leader].warps;
        of.threads = counts.instructions[leader].threads;
      }
    }
  }
}

namespace {
/// Another form of the same module, with its variables, yet to be decoded.
std::unique_ptr<Program> form_of(const Program& program) {
  auto made = std::make_unique<Program>();
  made->module = program.module;
  made->addresses = program.addresses;
  made->shared = program.shared;
  made->shared_bytes = program.shared_bytes;
  return made;
}
}  // namespace

const Program& plain_program(Program& program) {
  if (program.plain_form != nullptr) return *program.plain_form;
  auto made = form_of(program);
  made->plain = true;
  list_functions(*made);
  decode(*made);
  program.plain_form = std::move(made);
  return *program.plain_form;
}

const Program& counting_program(Program& program) {
  if (program.counting_form != nullptr) return *program.counting_form;
  auto made = form_of(program);
  made->counting = true;
  made->places = std::make_shared<ProfilePlaces>();
  list_functions(*made);
  decode(*made);
  program.counting_form = std::move(made);
  return *program.counting_form;
}

}  // namespace gpuemu::emulator
