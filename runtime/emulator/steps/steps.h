// Handlers that exist once: control flow, exchange between lanes, parameters, atomics.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "runtime/emulator/machine/warp.h"

namespace gpuemu::emulator::steps {

void unsupported(Warp& warp, const Step& ins);  ///< aux: 0, or 1 + the index of the reason.
void branch(Warp& warp, const Step& ins);       ///< aux: target, imm: reconvergence point.
void branch_indexed(Warp& warp,
                    const Step& ins);  ///< src[0]: index; lists: targets; imm: reconvergence point.
void call(Warp& warp, const Step& ins);           ///< aux: call site.
void call_indirect(Warp& warp, const Step& ins);  ///< src[0]: function address.
void ret(Warp& warp, const Step& ins);
void exit(Warp& warp, const Step& ins);
void trap(Warp& warp, const Step& ins);
void nothing(Warp& warp, const Step& ins);
void fence(Warp& warp, const Step& ins);  ///< With these flags.
inline constexpr uint8_t kFenceOfBlock = 1, kFenceOfProxies = 2;
/// src[0]: divisor of aux bytes, imm: the register that the quotient goes to.
void check_divisor(Warp& warp, const Step& ins);
void special(Warp& warp, const Step& ins);        ///< aux: SpecialRegister.
void local_address(Warp& warp, const Step& ins);  ///< imm: offset in the frame's local variables.
void load_param(Warp& warp, const Step& ins);     ///< An entry's parameter, same for all lanes.
void load_frame_param(Warp& warp, const Step& ins);
void store_frame_param(Warp& warp, const Step& ins);
/// imm: window; flags 1: of this block alone; aux: how constants differ from global memory.
void is_space(Warp& warp, const Step& ins);
void barrier(Warp& warp, const Step& ins);
void arrive_at_cluster(Warp& warp, const Step& ins);
void wait_for_cluster(Warp& warp, const Step& ins);
void map_shared(Warp& warp, const Step& ins);      ///< mapa; imm: window of the result.
void rank_of_shared(Warp& warp, const Step& ins);  ///< getctarank
void warp_barrier(Warp& warp, const Step& ins);
void shuffle(Warp& warp, const Step& ins);
void vote(Warp& warp, const Step& ins);
void match(Warp& warp, const Step& ins);
void activemask(Warp& warp, const Step& ins);
void elect(Warp& warp, const Step& ins);
void reduce(Warp& warp, const Step& ins);
void load_matrix(Warp& warp, const Step& ins);
void store_matrix(Warp& warp, const Step& ins);
void transpose_matrix(Warp& warp, const Step& ins);
void multiply_matrices(Warp& warp, const Step& ins);  ///< list: TensorStep.
void multiply_group(Warp& warp, const Step& ins);     ///< wgmma.mma_async
void move_fragment(Warp& warp, const Step& ins);      ///< wmma.load and wmma.store
void copy_async(Warp& warp, const Step& ins);
void commit_copies(Warp& warp, const Step& ins);  ///< cp.async.commit_group
void wait_copies(Warp& warp, const Step& ins);    ///< imm: groups that may stay in flight.
void arrive_copies(Warp& warp, const Step& ins);  ///< cp.async.mbarrier.arrive; flags: noinc.
void copy_bulk(Warp& warp, const Step& ins);      ///< flags: BulkForm.
void prefetch_bulk(Warp& warp, const Step& ins);
void commit_bulk(Warp& warp, const Step& ins);
void wait_bulk(Warp& warp, const Step& ins);
/// st.async, red.async; src: destination, mbarrier; list: values; aux: bytes of one, above them how
/// to combine (kind, type above).
void store_async(Warp& warp, const Step& ins);
void mbarrier(Warp& warp, const Step& ins);  ///< flags: MbarrierKind; aux: its options.
void wait_mbarrier(Warp& warp, const Step& ins);
void count_mbarrier(Warp& warp, const Step& ins);  ///< mbarrier.pending_count
/// src: object, x, y; list: four registers or kNone; flags: what kind of coordinates.
void read_texture(Warp& warp, const Step& ins);
void take_stack(Warp& warp, const Step& ins);  ///< alloca; src[0]: bytes, imm: alignment.
void save_stack(Warp& warp, const Step& ins);
void restore_stack(Warp& warp, const Step& ins);
void add_carry(Warp& warp, const Step& ins);
void atomic(Warp& warp, const Step& ins);

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

/// Step::flags of `barrier`.
enum class BarrierKind : uint8_t { Sync, Arrive, RedPopc, RedAnd, RedOr };
inline constexpr uint8_t kAligned = 0x80;
/// Step::flags of `branch`: it skips aligned barriers and nothing else.
inline constexpr uint8_t kSkipsBarrier = 1;
/// Reports where not all running threads of the warp execute an instruction with kAligned.
void check_aligned(Warp& warp, const Step& ins);
enum class VoteKind : uint8_t { All, Any, Uni, Ballot };
enum class ReduceKind : uint8_t { Add, MinS, MaxS, MinU, MaxU, And, Or, Xor };
enum class ShuffleKind : uint8_t { Up, Down, Bfly, Idx };
enum class AtomicKind : uint8_t { Add, Min, Max, And, Or, Xor, Exch, Cas, Inc, Dec };
enum class MbarrierKind : uint8_t { Init, Inval, Arrive, ExpectTx, CompleteTx };
/// Step::aux of mbarrier.
inline constexpr uint32_t kDrop = 1, kNoComplete = 2, kArriveExpect = 4;
/// Step::aux of its waits.
inline constexpr uint32_t kByParity = 1, kMayBlock = 2;
/// Step::flags of cp.async.bulk, beside those of loads and stores.
inline constexpr uint8_t kBulkToShared = 8, kBulkFromShared = 16, kBulkMulticast = 32;
/// Step::flags of store_async.
inline constexpr uint8_t kAsyncReduces = 1;
/// Step::flags of read_texture.
inline constexpr uint8_t kTextureRows = 1, kIntegerCoordinates = 2;
/// Step::aux of is_space.
inline constexpr uint32_t kByWindow = 0, kIsConstant = 1, kIsNoConstant = 2;
inline constexpr uint8_t kSub = 1, kCarryIn = 2, kCarryOut = 4;

}  // namespace gpuemu::emulator::steps
