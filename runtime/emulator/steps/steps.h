// Handlers that exist once: control flow, exchange between lanes, parameters, atomics.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "runtime/emulator/machine/warp.h"

namespace gpuemu::emulator::steps {

void unsupported(Warp& warp, const Ins& ins);  ///< aux: 0, or 1 + the index of the reason.
void branch(Warp& warp, const Ins& ins);       ///< aux: target, imm: where lanes meet.
void branch_indexed(Warp& warp,
                    const Ins& ins);    ///< src[0]: index; lists: targets; imm: meeting point.
void call(Warp& warp, const Ins& ins);  ///< aux: call site.
void call_indirect(Warp& warp, const Ins& ins);  ///< src[0]: function address.
void ret(Warp& warp, const Ins& ins);
void exit(Warp& warp, const Ins& ins);
void trap(Warp& warp, const Ins& ins);
void nothing(Warp& warp, const Ins& ins);
void fence(Warp& warp, const Ins& ins);  ///< With these flags.
inline constexpr uint8_t kFenceOfBlock = 1, kFenceOfProxies = 2;
/// src[0]: divisor of aux bytes, imm: the register that the quotient goes to.
void check_divisor(Warp& warp, const Ins& ins);
void special(Warp& warp, const Ins& ins);        ///< aux: SpecialRegister.
void local_address(Warp& warp, const Ins& ins);  ///< imm: offset in the frame's local variables.
void load_param(Warp& warp, const Ins& ins);     ///< An entry's parameter, same for all lanes.
void load_frame_param(Warp& warp, const Ins& ins);
void store_frame_param(Warp& warp, const Ins& ins);
/// imm: window; flags 1: of this block alone; aux: what tells constants from global memory.
void is_space(Warp& warp, const Ins& ins);
void barrier(Warp& warp, const Ins& ins);
void arrive_at_cluster(Warp& warp, const Ins& ins);
void wait_for_cluster(Warp& warp, const Ins& ins);
void map_shared(Warp& warp, const Ins& ins);      ///< mapa; imm: window of the result.
void rank_of_shared(Warp& warp, const Ins& ins);  ///< getctarank
void warp_barrier(Warp& warp, const Ins& ins);
void shuffle(Warp& warp, const Ins& ins);
void vote(Warp& warp, const Ins& ins);
void match(Warp& warp, const Ins& ins);
void activemask(Warp& warp, const Ins& ins);
void elect(Warp& warp, const Ins& ins);
void reduce(Warp& warp, const Ins& ins);
void load_matrix(Warp& warp, const Ins& ins);
void store_matrix(Warp& warp, const Ins& ins);
void transpose_matrix(Warp& warp, const Ins& ins);
void multiply_matrices(Warp& warp, const Ins& ins);  ///< list: TensorStep.
void multiply_group(Warp& warp, const Ins& ins);     ///< wgmma.mma_async
void move_fragment(Warp& warp, const Ins& ins);      ///< wmma.load and wmma.store
void copy_async(Warp& warp, const Ins& ins);
void commit_copies(Warp& warp, const Ins& ins);  ///< cp.async.commit_group
void wait_copies(Warp& warp, const Ins& ins);    ///< imm: groups that may stay under way.
void arrive_copies(Warp& warp, const Ins& ins);  ///< cp.async.mbarrier.arrive; flags: noinc.
void copy_bulk(Warp& warp, const Ins& ins);      ///< flags: BulkForm.
void prefetch_bulk(Warp& warp, const Ins& ins);
void commit_bulk(Warp& warp, const Ins& ins);
void wait_bulk(Warp& warp, const Ins& ins);
/// st.async, red.async; src: destination, mbarrier; list: values; aux: bytes of one, above them how
/// to combine (kind, type above).
void store_async(Warp& warp, const Ins& ins);
void mbarrier(Warp& warp, const Ins& ins);  ///< flags: MbarrierKind; aux: its options.
void wait_mbarrier(Warp& warp, const Ins& ins);
void count_mbarrier(Warp& warp, const Ins& ins);  ///< mbarrier.pending_count
/// src: object, x, y; list: four registers or kNone; flags: what kind of coordinates.
void read_texture(Warp& warp, const Ins& ins);
void take_stack(Warp& warp, const Ins& ins);  ///< alloca; src[0]: bytes, imm: alignment.
void save_stack(Warp& warp, const Ins& ins);
void restore_stack(Warp& warp, const Ins& ins);
void add_carry(Warp& warp, const Ins& ins);
void atomic(Warp& warp, const Ins& ins);

/// Whether there is a function of this name without a body: vprintf, malloc ...
bool is_external(std::string_view name);

enum class SpecialRegister : uint32_t {
  TidX,
  TidY,
  TidZ,
  NtidX,
  NtidY,
  NtidZ,
  CtaidX,
  CtaidY,
  CtaidZ,
  NctaidX,
  NctaidY,
  NctaidZ,
  LaneId,
  WarpId,
  NwarpId,
  SmId,
  NsmId,
  GridId,
  MaskEq,
  MaskLe,
  MaskLt,
  MaskGe,
  MaskGt,
  Clock,
  Clock64,
  ClockHi,
  Globaltimer,
  GlobaltimerLo,
  GlobaltimerHi,
  WarpSize,
  Zero,
  One,
  EnvReg1,
  EnvReg2,
  ClusterCtaRank,
  ClusterNctaRank,
  ClusterCtaidX,
  ClusterCtaidY,
  ClusterCtaidZ,
  ClusterNctaidX,
  ClusterNctaidY,
  ClusterNctaidZ,
  ClusteridX,
  ClusteridY,
  ClusteridZ,
  NclusteridX,
  NclusteridY,
  NclusteridZ,
  DynamicShared,
  TotalShared,
  ReservedBegin,
  ReservedMiddle,
  ReservedEnd,
};

/// By its PTX name, "%tid.x".
std::optional<SpecialRegister> special_register(const std::string& name);

/// Ins::flags of `barrier`.
enum class BarrierKind : uint8_t { Sync, Arrive, RedPopc, RedAnd, RedOr };
inline constexpr uint8_t kAligned = 0x80;
/// Ins::flags of `branch`: over aligned barriers and nothing else.
inline constexpr uint8_t kSkipsBarrier = 1;
/// Reports where not all running threads of the warp execute an instruction with kAligned.
void check_aligned(Warp& warp, const Ins& ins);
enum class VoteKind : uint8_t { All, Any, Uni, Ballot };
enum class ReduceKind : uint8_t { Add, MinS, MaxS, MinU, MaxU, And, Or, Xor };
enum class ShuffleKind : uint8_t { Up, Down, Bfly, Idx };
enum class AtomicKind : uint8_t { Add, Min, Max, And, Or, Xor, Exch, Cas, Inc, Dec };
enum class MbarrierKind : uint8_t { Init, Inval, Arrive, ExpectTx, CompleteTx };
/// Ins::aux of mbarrier.
inline constexpr uint32_t kDrop = 1, kNoComplete = 2, kArriveExpect = 4;
/// Ins::aux of its waits.
inline constexpr uint32_t kByParity = 1, kMayBlock = 2;
/// Ins::flags of cp.async.bulk, beside those of loads and stores.
inline constexpr uint8_t kBulkToShared = 8, kBulkFromShared = 16, kBulkMulticast = 32;
/// Ins::flags of store_async.
inline constexpr uint8_t kAsyncReduces = 1;
/// Ins::flags of read_texture.
inline constexpr uint8_t kTextureRows = 1, kIntegerCoordinates = 2;
/// Ins::aux of is_space.
inline constexpr uint32_t kByWindow = 0, kIsConstant = 1, kIsNoConstant = 2;
inline constexpr uint8_t kSub = 1, kCarryIn = 2, kCarryOut = 4;

}  // namespace gpuemu::emulator::steps
