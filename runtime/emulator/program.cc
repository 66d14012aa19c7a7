// Places a module's variables and decodes its functions.
#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "runtime/emulator/decode.h"

namespace gpuemu::emulator {
namespace {
uint32_t align_up(uint32_t value, uint32_t align) { return (value + align - 1) / align * align; }

template <typename Visit>
void each_variable(const ptx::Module& module, const Visit& visit) {
  for (const ptx::Variable& variable : module.variables) visit(variable);
  for (const ptx::Function& function : module.functions)
    for (const ptx::Variable& variable : function.variables)
      if (!(variable.space == ptx::Space::Shared && function.is_entry)) visit(variable);
}

/// What the loop of a lock, a flag or a barrier of blocks contains.
bool waits_for_threads(const ptx::Instruction& instruction) {
  static constexpr std::array kOrdered = {"volatile", "acquire", "relaxed", "mmio"};
  if (instruction.family == "atom" || instruction.family == "nanosleep") return true;
  return instruction.family == "ld" &&
         std::ranges::any_of(instruction.modifiers, [](const std::string& modifier) {
           return std::ranges::find(kOrdered, modifier) != kOrdered.end();
         });
}
}  // namespace

Status Program::place_variables(Memory& memory) {
  std::vector<const ptx::Variable*> device;
  each_variable(module, [&](const ptx::Variable& variable) {
    const bool unsized = variable.is_extern && variable.bytes == 0;
    if (variable.space == ptx::Space::Shared && !unsized) {
      shared_bytes = align_up(
          shared_bytes, std::max(1u, std::max(variable.align, ptx::byte_size(variable.type))));
      shared[variable.name] = shared_bytes;
      shared_bytes += static_cast<uint32_t>(variable.bytes);
    }
    if (variable.space == ptx::Space::Global || variable.space == ptx::Space::Const)
      device.push_back(&variable);
  });
  for (const ptx::Variable* variable : device) {
    if (addresses.contains(variable->name)) continue;
    const uint64_t at = GPUEMU_TRY(memory.allocate(variable->bytes, variable->name, false));
    addresses[variable->name] = at;
    std::memset(reinterpret_cast<void*>(at), 0, variable->bytes);
    const size_t given = std::min<size_t>(variable->init.size(), variable->bytes);
    if (given != 0) std::memcpy(reinterpret_cast<void*>(at), variable->init.data(), given);
  }
  for (const ptx::Variable* variable : device)
    for (const auto& relocation : variable->relocations) {
      const auto target = addresses.find(relocation.symbol);
      uint64_t value = target != addresses.end() ? target->second : 0;
      for (size_t i = 0; i < callable.size(); ++i)
        if (callable[i]->name == relocation.symbol) value = i + 1;
      value += static_cast<uint64_t>(relocation.addend);
      value = (value & relocation.mask) >> std::countr_zero(relocation.mask);
      const size_t size = std::min<size_t>(relocation.bytes, sizeof value);
      if (relocation.offset + size <= variable->bytes)
        std::memcpy(reinterpret_cast<void*>(addresses[variable->name] + relocation.offset), &value,
                    size);
    }
  return ok_status();
}

void Program::release(Memory& memory) {
  for (const auto& [name, address] : addresses) static_cast<void>(memory.free(address).ok());
}

void Program::decode() {
  for (const ptx::Function& function : module.functions)
    may_spin = may_spin || std::ranges::any_of(function.body, waits_for_threads);
  for (Code& code : functions) Decoder(*this, code).run();
}

}  // namespace gpuemu::emulator
