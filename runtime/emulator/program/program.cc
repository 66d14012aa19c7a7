#include "runtime/emulator/program/program.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "runtime/emulator/program/shared_layout.h"
#include "runtime/ptx/flow/grid_barrier.h"

namespace gpuemu::emulator {
namespace {
template <typename Visit>
void each_variable(const ptx::Module& module, const Visit& visit) {
  for (const ptx::Variable& variable : module.variables) visit(variable);
  for (const ptx::Function& function : module.functions) {
    for (const ptx::Variable& variable : function.variables) {
      if (!(variable.space == ptx::Space::Shared && function.is_entry)) visit(variable);
    }
  }
}

/// Returns whether loops of locks, flags and inter-block barriers use this instruction.
bool waits_for_threads(const ptx::Instruction& instruction) {
  static constexpr std::array kOrdered = {"volatile", "acquire", "relaxed", "mmio"};
  if (instruction.opcode == ptx::Opcode::Atom || instruction.opcode == ptx::Opcode::Nanosleep) {
    return true;
  }
  if (instruction.opcode == ptx::Opcode::Mbarrier &&
      (instruction.has(ptx::Modifier::TestWait) || instruction.has(ptx::Modifier::TryWait))) {
    return true;
  }
  return instruction.opcode == ptx::Opcode::Ld &&
         std::ranges::any_of(instruction.modifiers, [](const std::string& modifier) {
           return std::ranges::find(kOrdered, modifier) != kOrdered.end();
         });
}
}  // namespace

void list_functions(Program& program) {
  for (const ptx::Function& function : program.module.functions) {
    if (function.is_extern) continue;
    Code& code = program.functions.emplace_back();
    code.source = &function;
    code.name = function.name;
    program.by_name[function.name] = &code;
    program.callable.push_back(&code);
  }
}

Status place_variables(Program& program, Memory& memory) {
  lay_out_shared(program);
  std::vector<const ptx::Variable*> device;
  each_variable(program.module, [&](const ptx::Variable& variable) {
    if (variable.space == ptx::Space::Global || variable.space == ptx::Space::Const) {
      device.push_back(&variable);
    }
  });
  for (const ptx::Variable* variable : device) {
    if (program.addresses.contains(variable->name)) continue;
    const uint64_t at =
        GPUEMU_TRY(memory.allocate(variable->bytes, variable->name, Memory::Kind::Variable));
    program.addresses[variable->name] = at;
    memory.find(at, 0)->constant = variable->space == ptx::Space::Const;
    const size_t given = std::min<size_t>(variable->init.size(), variable->bytes);
    if (given != 0) std::memcpy(reinterpret_cast<void*>(at), variable->init.data(), given);
  }
  for (const ptx::Variable* variable : device) {
    for (const auto& relocation : variable->relocations) {
      const auto target = program.addresses.find(relocation.symbol);
      uint64_t value = target != program.addresses.end() ? target->second : 0;
      for (size_t i = 0; i < program.callable.size(); ++i) {
        if (program.callable[i]->name == relocation.symbol) value = i + 1;
      }
      value += static_cast<uint64_t>(relocation.addend);
      value = (value & relocation.mask) >> std::countr_zero(relocation.mask);
      const size_t size = std::min<size_t>(relocation.bytes, sizeof value);
      if (relocation.offset + size <= variable->bytes) {
        std::memcpy(reinterpret_cast<void*>(program.addresses[variable->name] + relocation.offset),
                    &value, size);
      }
    }
  }
  return ok_status();
}

void release_variables(Program& program, Memory& memory) {
  for (const auto& [name, address] : program.addresses) {
    static_cast<void>(memory.free(address).ok());
  }
}

namespace {
bool reads_reserved_shared(const ptx::Instruction& instruction) {
  return std::ranges::any_of(instruction.operands, [](const ptx::Operand& operand) {
    return operand.name.starts_with("%reserved_smem_offset");
  });
}

bool reads_clock(const ptx::Instruction& instruction) {
  return std::ranges::any_of(instruction.operands, [](const ptx::Operand& operand) {
    return operand.name.starts_with("%clock") || operand.name.starts_with("%globaltimer");
  });
}
}  // namespace

void find_uses(Program& program) {
  for (const ptx::Function& function : program.module.functions) {
    program.grid_barrier =
        program.grid_barrier || std::ranges::any_of(function.body, ptx::reads_grid_barrier);
  }
  for (const ptx::Function& function : program.module.functions) {
    program.reserved_shared =
        program.reserved_shared || std::ranges::any_of(function.body, reads_reserved_shared);
  }
  for (const ptx::Function& function : program.module.functions) {
    program.reads_clock = program.reads_clock || std::ranges::any_of(function.body, reads_clock);
  }
  for (const ptx::Function& function : program.module.functions) {
    program.may_spin = program.may_spin || std::ranges::any_of(function.body, waits_for_threads);
  }
}

}  // namespace gpuemu::emulator
