// The operands of decoded steps other than registers: one struct for each kind of step. A step
// holds exactly one of them (Operands), and steps::NAME takes the struct that it was emitted with.
//
// A `list` is an index into Code::lists, where the step's registers are stored consecutively.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <type_traits>

#include "runtime/device/texture.h"
#include "runtime/emulator/code/special_register.h"
#include "runtime/ptx/module.h"

namespace gpuemu::emulator {

inline constexpr uint32_t kNone = ~uint32_t{0};

enum class BarrierKind : uint8_t { Sync, Arrive, RedPopc, RedAnd, RedOr };
enum class VoteKind : uint8_t { All, Any, Uni, Ballot };
enum class ReduceKind : uint8_t { Add, MinS, MaxS, MinU, MaxU, And, Or, Xor };
enum class ShuffleKind : uint8_t { Up, Down, Bfly, Idx };
enum class AtomicKind : uint8_t { Add, Min, Max, And, Or, Xor, Exch, Cas, Inc, Dec };
enum class MbarrierKind : uint8_t { Init, Inval, Arrive, ExpectTx, CompleteTx };

enum class OperandsKind : uint8_t {
  None,
  Access,  ///< Kinds from Access to Bulk begin with MemoryOperands.
  Atomic,
  Fragment,
  Copy,
  Bulk,
  Param,
  Rounding,
  Branch,
  IndexedBranch,
  Call,
  Refusal,
  Fence,
  Divisor,
  Special,
  LocalAddress,
  SpaceTest,
  Barrier,
  ClusterBarrier,
  MapShared,
  Shuffle,
  Vote,
  Match,
  Reduce,
  Elect,
  Carry,
  Product,
  Arrival,
  Mbarrier,
  MbarrierWait,
  Groups,
  AsyncStore,
  Texture,
  Surface,
  Stack,
};

/// A memory access at the address in register src[0] plus `offset`.
struct MemoryOperands {
  int64_t offset = 0;
  uint32_t cache = 0;   ///< Number of the access in its program, from 1; index of its cached
                        ///< allocation.
  uint8_t bytes = 0;    ///< Per lane, for all elements together.
  bool is_wide = true;  ///< The address register has 64 bits.
  ptx::Space space = ptx::Space::Generic;
  bool is_ordered : 1 = false;  ///< volatile and similar: threads may synchronise here.
  /// A vector of plain words, as used to copy structures, so some of them may be padding.
  bool copies_structure : 1 = false;
  /// ld.global.nc, which may only read memory that no thread of the launch writes.
  bool is_read_only : 1 = false;
  bool is_awaited : 1 = false;      ///< Reads a flag or counter (ptx::awaited_reads).
  bool is_word_of_cas : 1 = false;  ///< ptx::words_of_cas
};

/// ld, st, ldmatrix and stmatrix.
struct AccessOperands : MemoryOperands {
  static constexpr OperandsKind kKind = OperandsKind::Access;
  uint32_t list = 0;           ///< Registers of the elements; kNone: the result is discarded.
  uint8_t count = 1;           ///< Elements of the vector, or number of matrices.
  bool is_transposed = false;  ///< ldmatrix, stmatrix
};

/// The operation that an atomic applies to an element.
struct Reduction {
  AtomicKind kind = AtomicKind::Add;
  ptx::Type type = ptx::Type::None;
};

/// atom and red. src: address, operand, new value of cas.
struct AtomicOperands : MemoryOperands {
  static constexpr OperandsKind kKind = OperandsKind::Atomic;
  /// For 16 bytes: the operand, the new value of cas and the result, two registers each.
  uint32_t list = 0;
  Reduction reduction;
};

/// wmma.load, wmma.store and wgmma.mma_async.
struct FragmentOperands : MemoryOperands {
  static constexpr OperandsKind kKind = OperandsKind::Fragment;
  uint32_t matrices = 0;  ///< Index into Code::tensors.
};

/// cp.async. src: shared address, global address, bytes to read; the rest of `bytes` is
/// zero-filled.
struct CopyOperands : MemoryOperands {
  static constexpr OperandsKind kKind = OperandsKind::Copy;
};

/// cp.async.bulk and cp.reduce.async.bulk. src: destination, source, bytes, mbarrier. With a tensor
/// map: address in shared memory, mbarrier.
struct BulkOperands : MemoryOperands {
  static constexpr OperandsKind kKind = OperandsKind::Bulk;
  /// The register with the CTA mask of a multicast. With a tensor map: its address, one index per
  /// dimension, the im2col offsets for all but two dimensions, and the CTA mask.
  uint32_t list = 0;
  bool to_shared : 1 = false, from_shared : 1 = false, is_multicast : 1 = false;
  bool reduces : 1 = false;
  bool is_im2col : 1 = false, has_added : 1 = false;
  uint8_t rank = 0;  ///< Dimensions of the tensor map; 0: no tensor map.
  Reduction reduction;

  uint32_t registers_of_map() const {
    return 1u + rank + (has_added ? rank - 2u : 0u) + (is_multicast ? 1u : 0u);
  }
};

/// Parameters of an entry, a function or a call. src[0] is added to the offset; kNone: nothing.
struct ParamOperands {
  static constexpr OperandsKind kKind = OperandsKind::Param;
  int64_t offset = 0;
  uint32_t list = 0;  ///< Registers of the elements; kNone: the result is discarded.
  uint8_t count = 1, element_bytes = 0;
  bool is_wide = false;  ///< Registers have 64 bits.
  bool is_signed = false;
};

/// Arithmetic with a rounding other than to nearest.
struct RoundingOperands {
  static constexpr OperandsKind kKind = OperandsKind::Rounding;
  uint32_t mode = 0;  ///< In the encoding of the x86 control register (_MM_ROUND_* >> 13).
};

/// A branch. Targets and reconvergence points are indices into Code::steps.
struct BranchOperands {
  static constexpr OperandsKind kKind = OperandsKind::Branch;
  uint32_t target = 0;
  uint32_t reconverge = kNone;     ///< kNone: the end of the function.
  bool skips_barrier : 1 = false;  ///< Skips aligned barriers and nothing else.
  /// Has no counter: if all lanes take it, the loop jumps without calling its handler.
  bool is_direct : 1 = false;
};

/// brx. src[0]: index of the target.
struct IndexedBranchOperands {
  static constexpr OperandsKind kKind = OperandsKind::IndexedBranch;
  uint32_t list = 0, count = 0;  ///< Targets.
  uint32_t reconverge = kNone;
};

struct CallOperands {
  static constexpr OperandsKind kKind = OperandsKind::Call;
  uint32_t site = 0;  ///< Index into Code::calls.
};

struct RefusalOperands {
  static constexpr OperandsKind kKind = OperandsKind::Refusal;
  uint32_t reason = kNone;  ///< Index into Code::refusals; kNone: no particular reason.
};

struct FenceOperands {
  static constexpr OperandsKind kKind = OperandsKind::Fence;
  bool of_block = false, of_proxies = false;
};

/// A division. src[0]: the divisor.
struct DivisorOperands {
  static constexpr OperandsKind kKind = OperandsKind::Divisor;
  uint32_t quotient = 0;  ///< PTX register that receives the quotient.
  uint8_t bytes = 4;
};

struct SpecialOperands {
  static constexpr OperandsKind kKind = OperandsKind::Special;
  SpecialRegister which = SpecialRegister::Zero;
  bool is_wide = false;
};

struct LocalAddressOperands {
  static constexpr OperandsKind kKind = OperandsKind::LocalAddress;
  uint64_t offset = 0;  ///< In the local variables of the frame.
  bool is_wide = false;
};

/// isspacep
struct SpaceTestOperands {
  static constexpr OperandsKind kKind = OperandsKind::SpaceTest;
  /// Global memory has no window of its own: whether an address is constant follows from its
  /// allocation.
  enum class By : uint8_t { Window, IsConstant, IsNotConstant };
  uint64_t window = 0;
  By by = By::Window;
  bool of_block = false;  ///< Only this block's shared memory, not the cluster's.
};

/// bar and barrier. src: barrier, number of threads, predicate to reduce.
struct BarrierOperands {
  static constexpr OperandsKind kKind = OperandsKind::Barrier;
  BarrierKind kind = BarrierKind::Sync;
  bool is_aligned = false;  ///< All threads of the warp execute it together.
};

struct ClusterBarrierOperands {
  static constexpr OperandsKind kKind = OperandsKind::ClusterBarrier;
  bool is_aligned = false;
};

/// mapa. src: address, rank of the block.
struct MapSharedOperands {
  static constexpr OperandsKind kKind = OperandsKind::MapShared;
  uint64_t window = 0;  ///< Added to the offset; 0 for an address of .shared.
  bool is_wide = false;
};

/// src: value, lane operand, clamp and segment mask, member mask.
struct ShuffleOperands {
  static constexpr OperandsKind kKind = OperandsKind::Shuffle;
  ShuffleKind kind = ShuffleKind::Idx;
  uint32_t predicate = kNone;  ///< Register that receives whether the source lane exists.
};

/// src: predicate, member mask.
struct VoteOperands {
  static constexpr OperandsKind kKind = OperandsKind::Vote;
  VoteKind kind = VoteKind::All;
};

/// src: value, member mask.
struct MatchOperands {
  static constexpr OperandsKind kKind = OperandsKind::Match;
  uint32_t predicate = kNone;  ///< Register of match.all's predicate result.
  bool of_all = false, is_wide = false;
};

/// redux. src: value, member mask.
struct ReduceOperands {
  static constexpr OperandsKind kKind = OperandsKind::Reduce;
  ReduceKind kind = ReduceKind::Add;
};

/// src[0]: member mask.
struct ElectOperands {
  static constexpr OperandsKind kKind = OperandsKind::Elect;
  uint32_t predicate = 0;
};

/// add.cc, addc, sub.cc, subc and the sums of mad.cc and madc.
struct CarryOperands {
  static constexpr OperandsKind kKind = OperandsKind::Carry;
  bool is_wide = false, subtracts = false, takes_carry = false, gives_carry = false;
};

/// mma and wmma.mma.
struct ProductOperands {
  static constexpr OperandsKind kKind = OperandsKind::Product;
  uint32_t matrices = 0;  ///< Index into Code::tensors.
};

/// The address of an mbarrier: register src[0] plus `offset`.
struct MbarrierAddress {
  int64_t offset = 0;
  bool is_wide = true;  ///< The address register has 64 bits.
};

/// cp.async.mbarrier.arrive
struct ArrivalOperands : MbarrierAddress {
  static constexpr OperandsKind kKind = OperandsKind::Arrival;
  bool is_expected = false;  ///< .noinc: the mbarrier's count already includes this arrival.
};

/// mbarrier.init, inval, arrive, expect_tx, complete_tx. src[1]: count or bytes.
struct MbarrierOperands : MbarrierAddress {
  static constexpr OperandsKind kKind = OperandsKind::Mbarrier;
  MbarrierKind kind = MbarrierKind::Init;
  bool drops : 1 = false, is_no_complete : 1 = false, expects_bytes : 1 = false;
};

/// mbarrier.test_wait and try_wait. src[1]: parity or state.
struct MbarrierWaitOperands : MbarrierAddress {
  static constexpr OperandsKind kKind = OperandsKind::MbarrierWait;
  bool by_parity = false;
};

/// A wait for groups of asynchronous copies.
struct GroupsOperands {
  static constexpr OperandsKind kKind = OperandsKind::Groups;
  uint64_t in_flight = 0;      ///< Number of most recent groups that may still be in flight.
  bool waits_for_all = false;  ///< Waits for copies that belong to no group too.
};

/// st.async and red.async. src: destination, mbarrier.
struct AsyncStoreOperands {
  static constexpr OperandsKind kKind = OperandsKind::AsyncStore;
  uint32_t list = 0;  ///< Values.
  uint8_t count = 1, element_bytes = 4;
  bool reduces = false;
  Reduction reduction;
};

/// tex and tld4. src: object, layer. dst: the predicate that says whether the texels are resident.
struct TextureOperands {
  static constexpr OperandsKind kKind = OperandsKind::Texture;
  /// How the instruction chooses the level of detail.
  enum class Detail : uint8_t { None, Level, Gradient };

  /// Registers of the four channels (kNone: the result is discarded), of the coordinates, and of
  /// the level of detail or of two gradients.
  uint32_t list = 0;
  Detail detail = Detail::None;
  TextureConfig::Shape shape = TextureConfig::Shape::Plane;
  uint8_t coordinates = 2;
  bool is_layered = false;
  bool takes_integers = false;  ///< Coordinates are integers.
  bool gathers = false;         ///< tld4: one channel of four texels.
  uint8_t channel = 0;          ///< The channel that tld4 gathers.
  bool tells_residency = false;
  uint32_t cache = 0;  ///< As in MemoryOperands.
};

/// suld, sust and sured. src: object, x in bytes, y, slice; without y or slice a register with 0.
struct SurfaceOperands {
  static constexpr OperandsKind kKind = OperandsKind::Surface;
  enum class Kind : uint8_t { Load, Store, Reduce };
  /// What an access outside the surface does.
  enum class Outside : uint8_t { Trap, Clamp, Zero };

  uint32_t list = 0;   ///< Registers of the elements.
  uint32_t cache = 0;  ///< As in MemoryOperands.
  uint8_t count = 1, element_bytes = 4;
  TextureConfig::Shape shape = TextureConfig::Shape::Plane;
  bool is_layered = false;
  Kind kind = Kind::Load;
  Outside outside = Outside::Trap;
  Reduction reduction;
};

/// alloca, stacksave and stackrestore.
struct StackOperands {
  static constexpr OperandsKind kKind = OperandsKind::Stack;
  uint64_t align = 1;
  bool is_wide = false;
};

/// One of the structs above.
class Operands {
 public:
  Operands() = default;
  template <typename T>
  Operands(const T& operands) : kind_(T::kKind) {  // NOLINT(google-explicit-constructor)
    static_assert(sizeof(T) <= kBytesMax && alignof(T) <= alignof(int64_t));
    static_assert(std::is_trivially_copyable_v<T>);
    ::new (static_cast<void*>(bytes_)) T(operands);
  }

  OperandsKind kind() const { return kind_; }
  /// Requires the operands to be a T. Decoder::emit<RUN>() and kRunOf<RUN> derive T from RUN's
  /// type.
  template <typename T>
  const T& get() const {
    return *static_cast<const T*>(static_cast<const void*>(bytes_));
  }
  template <typename T>
  T& get() {
    return *static_cast<T*>(static_cast<void*>(bytes_));
  }
  /// Returns null if the operands are another struct.
  template <typename T>
  const T* find() const {
    return holds<T>() ? &get<T>() : nullptr;
  }

 private:
  static constexpr size_t kBytesMax = 24;

  template <typename T>
  bool holds() const {
    if constexpr (std::is_same_v<T, MemoryOperands>) {
      return kind_ >= OperandsKind::Access && kind_ <= OperandsKind::Bulk;
    } else {
      return kind_ == T::kKind;
    }
  }

  alignas(int64_t) std::byte bytes_[kBytesMax] = {};
  OperandsKind kind_ = OperandsKind::None;
};

}  // namespace gpuemu::emulator
