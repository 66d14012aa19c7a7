// A parsed PTX module, for the emulator and for static analysis. Consists of values that own all
// their text. An instruction's opcode and modifiers are separate, the modifiers in written order.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/ptx/isa/modifier.h"
#include "runtime/ptx/isa/opcode.h"

namespace gpuemu::ptx {

struct Location {
  uint32_t line = 0;  ///< Line in the PTX text, from 1.
  uint32_t column = 0;
};

/// The source position of a kernel's instruction, from .loc.
struct SourceLine {
  uint32_t file = 0;  ///< Key of Module::files; 0: unknown.
  uint32_t line = 0;
  uint32_t column = 0;
  /// 1 + the index in Module::sites of the call into which the code was inlined; 0: not inlined.
  uint32_t site = 0;
  bool operator==(const SourceLine&) const = default;
};

enum class Type : uint8_t {
  None,
  B8,
  B16,
  B32,
  B64,
  B128,
  U8,
  U16,
  U32,
  U64,
  S8,
  S16,
  S32,
  S64,
  F16,
  F16x2,
  BF16,
  BF16x2,
  F32,
  F64,
  TF32,
  E4M3x2,
  E5M2x2,
  E4M3,  ///< From here to B1: element types of matrices.
  E5M2,
  S4,
  U4,
  B1,
  Pred,
};
uint32_t byte_size(Type type);                              ///< 0 for None; 1 for Pred.
std::string_view name_of(Type type);                        ///< "f32"
std::optional<Type> type_from_name(std::string_view name);  ///< Without the dot.

enum class Space : uint8_t { Generic, Reg, Param, Global, Shared, Local, Const };

struct Operand {
  enum class Kind : uint8_t {
    Register,  ///< `reg`: index into Function::registers. `negated` for !%p.
    Special,   ///< `name`: "%tid.x", "%laneid", ...
    Integer,   ///< `bits`: two's complement.
    Float,     ///< `bits`: IEEE pattern; `float_bits` 32 or 64.
    Variable,  ///< `name`: address of a variable, function or label name (call, mov); plus
               ///< `offset`.
    Address,   ///< [base + offset]: base in `elements[0]` (Register, Variable or Integer).
    Vector,    ///< {a, b, ...}: `elements`.
    PredPair,  ///< p|q: `elements`.
    Label,     ///< `label`: index into Function::labels.
    Sink,      ///< `_`
  };
  Kind kind = Kind::Sink;
  bool negated = false;
  uint32_t reg = 0;
  uint32_t label = 0;
  uint32_t float_bits = 0;
  uint64_t bits = 0;
  int64_t offset = 0;
  std::string name;
  std::vector<Operand> elements;
};

/// Returns the operand as in PTX.
std::string text(const Operand& operand);

struct Instruction {
  Opcode opcode = Opcode::Unknown;
  std::string unknown;  ///< The name, for Opcode::Unknown; else empty.
  Modifiers modifiers;
  std::optional<Operand> guard;   ///< Register operand, `negated` for @!%p.
  std::vector<Operand> operands;  ///< Destination first; for call, see below.
  // For call (ret), callee, (args): operands[0] is the callee (Variable or Register). Results,
  // arguments, and the name of the prototype or target table are here.
  std::vector<Operand> call_results, call_arguments;
  std::string call_prototype;
  Location where;
  SourceLine source;

  /// Sets the opcode from the text before the first dot.
  void set_name(std::string_view text);
  std::string_view name() const { return unknown.empty() ? info(opcode).text : unknown; }
  bool has(Modifier modifier) const { return modifiers.has(modifier); }
  bool has(Trait trait) const { return info(opcode).traits.has(trait); }
  /// Returns whether its first operand, if it has one, is its result.
  bool has_result() const { return !has(Trait::NoResult) || has(Modifier::Red); }
  std::string spelling() const;  ///< "ld.global.nc.v4.f32"
  std::string text() const;      ///< With guard and operands, for messages.
};

struct Register {
  std::string name;  ///< "%r17"
  Type type = Type::None;
};

struct Variable {
  std::string name;
  Space space = Space::Global;
  Type type = Type::B8;
  uint32_t align = 1;
  uint64_t bytes = 0;  ///< 0: an extern array of unknown size (dynamic shared memory).
  std::vector<uint64_t> dims;
  bool is_extern = false;
  bool is_managed = false;      ///< The host uses it at its address, too.
  std::vector<std::byte> init;  ///< Empty, or `bytes` long.
  struct Relocation {           ///< An address of another variable or function in the initialiser.
    uint64_t offset = 0;
    std::string symbol;
    int64_t addend = 0;
    bool generic = false;
    uint64_t mask =
        ~uint64_t{0};    ///< mask(symbol): selects these bits of the address, moved to the low end.
    uint32_t bytes = 8;  ///< Size of the element.
  };
  std::vector<Relocation> relocations;
  bool ptr = false;  ///< .param with .ptr
  Location where;
};

struct Label {
  std::string name;
  uint32_t instruction = 0;  ///< Index into Function::body; body.size() at the end.
};

struct Function {
  std::string name;
  bool is_entry = false;
  bool is_extern = false;  ///< Declared, no body.
  bool noreturn = false;
  std::vector<Variable> params;   ///< In order; offsets by natural alignment.
  std::vector<Variable> results;  ///< Results of a .func.
  std::vector<Register> registers;
  std::vector<Variable> variables;  ///< .local, .shared, .param, .const, .global declared inside
                                    ///< (renamed unique if shadowed).
  std::vector<Label> labels;
  std::map<std::string, std::vector<std::string>>
      branch_targets;  ///< .branchtargets / .calltargets
  std::vector<Instruction> body;
  uint32_t reqntid[3] = {0, 0, 0};
  uint32_t maxntid[3] = {0, 0, 0};
  uint32_t reqnctapercluster[3] = {0, 0, 0};
  uint32_t minnctapersm = 0, maxnreg = 0;
  bool explicit_cluster = false;
  Location where;
};

struct Module {
  std::string version;  ///< "9.0"
  /// The version is newer than the newest that this parser knows, so it may have unknown
  /// instructions.
  bool is_newer = false;
  std::string target;  ///< "sm_80"
  bool debug = false;  ///< Unoptimised code with full debug information.
  uint32_t address_size = 64;
  std::map<uint32_t, std::string> files;  ///< From .file
  std::vector<Variable> variables;        ///< .global, .const, .shared (extern), .tex ...
  std::vector<Function> functions;
  std::vector<SourceLine> sites;  ///< The calls into which code was inlined, from .loc; outer ones
                                  ///< come first.
  std::vector<std::string>
      warnings;  ///< "line 1: .version 9.5 is newer than the newest known, 9.0"

  const Function* find(std::string_view name) const;
  /// Returns the line of the kernel's own text: `line` with inlining undone.
  SourceLine outermost(SourceLine line) const;
};

}  // namespace gpuemu::ptx
