#include "runtime/emulator/decode/counting_code.h"

#include <algorithm>

#include "runtime/emulator/decode/decode.h"
#include "runtime/emulator/machine/block.h"
#include "runtime/emulator/steps/counting.h"
#include "runtime/emulator/steps/steps.h"
#include "runtime/profile/profile.h"
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

/// FNV-1a, which gives the same hash on every platform.
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
    for (uint32_t i = 0; i < flow_.blocks.size(); ++i) {
      places_.blocks.push_back({id_of(fmt::format("{}#{}", code_.name, i)), function,
                                first_instruction_ + flow_.blocks[i].begin,
                                first_instruction_ + flow_.blocks[i].end - 1});
    }
  }

  void wrap() {
    size_t use = 0;
    code_.counting_steps.resize(code_.steps.size());
    for (size_t i = 0; i < code_.steps.size(); ++i) {
      Step& step = code_.steps[i];
      CountingStep& counter = code_.counting_steps[i];
      straight_.push_back(runs_straight(step));
      counter.run = step.run;
      counter.guard = step.guard;
      counter.counted = step.counted;
      counter.instruction = code_.source->body.empty() ? kNone : first_instruction_ + step.origin;
      counter.uses_begin = static_cast<uint32_t>(use);
      while (use < code_.memory_uses.size() && code_.memory_uses[use].step == i) ++use;
      counter.uses_end = static_cast<uint32_t>(use);
      step.run = steps::count;
      step.guard = {};
      step.counted = 0;
    }
  }

  /// Returns whether the step changes neither lanes nor control flow and has no other counter.
  bool is_plain(size_t step) const {
    const CountingStep& counter = code_.counting_steps[step];
    return straight_[step] && counter.uses_begin == counter.uses_end && counter.taken == kNone &&
           counter.next == kNone && counter.targets == kNone;
  }

  /// Consecutive plain steps all run as often as the first, so only the first has a counter.
  /// spread_counts() copies its count to the others.
  void unwrap_followers() {
    bool led = false;
    for (size_t i = 0; i < code_.steps.size(); ++i) {
      const CountingStep& counter = code_.counting_steps[i];
      const bool plain = is_plain(i);
      if (plain && led && counter.block == kNone) {
        Step& step = code_.steps[i];
        step.run = counter.run;
        step.counted = counter.counted;
        continue;
      }
      led = plain && counter.counted != 0;
    }
  }

  /// Returns the edge between two blocks, shared by all ways between them.
  uint32_t edge(uint32_t from, uint32_t to) {
    for (size_t i = places_.edges.size();
         i-- > 0 && places_.edges[i].from == first_block_ + from;) {
      if (places_.edges[i].to == first_block_ + to) return static_cast<uint32_t>(i);
    }
    const uint64_t id = id_of(fmt::format("{}#{}-{}", code_.name, from, to));
    places_.edges.push_back({id, first_block_ + from, first_block_ + to});
    return static_cast<uint32_t>(places_.edges.size() - 1);
  }

  /// Returns the block that begins at step `place`; kNone at the end of the code.
  uint32_t block_at(uint32_t place) const {
    // The step that ends the function belongs to the last instruction and starts no block.
    if (place + size_t{1} >= code_.steps.size()) return kNone;
    const uint32_t origin = code_.steps[place].origin;
    const uint32_t block = flow_.block_of[origin];
    return flow_.blocks[block].begin == origin ? block : kNone;
  }

  void count_block(uint32_t index) {
    const ptx::BasicBlock& block = flow_.blocks[index];
    const auto begin = std::ranges::lower_bound(code_.steps, block.begin, {}, &Step::origin);
    auto end = std::ranges::lower_bound(code_.steps, block.end, {}, &Step::origin);
    // The step that ends the function comes after those of its last instruction.
    if (end == code_.steps.end() && end - begin > 1) --end;
    if (begin == end) return;
    code_.counting_steps[static_cast<size_t>(begin - code_.steps.begin())].block =
        first_block_ + index;
    const auto last = static_cast<size_t>(end - code_.steps.begin()) - 1;
    CountingStep& counter = code_.counting_steps[last];
    const bool direct = counter.run == kRunOf<steps::branch>;
    const uint32_t target =
        direct ? block_at(code_.steps[last].operands.get<BranchOperands>().target) : kNone;
    if (target != kNone) counter.taken = edge(index, target);
    const auto* const indexed = code_.steps[last].operands.find<IndexedBranchOperands>();
    if (indexed != nullptr) {
      const auto first = static_cast<uint32_t>(code_.lists.size());
      for (uint32_t i = 0; i < indexed->count; ++i) {
        const uint32_t to = block_at(code_.lists[indexed->list + i]);
        code_.lists.push_back(to == kNone ? kNone : edge(index, to));
      }
      counter.targets = first;
    }
    const bool falls = std::ranges::binary_search(block.successors, index + 1);
    const bool jumps = (direct || indexed != nullptr) && counter.guard.predicate == kTrueOffset;
    if (falls && !jumps) counter.next = edge(index, index + 1);
  }

  Program& program_;
  ProfilePlaces& places_;
  Code& code_;
  const ptx::ControlFlow& flow_;
  uint32_t first_instruction_ = 0, first_block_ = 0;
  std::vector<bool>
      straight_;  ///< Per step: whether it has no guard and changes neither lanes nor control flow.
};

}  // namespace

void insert_counters(Program& program, Code& code, const ptx::ControlFlow& flow) {
  Instrumenter(program, code, flow).run();
}

void spread_counts(const Program& program, ProfileCounts& counts) {
  for (const Code& code : program.functions) {
    uint32_t leader = kNone;
    for (size_t i = 0; i < code.counting_steps.size(); ++i) {
      const CountingStep& counter = code.counting_steps[i];
      if (code.steps[i].run == steps::count) {
        leader = counter.instruction;
      } else if (counter.counted != 0) {
        InstructionCount& of = counts.instructions[counter.instruction];
        of.warps = counts.instructions[leader].warps;
        of.threads = counts.instructions[leader].threads;
      }
    }
  }
}

namespace {
/// Creates an undecoded copy of the module that shares its variables.
std::unique_ptr<Program> form_of(const Program& program) {
  auto made = std::make_unique<Program>();
  made->module = program.module;
  made->addresses = program.addresses;
  made->shared = program.shared;
  made->shared_bytes = program.shared_bytes;
  made->dynamic_offset = program.dynamic_offset;
  made->shared_of_kernels = program.shared_of_kernels;
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
