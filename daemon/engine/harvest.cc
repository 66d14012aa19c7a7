#include "daemon/engine/harvest.h"

#include <algorithm>
#include <set>

namespace gpuemu {
namespace {

constexpr int64_t kLeast = 2, kMost = 65536;
constexpr size_t kConstantsMax = 24;

using ptx::Function;
using ptx::Instruction;
using ptx::Operand;

bool speaks_of_threads(const std::string& special) {
  for (const char* name : {"%tid", "%ntid", "%ctaid", "%nctaid", "%laneid", "%warpid"}) {
    if (special.starts_with(name)) return true;
  }
  return false;
}

enum class What : uint8_t {
  Derived,     ///< What follows from thread indices and parameters.
  Parameters,  ///< Parameters as they are.
};

/// Which registers hold that, wherever in the function.
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
    if (operand.kind == Operand::Kind::Special)
      return what_ == What::Derived && speaks_of_threads(operand.name);
    return std::ranges::any_of(operand.elements,
                               [this](const Operand& element) { return follows(element); });
  }

  /// What memory holds is data, but for parameters.
  bool passes_on(const Instruction& instruction) const {
    if (instruction.family == "mov" || instruction.family == "cvt") return true;
    if (what_ == What::Parameters) return false;
    for (const char* family : {"add", "sub", "mul", "mad", "shl", "shr", "and", "or", "min", "max",
                               "rem", "div", "selp", "bfe"}) {
      if (instruction.family == family) return true;
    }
    return false;
  }

  bool note(const Instruction& instruction) {
    if (instruction.operands.empty()) return false;
    const bool param = instruction.family == "ld" && instruction.has("param");
    if (!param && !(passes_on(instruction) && any_of(instruction, 1))) return false;
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

/// A number of `setp.lt %r, 100` as itself, of `shr %r, 5` as 32, of `and %r, 31` as 32.
void add_number(const Instruction& instruction, int64_t number, std::set<int64_t>& sizes) {
  if (instruction.family == "shr" || instruction.family == "shl") {
    if (number >= 1 && number <= 16) add_size(int64_t{1} << number, sizes);
  } else if (instruction.family == "and") {
    const bool is_mask = number > 0 && (number & (number + 1)) == 0;
    if (is_mask) add_size(number + 1, sizes);
  } else if (number < 0) {
    // `and -32` rounds down, `setp.gt -1` asks for the sign.
    add_size(-number, sizes);
  } else {
    add_size(number, sizes);
  }
}

bool decides(const Instruction& instruction) {
  for (const char* family : {"setp", "set", "rem", "div", "min", "max", "shr", "and"}) {
    if (instruction.family == family) return true;
  }
  return false;
}

bool asks_whether_equal(const Instruction& instruction) {
  return instruction.family == "setp" && (instruction.has("eq") || instruction.has("ne"));
}

struct Found {
  std::set<int64_t> sizes, singled;
};

void add_function(const Function& function, Found& found) {
  const Followers followers(function, What::Derived), parameters(function, What::Parameters);
  for (const Instruction& instruction : function.body) {
    if (!decides(instruction) || !followers.any_of(instruction, 1)) continue;
    for (size_t i = 1; i < instruction.operands.size(); ++i) {
      const Operand& operand = instruction.operands[i];
      if (operand.kind != Operand::Kind::Integer) continue;
      const auto wide = static_cast<int64_t>(operand.bits);
      add_number(instruction, wide, found.sizes);
      if (asks_whether_equal(instruction) && parameters.any_of(instruction, 1))
        add_size(wide, found.singled);
    }
  }
}

/// Tiles of shared memory, [16][17] as 16 and 17; compilers often leave bytes alone: then as many
/// elements of four bytes.
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

Constants sizes_in(const ptx::Module& module, const std::vector<std::string>& entries) {
  Found found;
  for (const ptx::Function& function : module.functions) {
    const bool other =
        function.is_entry && std::ranges::find(entries, function.name) == entries.end();
    if (other || function.is_extern) continue;
    add_function(function, found);
    add_tiles(function.variables, found.sizes);
  }
  Constants constants;
  for (const int64_t size : found.sizes) {
    if (constants.all.size() < kConstantsMax) constants.all.push_back(size);
  }
  for (const int64_t size : found.singled) {
    if (constants.singled.size() < kConstantsMax) constants.singled.push_back(size);
  }
  return constants;
}

}  // namespace gpuemu
