// Describes races of global memory.
#include <bit>

#include "runtime/emulator/checks/global_races.h"
#include "runtime/emulator/checks/shared_races.h"
#include "runtime/emulator/machine/block.h"
#include "runtime/emulator/program/program.h"
#include "runtime/emulator/report/advice.h"
#include "runtime/emulator/report/element_names.h"

namespace gpuemu::emulator {
namespace {
GlobalRace kind_of(const Step& step, bool narrow, bool read_only, bool same_block, bool same_line,
                   bool announced) {
  if (read_only) return step.memory() == nullptr ? GlobalRace::Texture : GlobalRace::ReadOnly;
  if (narrow) return GlobalRace::NarrowAtomic;
  if (announced) return GlobalRace::Unfenced;
  if (!same_block) return GlobalRace::BetweenBlocks;
  return same_line ? GlobalRace::InOneLine : GlobalRace::InBlock;
}
/// Returns "block (3,0,0)".
std::string block_text(const Dim3& grid, uint64_t linear) {
  return fmt::format("block ({},{},{})", linear % grid.x, linear / grid.x % grid.y,
                     linear / grid.x / grid.y);
}
}  // namespace

void GlobalRaces::report_in_warp(Warp& warp, const Step& step, Access access, const Found& found,
                                 uint64_t address) {
  const Seen& seen = found.seen;
  const Program& program = *warp.launch->inputs.program;
  const Allocation* in = warp.launch->memory->nearest(address);
  const ptx::Instruction* instruction = instruction_at(program, seen.site);
  const auto offset = static_cast<int64_t>(address - in->base);
  report_check(
      warp, step,
      {.kind = DeviceFindingKind::RaceWarp,
       .message = fmt::format(
           "{} byte offset {} of '{}'{} that lane {} of the same warp {} ({}) without {} in "
           "between",
           verb(access), offset, in->name,
           element_text(static_cast<uint64_t>(offset), element_bytes(instruction_of(warp, step))),
           std::countr_zero(seen.others), seen.read_before ? "read" : "wrote",
           instruction != nullptr ? describe(program.module, *instruction) : "an access",
           warp_barrier(ptx::language_of(program.module))),
       .lane = found.bad.first,
       .tensor = in->name,
       .byte_offset = offset,
       .count = found.bad.count(),
       .other = instruction});
}

void GlobalRaces::report_race(Warp& warp, const Step& step, Access access, const Found& found,
                              uint64_t address) {
  const Seen& seen = found.seen;
  const Program& program = *warp.launch->inputs.program;
  const Allocation* in = warp.launch->memory->nearest(address);
  const Segment& other = segment(seen.segment);
  const bool same_block = other.block == warp.block->position.linear;
  const ptx::Instruction* instruction = instruction_at(program, seen.site);
  const auto offset = static_cast<int64_t>(address - in->base);
  const bool same_warp = same_block && other.warp == warp.index;
  const std::string who = same_warp    ? "the same warp"
                          : same_block ? "another warp of the block"
                                       : block_text(warp.launch->inputs.config->grid, other.block);
  const ptx::Instruction* flag = instruction_at(program, found.flag_site);
  report_check(
      warp, step,
      {.kind = DeviceFindingKind::RaceGlobal,
       .message = fmt::format(
           "{} byte offset {} of '{}'{}, which {} {}{} ({}); {}{}", verb(access), offset, in->name,
           element_text(static_cast<uint64_t>(offset), element_bytes(instruction_of(warp, step))),
           who,
           seen.read_before ? "reads"
           : seen.atomic    ? "updates"
                            : "writes",
           seen.read_only ? " in the same launch" : " without an order between them",
           instruction != nullptr ? describe(program.module, *instruction) : "",
           advice_on(kind_of(step, seen.narrow, seen.read_only, same_block,
                             in_one_line(instruction_of(warp, step), instruction), flag != nullptr),
                     ptx::language_of(program.module)),
           flag != nullptr ? fmt::format(" ({})", describe(program.module, *flag)) : ""),
       .lane = found.bad.first,
       .tensor = in->name,
       .byte_offset = offset,
       .count = found.bad.count(),
       .other = instruction});
}

}  // namespace gpuemu::emulator
