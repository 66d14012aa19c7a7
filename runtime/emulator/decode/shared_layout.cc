#include "runtime/emulator/decode/shared_layout.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <unordered_map>

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
};

class Layout {
 public:
  explicit Layout(Program& program) : program_(program) {
    for (size_t i = 0; i < module().variables.size(); ++i) {
      if (is_placed(module().variables[i])) variables_[module().variables[i].name] = i;
    }
    for (const ptx::Function& one : module().functions) functions_[one.name] = &one;
    for (const ptx::Function& one : module().functions) uses_[&one] = uses_of(one);
  }

  void run() {
    for (const ptx::Function& one : module().functions) {
      if (!one.is_entry) place_of_function(one);
    }
    for (const ptx::Function& one : module().functions) {
      if (one.is_entry) program_.shared_of_kernels[one.name] = of_kernel(one);
    }
  }

 private:
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
      });
      uses.calls_any |= instruction.opcode == ptx::Opcode::Call && !names_function;
    }
    return uses;
  }

  void place_of_function(const ptx::Function& function) {
    for (const ptx::Variable& one : function.variables) {
      if (is_placed(one)) place(one);
    }
    for (const size_t one : uses_.at(&function).variables) place(module().variables[one]);
  }

  void place(const ptx::Variable& variable) {
    if (program_.shared.contains(variable.name)) return;
    const uint32_t align = std::max({1u, variable.align, ptx::byte_size(variable.type)});
    const uint32_t at = align_up(program_.shared_bytes, align);
    program_.shared[variable.name] = at;
    program_.shared_bytes = at + static_cast<uint32_t>(variable.bytes);
  }

  Program::KernelShared of_kernel(const ptx::Function& kernel) const {
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
        } else {
          made.own.push_back(i);
        }
      }
    }
    return made;
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
  std::unordered_map<std::string_view, size_t> variables_;
  std::unordered_map<std::string_view, const ptx::Function*> functions_;
  std::unordered_map<const ptx::Function*, Uses> uses_;
};

}  // namespace

void lay_out_shared(Program& program) { Layout(program).run(); }

}  // namespace gpuemu::emulator
