#include "judge/metrics/branch_constants.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <map>
#include <set>

#include "judge/metrics/size_predicates.h"

namespace gpuemu {
namespace {

constexpr int64_t kLeast = 2, kMost = 65536;
constexpr size_t kConstantsMax = 24;
/// Larger floats are fill values and parts of functions; their squares would overflow in correct
/// kernels.
constexpr double kComparedMost = 65536, kUsedMost = 1000;

using ptx::Function;
using ptx::Instruction;
using ptx::Opcode;
using ptx::Operand;
using ptx::Trait;

bool speaks_of_threads(const std::string& special) {
  for (const char* name : {"%tid", "%ntid", "%ctaid", "%nctaid", "%laneid", "%warpid"}) {
    if (special.starts_with(name)) return true;
  }
  return false;
}

enum class What : uint8_t {
  Derived,     ///< Values that depend on thread indices and parameters.
  Parameters,  ///< Unchanged parameters.
  Data,        ///< Values that depend on memory.
};

/// The registers that hold such a value anywhere in the function.
class Followers {
 public:
  Followers(const Function& function, What what)
      : what_(what), follows_(function.registers.size(), false) {
    for (bool changed = true; changed;) {
      changed = false;
      for (const Instruction& instruction : function.body) changed = note(instruction) || changed;
    }
  }

  bool any_of(const Instruction& instruction, size_t from) const {
    for (size_t i = from; i < instruction.operands.size(); ++i) {
      if (follows(instruction.operands[i])) return true;
    }
    return false;
  }

 private:
  bool follows(const Operand& operand) const {
    if (operand.kind == Operand::Kind::Register) return follows_[operand.reg];
    if (operand.kind == Operand::Kind::Special) {
      return what_ == What::Derived && speaks_of_threads(operand.name);
    }
    return std::ranges::any_of(operand.elements,
                               [this](const Operand& element) { return follows(element); });
  }

  /// Values loaded from memory are data, except parameters.
  bool passes_on(const Instruction& instruction) const {
    if (instruction.opcode == Opcode::Mov || instruction.opcode == Opcode::Cvt) return true;
    if (what_ == What::Parameters) return false;
    if (instruction.has(Trait::IndexMath)) return true;
    if (what_ != What::Data) return false;
    return instruction.opcode == Opcode::Abs || instruction.opcode == Opcode::Neg ||
           instruction.opcode == Opcode::Shfl;
  }

  bool note(const Instruction& instruction) {
    if (instruction.operands.empty()) return false;
    const bool is_source = instruction.opcode == Opcode::Ld &&
                           instruction.has(ptx::Modifier::Param) == (what_ != What::Data);
    if (!is_source && !(passes_on(instruction) && any_of(instruction, 1))) return false;
    return mark(instruction.operands[0]);
  }

  bool mark(const Operand& to) {
    bool changed = false;
    if (to.kind == Operand::Kind::Register && !follows_[to.reg]) {
      follows_[to.reg] = true;
      changed = true;
    }
    for (const Operand& element : to.elements) changed = mark(element) || changed;
    return changed;
  }

  What what_;
  std::vector<bool> follows_;
};

void add_size(int64_t size, std::set<int64_t>& sizes) {
  if (size >= kLeast && size <= kMost) sizes.insert(size);
}

/// Adds the size that a number stands for: 100 of `setp.lt %r, 100`, 32 of `shr %r, 5` and of `and
/// %r, 31`.
void add_number(const Instruction& instruction, int64_t number, std::set<int64_t>& sizes) {
  if (instruction.opcode == Opcode::Shr || instruction.opcode == Opcode::Shl) {
    if (number >= 1 && number <= 16) add_size(int64_t{1} << number, sizes);
  } else if (instruction.opcode == Opcode::And) {
    const bool is_mask = number > 0 && (number & (number + 1)) == 0;
    if (is_mask) add_size(number + 1, sizes);
  } else if (number < 0) {
    // `and -32` rounds down, and `setp.gt -1` tests the sign.
    add_size(-number, sizes);
  } else {
    add_size(number, sizes);
  }
}

bool asks_whether_equal(const Instruction& instruction) {
  return instruction.opcode == Opcode::Setp &&
         (instruction.has(ptx::Modifier::Eq) || instruction.has(ptx::Modifier::Ne));
}

struct Found {
  std::set<int64_t> sizes, singled;
  std::vector<std::vector<int64_t>> classes;
};

/// With smaller tiles, every few sizes have a remainder of one element.
constexpr int64_t kTileFrom = 8;

void add_function(const Function& function, Found& found) {
  const Followers followers(function, What::Derived), parameters(function, What::Parameters);
  for (const Instruction& instruction : function.body) {
    if (!instruction.has(Trait::RevealsSizes) || !followers.any_of(instruction, 1)) continue;
    for (size_t i = 1; i < instruction.operands.size(); ++i) {
      const Operand& operand = instruction.operands[i];
      if (operand.kind != Operand::Kind::Integer) continue;
      const auto wide = static_cast<int64_t>(operand.bits);
      add_number(instruction, wide, found.sizes);
      if (asks_whether_equal(instruction) && parameters.any_of(instruction, 1)) {
        add_size(wide, found.singled);
      }
    }
  }
}

/// Adds a number unless it is already there.
template <typename T>
void add_number_once(T number, std::vector<T>& numbers) {
  if (std::ranges::find(numbers, number) == numbers.end()) numbers.push_back(number);
}

double number_of(const Operand& operand) {
  if (operand.float_bits == 64) return std::bit_cast<double>(operand.bits);
  return std::bit_cast<float>(static_cast<uint32_t>(operand.bits));
}

/// The floats of a function; those in comparisons come first.
class Floats {
 public:
  void add(const Function& function) {
    const std::map<uint32_t, double> held = registers_of(function);
    for (const Instruction& instruction : function.body) {
      if (instruction.opcode == Opcode::Mov || instruction.opcode == Opcode::Cvt) continue;
      for (size_t i = 1; i < instruction.operands.size(); ++i) {
        const Operand& operand = instruction.operands[i];
        const auto found = held.find(operand.reg);
        if (operand.kind == Operand::Kind::Float) {
          take(number_of(operand), instruction.has(Trait::ComparesSizes));
        } else if (operand.kind == Operand::Kind::Register && found != held.end()) {
          take(found->second, instruction.has(Trait::ComparesSizes));
        }
      }
    }
  }

  std::vector<double> found() const {
    std::vector<double> all = compared_;
    for (const double number : used_) add_number_once(number, all);
    if (all.size() > kConstantsMax) all.resize(kConstantsMax);
    return all;
  }

 private:
  /// Compilers keep many constants in registers.
  static std::map<uint32_t, double> registers_of(const Function& function) {
    std::map<uint32_t, double> held;
    for (const Instruction& instruction : function.body) {
      const bool moves = instruction.opcode == Opcode::Mov || instruction.opcode == Opcode::Cvt;
      if (!moves || instruction.operands.size() < 2) continue;
      const Operand& to = instruction.operands[0];
      const Operand& from = instruction.operands[1];
      if (to.kind != Operand::Kind::Register) continue;
      if (from.kind == Operand::Kind::Float) {
        held[to.reg] = number_of(from);
      } else if (from.kind == Operand::Kind::Register && held.contains(from.reg)) {
        held[to.reg] = held.at(from.reg);
      }
    }
    return held;
  }

  void take(double number, bool is_compared) {
    const double most = is_compared ? kComparedMost : kUsedMost;
    if (number == 0 || !std::isfinite(number) || std::abs(number) > most) return;
    add_number_once(number, is_compared ? compared_ : used_);
  }

  std::vector<double> compared_, used_;
};

/// Adds whole numbers with which a function compares values that it has read.
void add_integers(const Function& function, std::vector<int64_t>& numbers) {
  const Followers data(function, What::Data);
  std::map<uint32_t, int64_t> added;  // `x - 1001 < 9` tests for 1001 to 1009.
  for (const Instruction& instruction : function.body) {
    if (instruction.operands.size() < 3 || !data.any_of(instruction, 1)) continue;
    const Operand& left = instruction.operands[1];
    const Operand& right = instruction.operands[2];
    if (right.kind != Operand::Kind::Integer || left.kind != Operand::Kind::Register) continue;
    const auto number = static_cast<int64_t>(right.bits);
    if (instruction.opcode == Opcode::Add &&
        instruction.operands[0].kind == Operand::Kind::Register) {
      added[instruction.operands[0].reg] = number;
    } else if (instruction.has(Trait::ComparesSizes)) {
      const auto shift = added.find(left.reg);
      const int64_t off = shift == added.end() ? 0 : shift->second;
      if (off != 0) add_number_once(-off, numbers);
      add_number_once(number - off, numbers);
    }
  }
}

void add_class(const std::vector<int64_t>& sizes, Found& found) {
  const bool known = std::ranges::find(found.classes, sizes) != found.classes.end();
  if (!known && found.classes.size() < kConstantsMax) found.classes.push_back(sizes);
}

/// Adds the dimensions of tiles in shared memory: 16 and 17 for [16][17]. Compilers often leave
/// only a byte count, which is then divided by an element size of four.
void add_tiles(const std::vector<ptx::Variable>& variables, std::set<int64_t>& sizes) {
  for (const ptx::Variable& variable : variables) {
    if (variable.space != ptx::Space::Shared || variable.bytes == 0) continue;
    for (const uint64_t dim : variable.dims) {
      const bool raw = variable.dims.size() == 1 && ptx::byte_size(variable.type) == 1;
      add_size(static_cast<int64_t>(std::min<uint64_t>(raw ? dim / 4 : dim, kMost + 1)), sizes);
    }
  }
}

}  // namespace

Constants constants_in(const ptx::Module& module, const std::vector<std::string>& entries,
                       const std::vector<uint32_t>& blocks) {
  Found found;
  Floats floats;
  Constants constants;
  std::set<int64_t, std::greater<>> known_blocks, thresholds, tiles;
  for (const ptx::Function& function : module.functions) {
    const auto entry = std::ranges::find(entries, function.name);
    if ((function.is_entry && entry == entries.end()) || function.is_extern) continue;
    add_function(function, found);
    add_tiles(function.variables, found.sizes);
    floats.add(function);
    add_integers(function, constants.integers);
    const auto at = static_cast<size_t>(entry - entries.begin());
    const uint32_t block = at < blocks.size() ? blocks[at] : 0;
    const RareSizes rare = rare_sizes(function, block);
    for (const std::vector<int64_t>& sizes : rare.classes) add_class(sizes, found);
    thresholds.insert(rare.thresholds.begin(), rare.thresholds.end());
    if (block >= kTileFrom) known_blocks.insert(block);
  }
  constants.floats = floats.found();
  if (constants.integers.size() > kConstantsMax) constants.integers.resize(kConstantsMax);
  for (const int64_t size : found.sizes) {
    if (size >= kTileFrom) tiles.insert(size);
  }
  for (const int64_t block : known_blocks) add_class({block + 1}, found);
  for (const int64_t size : thresholds) add_class({size}, found);
  for (const int64_t tile : tiles) add_class({tile + 1}, found);
  for (const int64_t size : found.sizes) {
    if (constants.all.size() < kConstantsMax) constants.all.push_back(size);
  }
  for (const int64_t size : found.singled) {
    if (constants.singled.size() < kConstantsMax) constants.singled.push_back(size);
  }
  constants.classes = std::move(found.classes);
  return constants;
}

}  // namespace gpuemu
