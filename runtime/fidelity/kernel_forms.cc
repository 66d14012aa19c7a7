#include "runtime/fidelity/kernel_forms.h"

#include <utility>
#include <vector>

namespace gpuemu {
namespace {

class Collector {
 public:
  explicit Collector(const ptx::Module& module) : module_(module) {}

  void add(const ptx::Function* entry) {
    visit(entry);
    while (!open_.empty()) {
      const ptx::Function* const next = open_.back();
      open_.pop_back();
      for (const ptx::Instruction& one : next->body) {
        forms_.insert(one.spelling());
        if (one.opcode == ptx::Opcode::Call) visit_called(one);
      }
    }
  }
  std::set<std::string> take() { return std::move(forms_); }

 private:
  void visit(const ptx::Function* function) {
    if (function != nullptr && seen_.insert(function).second) open_.push_back(function);
  }

  void visit_called(const ptx::Instruction& call) {
    const ptx::Operand& callee = call.operands.front();
    if (callee.kind == ptx::Operand::Kind::Variable) {
      visit(module_.find(callee.name));
      return;
    }
    // A function pointer may point to any function.
    for (const ptx::Function& one : module_.functions) {
      if (!one.is_entry) visit(&one);
    }
  }

  const ptx::Module& module_;
  std::set<std::string> forms_;
  std::set<const ptx::Function*> seen_;
  std::vector<const ptx::Function*> open_;
};

}  // namespace

std::set<std::string> forms_of(const ptx::Module& module, const std::string& entry) {
  Collector forms(module);
  forms.add(module.find(entry));
  return forms.take();
}

}  // namespace gpuemu
