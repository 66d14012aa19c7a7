#include "runtime/emulator/handlers/handlers.h"

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "runtime/emulator/handlers/key.h"

namespace gpuemu::emulator {
namespace {

using AddRows = void (*)(Table&);

Table table_of(std::initializer_list<AddRows> units) {
  Table made;
  for (const AddRows add : units) add(made);
  std::vector<std::pair<std::string, Row>> canonical;
  for (const auto& [key, row] : made) canonical.emplace_back(canonical_key(key), row);
  for (auto& [key, row] : canonical) made.try_emplace(std::move(key), row);
  return made;
}

}  // namespace

// Declares the units of one instruction set (unit.h).
#define GPUEMU_UNITS(isa)                                                             \
  namespace isa {                                                                     \
  void add_integers(Table& table);                                                    \
  void add_floats(Table& table);                                                      \
  void add_halves(Table& table);                                                      \
  void add_converts(Table& table);                                                    \
  void add_accesses(Table& table);                                                    \
  TileFunctions tiles();                                                              \
  const Table& table() {                                                              \
    static const Table kTable =                                                       \
        table_of({add_integers, add_floats, add_halves, add_converts, add_accesses}); \
    return kTable;                                                                    \
  }                                                                                   \
  }
GPUEMU_UNITS(portable)
#ifndef GPUEMU_PORTABLE_ONLY
GPUEMU_UNITS(avx2)
GPUEMU_UNITS(avx512)
#endif
#undef GPUEMU_UNITS

namespace {

bool has_portable() { return true; }
#ifndef GPUEMU_PORTABLE_ONLY
bool has_avx2() {
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
         __builtin_cpu_supports("f16c");
}
bool has_avx512() {
  return has_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
}
#endif

}  // namespace

std::span<const InstructionSet> instruction_sets() {
  static constexpr InstructionSet kSets[] = {
      {"portable", "portable", "x86-64", has_portable, portable::table, portable::tiles},
#ifndef GPUEMU_PORTABLE_ONLY
      {"avx2", "AVX2", "AVX2, FMA and F16C", has_avx2, avx2::table, avx2::tiles},
      {"avx512", "AVX-512", "AVX-512 F, BW, DQ and VL", has_avx512, avx512::table, avx512::tiles},
#endif
  };
  return kSets;
}

namespace {

const InstructionSet& best() {
  const auto sets = instruction_sets();
  return *std::find_if(sets.rbegin(), sets.rend(), [](const auto& set) { return set.available(); });
}

/// Chooses the instruction set. The error is Internal if the environment names an unusable one,
/// because no kernel is at fault.
Result<const InstructionSet*> choose() {
  const char* wanted = std::getenv(kInstructionSetVariable);
  if (wanted == nullptr || *wanted == 0) return &best();
  const auto sets = instruction_sets();
  const auto found = std::ranges::find(sets, wanted, &InstructionSet::name);
  if (found == sets.end()) {
    std::string names;
    for (const InstructionSet& set : sets) names.append(names.empty() ? "" : ", ").append(set.name);
    return error(ErrorCode::Internal, "environment {}: '{}' is none of {}", kInstructionSetVariable,
                 wanted, names);
  }
  if (!found->available()) {
    return error(ErrorCode::Internal,
                 "environment {}: '{}' needs {}, which this processor does not have; unset it or "
                 "set it to {}",
                 kInstructionSetVariable, wanted, found->needs, best().name);
  }
  return &*found;
}

const Result<const InstructionSet*>& chosen() {
  static const Result<const InstructionSet*> kChosen = choose();
  return kChosen;
}
const InstructionSet& chosen_or_best() { return chosen() ? **chosen() : best(); }

}  // namespace

Status check_instruction_set() {
  if (!chosen()) return chosen().error();
  return ok_status();
}
const Table& handlers() { return chosen_or_best().table(); }
const TileFunctions& tile_functions() {
  static const TileFunctions kFunctions = chosen_or_best().tiles();
  return kFunctions;
}
const char* handlers_name() { return chosen_or_best().title; }

}  // namespace gpuemu::emulator
