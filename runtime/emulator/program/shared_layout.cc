#include "runtime/emulator/program/shared_layout.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace gpuemu::emulator {
namespace {

uint32_t align_up(uint32_t value, uint32_t align) { return (value + align - 1) / align * align; }

bool is_placed(const ptx::Variable& variable) {
  const bool is_dynamic = variable.is_extern && variable.bytes == 0;
  return variable.space == ptx::Space::Shared && !is_dynamic;
}

template <typename Visit>
void each_name(const std::vector<ptx::Operand>& operands, const Visit& visit) {
  for (const ptx::Operand& one : operands) {
    if (one.kind == ptx::Operand::Kind::Variable) visit(one.name);
    each_name(one.elements, visit);
  }
}

/// What a function names.
struct Uses {
  std::set<size_t> variables;             ///< Shared ones of the module.
  std::set<const ptx::Function*> called;  ///< Or whose addresses it takes.
  bool calls_any = false;                 ///< It calls an address.
  bool names_dynamic = false;             ///< It names dynamic shared memory.
};

class Layout {
 public:
  explicit Layout(Program& program) : program_(program) {
    for (size_t i = 0; i < module().variables.size(); ++i) {
      const ptx::Variable& one = module().variables[i];
      if (is_placed(one)) variables_[one.name] = i;
      if (one.space == ptx::Space::Shared && !is_placed(one)) dynamic_.insert(one.name);
    }
    for (const ptx::Function& one : module().functions) functions_[one.name] = &one;
    for (const ptx::Function& one : module().functions) uses_[&one] = uses_of(one);
    for (const ptx::Function& one : module().functions) {
      if (!one.is_entry) continue;
      for (const ptx::Function* const function : reached(one)) kernels_[function].insert(&one);
    }
  }

  void run() {
    for (const ptx::Function& one : module().functions) {
      if (!one.is_entry) find_variables(one);
    }
    for (Placed& one : wanted_) place(one);
    for (const ptx::Function& one : module().functions) {
      if (one.is_entry) program_.shared_of_kernels[one.name] = of_kernel(one);
    }
  }

 private:
  using Kernels = std::set<const ptx::Function*>;
  /// A variable of functions, or the largest of those with its name.
  struct Placed {
    std::string_view name;
    uint32_t align = 1;
    uint64_t bytes = 0;
    Kernels kernels;
    uint32_t end = 0;  ///< 0 until it is placed.
  };

  const ptx::Module& module() const { return program_.module; }

  Uses uses_of(const ptx::Function& function) const {
    Uses uses;
    for (const ptx::Instruction& instruction : function.body) {
      bool names_function = false;
      each_name(instruction.operands, [&](const std::string& name) {
        const auto variable = variables_.find(name);
        if (variable != variables_.end()) uses.variables.insert(variable->second);
        const auto called = functions_.find(name);
        names_function |= called != functions_.end();
        if (called != functions_.end()) uses.called.insert(called->second);
        uses.names_dynamic |= dynamic_.contains(name) || names_own_dynamic(function, name);
      });
      uses.calls_any |= instruction.opcode == ptx::Opcode::Call && !names_function;
    }
    return uses;
  }

  static bool names_own_dynamic(const ptx::Function& function, const std::string& name) {
    return std::ranges::any_of(function.variables, [&](const ptx::Variable& one) {
      return one.name == name && one.space == ptx::Space::Shared && !is_placed(one);
    });
  }

  void find_variables(const ptx::Function& function) {
    const auto want = [&](const ptx::Variable& variable) {
      const auto known = std::ranges::find(wanted_, variable.name, &Placed::name);
      Placed& one = known != wanted_.end() ? *known : wanted_.emplace_back(Placed{variable.name});
      one.align = std::max({one.align, variable.align, ptx::byte_size(variable.type)});
      one.bytes = std::max(one.bytes, variable.bytes);
      one.kernels.insert(kernels_[&function].begin(), kernels_[&function].end());
    };
    for (const ptx::Variable& one : function.variables) {
      if (is_placed(one)) want(one);
    }
    for (const size_t one : uses_.at(&function).variables) want(module().variables[one]);
  }

  /// Places the variable behind those that a kernel needs together with it.
  void place(Placed& variable) {
    uint32_t begin = 0;
    for (const Placed& other : wanted_) {
      const bool share = std::ranges::any_of(other.kernels, [&](const ptx::Function* kernel) {
        return variable.kernels.contains(kernel);
      });
      if (share) begin = std::max(begin, other.end);
    }
    const uint32_t at = align_up(begin, variable.align);
    program_.shared[std::string(variable.name)] = at;
    variable.end = at + static_cast<uint32_t>(variable.bytes);
    program_.shared_bytes = std::max(program_.shared_bytes, variable.end);
  }

  Program::KernelShared of_kernel(const ptx::Function& kernel) {
    Program::KernelShared made;
    const auto need = [&](const ptx::Variable& one) {
      const uint32_t end = program_.shared.at(one.name) + static_cast<uint32_t>(one.bytes);
      made.of_functions = std::max(made.of_functions, end);
    };
    for (const ptx::Function* const one : reached(kernel)) {
      for (const ptx::Variable& variable : one->variables) {
        if (one != &kernel && is_placed(variable)) need(variable);
      }
      for (const size_t i : uses_.at(one).variables) {
        const ptx::Variable& variable = module().variables[i];
        if (program_.shared.contains(variable.name)) {
          need(variable);
          if (std::ranges::find(made.used, i) == made.used.end()) made.used.push_back(i);
        } else {
          made.own.push_back(i);
        }
      }
      made.shares_dynamic |= one != &kernel && uses_.at(one).names_dynamic;
    }
    // A function finds dynamic memory at one offset in all kernels.
    if (made.shares_dynamic) {
      constexpr uint32_t kAlign = Program::kDynamicSharedAlign;
      program_.dynamic_offset =
          std::max(program_.dynamic_offset, align_up(end_of(kernel, made), kAlign));
    }
    return made;
  }

  /// Returns the size of the kernel's static shared memory.
  uint32_t end_of(const ptx::Function& kernel, const Program::KernelShared& shared) const {
    uint32_t end = shared.of_functions;
    const auto add = [&](const ptx::Variable& one) {
      end = align_up(end, std::max({1u, one.align, ptx::byte_size(one.type)}));
      end += static_cast<uint32_t>(one.bytes);
    };
    for (const ptx::Variable& one : kernel.variables) {
      if (is_placed(one)) add(one);
    }
    for (const size_t i : shared.own) add(module().variables[i]);
    return end;
  }

  /// Returns the kernel and the functions that it may call.
  std::set<const ptx::Function*> reached(const ptx::Function& kernel) const {
    std::set<const ptx::Function*> found = {&kernel};
    std::vector<const ptx::Function*> open = {&kernel};
    const auto add = [&](const ptx::Function* one) {
      if (!one->is_entry && found.insert(one).second) open.push_back(one);
    };
    while (!open.empty()) {
      const Uses& uses = uses_.at(open.back());
      open.pop_back();
      for (const ptx::Function* const one : uses.called) add(one);
      if (!uses.calls_any) continue;
      for (const ptx::Function& one : module().functions) add(&one);
    }
    return found;
  }

  Program& program_;
  std::vector<Placed> wanted_;
  std::set<std::string_view> dynamic_;               ///< Names of dynamic shared memory.
  std::map<const ptx::Function*, Kernels> kernels_;  ///< The kernels that may call each function.
  std::unordered_map<std::string_view, size_t> variables_;
  std::unordered_map<std::string_view, const ptx::Function*> functions_;
  std::unordered_map<const ptx::Function*, Uses> uses_;
};

}  // namespace

void lay_out_shared(Program& program) { Layout(program).run(); }

}  // namespace gpuemu::emulator
