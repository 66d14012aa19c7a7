// Decodes a parsed module to flat code: operands become offsets, instructions become handlers.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "common/base/result.h"
#include "runtime/emulator/code/step.h"
#include "runtime/emulator/handlers/handlers.h"
#include "runtime/emulator/handlers/key.h"
#include "runtime/emulator/program/program.h"
#include "runtime/emulator/steps/steps.h"
#include "runtime/ptx/flow/cfg.h"
#include "runtime/ptx/module.h"

namespace gpuemu::emulator {

/// Fills `functions`; the variables must have addresses. Unsupported instructions become steps that
/// report them when executed.
void decode(Program& program);

/// The modifiers of an instruction, sorted by kind.
struct Form {
  ptx::Modifiers rest;  ///< All except types, roundings, .ftz and .sat.
  std::vector<ptx::Type> types;
  std::optional<Rounding> rounding;
  bool ftz = false, sat = false;
  bool pairs = false;  ///< .b128: types and vector describe its register pair.
  ptx::Space space = ptx::Space::Generic;
  uint32_t vector = 1;
  std::string key;  ///< name.rest.ftz.sat.types

  explicit Form(const ptx::Instruction& from);
  bool has(ptx::Modifier modifier) const { return rest.has(modifier); }
  ptx::Type type() const { return types.empty() ? ptx::Type::None : types.front(); }
};

/// Returns the registers that may be used before they are written, ascending.
std::vector<uint32_t> used_early(const ptx::Function& function, const ptx::ControlFlow& flow);

/// Decodes one function.
class Decoder {
 public:
  Decoder(Program& program, Code& code);
  void run();

  // --- Used by the decode_*.cc files ---
  /// Emits a step. It takes registers only, unless the caller sets Step::operands.
  Step& emit(Handler handler);
  /// Emits a step of steps.h with its operand struct.
  template <auto Run>
  Step& emit(const OperandsOf<Run>& operands) {
    Step& step = emit(kRunOf<Run>);
    step.operands = operands;
    return step;
  }
  /// Returns the offset at which `operand` can be read as `slot`; emits conversions if needed.
  uint32_t source(const ptx::Operand& operand, RegisterClass slot, ptx::Type type);
  /// Returns the offset for the result. If the register is wider, a conversion follows after the
  /// step.
  uint32_t destination(const ptx::Operand& operand, RegisterClass slot, bool is_signed = false);
  uint32_t temp(RegisterClass slot);
  uint32_t constant(uint64_t bits, bool wide);
  /// Sets the offset and the address width of `where` from an address operand, and returns its
  /// base register.
  template <typename T>
  uint32_t address(T& where, const ptx::Operand& operand) {
    const auto [base, offset, is_wide] = address_of(operand);
    where.offset = offset;
    where.is_wide = is_wide;
    return base;
  }
  uint32_t list(const std::vector<uint32_t>& items);
  /// Records for the counters that the last emitted instruction accesses `bytes` per lane at
  /// src[0].
  void uses_memory(ptx::Space space, uint32_t bytes);
  RegisterClass register_class(const ptx::Operand& operand) const;
  const ParamSlot* param(const std::string& name) const;
  /// Makes the step report, when executed, that it is not supported, with the reason `why`.
  bool refuse(const std::string& why);
  Program& program() { return program_; }
  Code& code() { return code_; }
  const ptx::Function& function() const { return *code_.source; }
  /// Sets what the function's loops say about the current ld or atom.
  void note_repetition(MemoryOperands& access) {
    const bool is_shared_by_blocks =
        access.space == ptx::Space::Global || access.space == ptx::Space::Generic;
    access.is_awaited = is_shared_by_blocks && awaited_reads_[current_];
    access.is_word_of_cas = words_of_cas_[current_];
    program_.awaits = program_.awaits || access.is_awaited;
  }
  uint32_t label_target(const std::string& name) const;

 private:
  friend struct Families;
  void layout_registers();
  void layout_variables();
  void one(const ptx::Instruction& instruction);
  bool try_decoders(const ptx::Instruction& instruction, const Form& form);
  void watch_division(const ptx::Instruction& instruction, const Form& form);
  const Row* row_of(const ptx::Instruction& instruction, const Form& form) const;
  bool pure(const ptx::Instruction& instruction, const Form& form);
  bool comparison(const ptx::Instruction& instruction, const Form& form);
  bool set_values(const ptx::Instruction& instruction, ptx::Type type, uint32_t low, uint32_t high);
  bool move_pair(const ptx::Operand& to, const ptx::Operand& from);
  /// Decodes a mov between one register and a vector of parts of `bits` bits each.
  void unpack_parts(const ptx::Operand& to, uint32_t value, RegisterClass slot, uint32_t bits);
  void pack_parts(const ptx::Operand& to, const ptx::Operand& from, RegisterClass slot,
                  uint32_t bits);
  uint32_t register_source(const ptx::Operand& operand, RegisterClass slot);
  uint32_t number_source(const ptx::Operand& operand, RegisterClass slot, ptx::Type type);
  uint32_t refused_source(RegisterClass slot);
  bool extreme_of_three(const ptx::Instruction& instruction, const Form& form);
  bool move_special(const ptx::Operand& to, const std::string& name, RegisterClass slot);
  bool move(const ptx::Instruction& instruction, const Form& form);
  void finish_destinations();
  void hoist_invariants();
  std::vector<bool> find_invariants();
  bool repeatable(uint32_t index, const std::vector<bool>& invariant,
                  const std::vector<uint32_t>& defined) const;
  void resolve_targets();
  struct Address {
    uint32_t base;
    int64_t offset;
    bool is_wide;
  };
  Address address_of(const ptx::Operand& operand);
  uint64_t variable_address(const ptx::Operand& operand, bool& local) const;

  struct Pending {
    uint32_t from, to;
    RegisterClass slot, wanted;
    bool is_signed;
  };
  Program& program_;
  Code& code_;
  ptx::ControlFlow flow_;
  std::vector<bool> awaited_reads_, words_of_cas_;  ///< By PTX instruction.
  std::vector<uint32_t> offsets_;
  std::vector<RegisterClass> slots_;
  std::map<std::pair<uint64_t, bool>, uint32_t> constants_;
  std::map<std::string, uint32_t> locals_, shared_;
  std::vector<ParamSlot> param_slots_;
  std::vector<Pending> pending_;
  std::vector<uint32_t> first_;  ///< The first step of each PTX instruction.
  std::string refusal_;          ///< Why the current instruction cannot be executed.
  uint32_t current_ = 0;
  Guard guard_;
  bool main_done_ = false;
};

/// Finds the straight lines (Step::straight_line). Requires final branch targets.
void mark_straight_lines(Code& code);
/// Returns whether the step has no guard and changes neither lanes nor control flow.
bool runs_straight(const Step& step);

RegisterClass register_class(ptx::Type type);
bool is_signed(ptx::Type type);

}  // namespace gpuemu::emulator
