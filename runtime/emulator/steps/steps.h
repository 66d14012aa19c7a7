// Handlers that are not compiled per instruction set: control flow, warp-level instructions,
// parameters, atomics.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "runtime/emulator/machine/warp.h"

namespace gpuemu::emulator::steps {

void unsupported(Warp& warp, const Step& step, const RefusalOperands& refusal);
void branch(Warp& warp, const Step& step, const BranchOperands& to);
void branch_indexed(Warp& warp, const Step& step, const IndexedBranchOperands& to);
void call(Warp& warp, const Step& step, const CallOperands& call);
void call_indirect(Warp& warp, const Step& step, const CallOperands& call);  ///< src[0]: function.
void ret(Warp& warp, const Step& step);
void exit(Warp& warp, const Step& step);
void trap(Warp& warp, const Step& step);
void nothing(Warp& warp, const Step& step);
void fence(Warp& warp, const Step& step, const FenceOperands& fence);
void check_divisor(Warp& warp, const Step& step, const DivisorOperands& division);
void special(Warp& warp, const Step& step, const SpecialOperands& special);
void local_address(Warp& warp, const Step& step, const LocalAddressOperands& at);
/// Reads an entry's parameter, which is the same for all lanes.
void load_param(Warp& warp, const Step& step, const ParamOperands& param);
void load_frame_param(Warp& warp, const Step& step, const ParamOperands& param);
void store_frame_param(Warp& warp, const Step& step, const ParamOperands& param);
void is_space(Warp& warp, const Step& step, const SpaceTestOperands& test);
void barrier(Warp& warp, const Step& step, const BarrierOperands& barrier);
void arrive_at_cluster(Warp& warp, const Step& step, const ClusterBarrierOperands& barrier);
void wait_for_cluster(Warp& warp, const Step& step, const ClusterBarrierOperands& barrier);
void map_shared(Warp& warp, const Step& step, const MapSharedOperands& map);  ///< mapa
void rank_of_shared(Warp& warp, const Step& step);                            ///< getctarank
void warp_barrier(Warp& warp, const Step& step);
void shuffle(Warp& warp, const Step& step, const ShuffleOperands& shuffle);
void vote(Warp& warp, const Step& step, const VoteOperands& vote);
void match(Warp& warp, const Step& step, const MatchOperands& match);
void activemask(Warp& warp, const Step& step);
void elect(Warp& warp, const Step& step, const ElectOperands& elect);
void reduce(Warp& warp, const Step& step, const ReduceOperands& reduce);
/// ldmatrix and stmatrix. src[0]: addresses in shared memory, lane 8m + r for row r of matrix m.
void load_matrix(Warp& warp, const Step& step, const AccessOperands& access);
void store_matrix(Warp& warp, const Step& step, const AccessOperands& access);
void transpose_matrix(Warp& warp, const Step& step);
void multiply_matrices(Warp& warp, const Step& step, const ProductOperands& product);
/// wgmma.mma_async. src: descriptors of A and B, predicate "D is an operand too".
void multiply_group(Warp& warp, const Step& step, const FragmentOperands& product);
/// wmma.load and wmma.store. src: address of the first element, distance of rows or columns in
/// elements.
void move_fragment(Warp& warp, const Step& step, const FragmentOperands& fragment);
void copy_async(Warp& warp, const Step& step, const CopyOperands& copy);
void commit_copies(Warp& warp, const Step& step);  ///< cp.async.commit_group
void wait_copies(Warp& warp, const Step& step, const GroupsOperands& groups);
void arrive_copies(Warp& warp, const Step& step, const ArrivalOperands& arrival);
void copy_bulk(Warp& warp, const Step& step, const BulkOperands& bulk);
void prefetch_bulk(Warp& warp, const Step& step);  ///< src: address, bytes.
void copy_box(Warp& warp, const Step& step, const BulkOperands& bulk);
void copy_tensor_map(Warp& warp, const Step& step);
void prefetch_box(Warp& warp, const Step& step, const BulkOperands& bulk);
void commit_bulk(Warp& warp, const Step& step);
void wait_bulk(Warp& warp, const Step& step, const GroupsOperands& groups);
void store_bulk(Warp& warp, const Step& step, const BulkOperands& fill);  ///< src: address, bytes.
void store_async(Warp& warp, const Step& step, const AsyncStoreOperands& store);
void mbarrier(Warp& warp, const Step& step, const MbarrierOperands& barrier);
void wait_mbarrier(Warp& warp, const Step& step, const MbarrierWaitOperands& wait);
void count_mbarrier(Warp& warp, const Step& step);  ///< mbarrier.pending_count
void read_texture(Warp& warp, const Step& step, const TextureOperands& texture);
void access_surface(Warp& warp, const Step& step, const SurfaceOperands& surface);
void take_stack(Warp& warp, const Step& step,
                const StackOperands& stack);  ///< alloca; src[0]: bytes.
void save_stack(Warp& warp, const Step& step, const StackOperands& stack);
void restore_stack(Warp& warp, const Step& step, const StackOperands& stack);
void add_carry(Warp& warp, const Step& step, const CarryOperands& carry);
void atomic(Warp& warp, const Step& step, const AtomicOperands& atomic);

/// Returns whether the driver supplies a function of this name, such as vprintf or malloc.
bool is_external(std::string_view name);

/// Finds a special register by its PTX name, such as "%tid.x".
std::optional<SpecialRegister> special_register(const std::string& name);

/// Reports an aligned barrier that not all threads of the warp execute.
void check_aligned(Warp& warp, const Step& step);

}  // namespace gpuemu::emulator::steps

namespace gpuemu::emulator {

namespace detail {
template <auto Run>
struct Entry;
template <void (*Run)(Warp&, const Step&)>
struct Entry<Run> {
  using Operands = void;
  static constexpr Handler kRun = Run;
};
template <typename T, void (*Run)(Warp&, const Step&, const T&)>
struct Entry<Run> {
  using Operands = T;
  static void run(Warp& warp, const Step& step) { Run(warp, step, step.operands.get<T>()); }
  static constexpr Handler kRun = run;
};
}  // namespace detail

/// The value of Step::run for one of the functions of steps.
template <auto Run>
inline constexpr Handler kRunOf = detail::Entry<Run>::kRun;
/// The operand struct of the function; void: none.
template <auto Run>
using OperandsOf = typename detail::Entry<Run>::Operands;

}  // namespace gpuemu::emulator
