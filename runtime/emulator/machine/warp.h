// The state of one warp and of the block it belongs to. Handlers see only this.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "runtime/device/device.h"
#include "runtime/emulator/code/step.h"
#include "runtime/emulator/machine/async_copies.h"
#include "runtime/emulator/machine/definedness.h"
#include "runtime/emulator/machine/nonfinite.h"
#include "runtime/emulator/machine/step_observer.h"
#include "runtime/emulator/memory/lane_clock.h"
#include "runtime/emulator/memory/memory.h"
#include "runtime/emulator/memory/race_history.h"

namespace gpuemu::emulator {

struct Counters;
struct Program;
class GlobalRaces;
class Textures;
class Turns;

struct Checks {
  bool init = false, race = false, sync = false, division = false, nonfinite = false;
  bool global_race = false;
  bool writes = false;   ///< A byte that two stores write is found.
  bool defines = false;  ///< Stores note what they write: `init` or `writes`.
};

/// The system's part of a block's shared memory from sm_80 on. Groups of several warps keep their
/// barriers in its second half (cooperative_groups/details/memory.h of CUDA), which starts as
/// zeros.
inline constexpr uint32_t kReservedSharedBytes = 1024, kReservedSharedAlign = 16;

/// In whose multiples a block gets shared memory (measured on sm_90).
inline constexpr uint32_t kSharedGranule = 128;

/// What all blocks of a launch share.
struct Launch {
  const Program* program = nullptr;
  const Code* entry = nullptr;
  const LaunchConfig* config = nullptr;
  Memory* memory = nullptr;
  const Textures* textures = nullptr;
  GlobalRaces* races = nullptr;  ///< Absent when nobody asks for them.
  Follower* follower = nullptr;  ///< The same.
  std::vector<std::byte> params;
  std::vector<uint8_t> params_given;  ///< Per byte whether it is one of a parameter.
  Dim3 cluster;                       ///< Blocks of one cluster.
  uint64_t workspace = 0;             ///< Of the grid's barrier; 0 where the program has none.
  uint32_t own_shared_bytes = 0;      ///< What the kernel declares and the launch adds.
  uint32_t shared_bytes = 0;          ///< With the system's part behind it, where the program asks.
  int sm = 80;
  Checks checks;
  Accesses accesses = 0;
  std::chrono::steady_clock::time_point began;
  std::atomic<std::chrono::steady_clock::time_point> deadline;
  std::atomic<bool> cut_short = false;  ///< The deadline is end_soon()'s.
  std::atomic<bool> stop = false;
  /// Written for every block: apart from what every instruction reads.
  alignas(64) std::atomic<uint64_t> next_block = 0;
  std::atomic<uint64_t> executed = 0;
  /// Of the frames of calls in progress. Frames may outlive the launch.
  alignas(64) std::shared_ptr<std::atomic<uint64_t>> call_bytes =
      std::make_shared<std::atomic<uint64_t>>(0);
  uint64_t calls_limit = ~uint64_t{0};    ///< Of those.
  std::atomic<uint64_t> clock_ahead = 0;  ///< Of every block's own clock.
  std::atomic<uint32_t> nonfinite = 0;    ///< 1: a NaN was made, 2: an infinity.
  std::mutex mutex;                       ///< Guards what follows.
  std::vector<DeviceFinding> findings;
  std::shared_ptr<Counters> counters;  ///< Of the blocks that ended; nullptr: nobody asked.
  std::vector<std::string> printed;
  std::string printed_tail;  ///< Text after the last line end.
  size_t printed_bytes = 0;
};

inline uint32_t reserved_shared_offset(const Launch& launch) {
  return (launch.own_shared_bytes + kReservedSharedAlign - 1) / kReservedSharedAlign *
         kReservedSharedAlign;
}

struct Frame {
  ~Frame() {
    if (charged_to != nullptr) *charged_to -= charged;
  }
  std::shared_ptr<std::atomic<uint64_t>> charged_to;  ///< Launch::call_bytes; entries have none.
  uint64_t charged = 0;
  const Code* code = nullptr;
  std::unique_ptr<std::byte[]> storage;
  std::byte* registers = nullptr;  ///< 64-byte aligned, inside storage.
  uint64_t storage_bytes = 0;
  std::vector<std::byte> params;  ///< Lane after lane.
  uint32_t warp = kNone;          ///< Whose values the prologue left in the registers.
  uint64_t block = 0;             ///< The same, as Block::linear.
  uint32_t local_base = 0;
  /// Where each lane's memory of alloca ends, from local_base + Code::local_bytes on; none until
  /// the function takes some.
  std::unique_ptr<std::array<uint32_t, kLanes>> stack_ends;
  const CallSite* site = nullptr;
  UndefinedRegisters undefined;
  std::unique_ptr<FollowedRegisters> followed;

  /// Whether `from` is the same call, made by other lanes of the warp on their own.
  bool may_take(const Frame& from) const;
  /// These lanes of such a frame go on in this one.
  void take_lanes(const Frame& from, uint32_t lanes);
};

/// Lanes that run together, and where they meet those they parted from.
struct StackEntry {
  uint32_t pc = 0, mask = 0, reconverge = kNone;
  /// Lanes that go on from here together in the end: those of `mask`, and those that wait here or
  /// went past on a path of their own. Who exits before it comes here is none of them.
  uint32_t due = 0;
};

/// A call in progress. Paths that parted inside it share the frame: every lane has its own slots.
struct Level {
  std::shared_ptr<Frame> frame;
  uint32_t base_depth = 0;  ///< Stack entries below belong to callers.
};

/// Lanes that proceed independently of the warp's other lanes, as threads do since sm_70. A warp
/// has one path until lanes wait in a loop for lanes that they parted from.
struct Path {
  std::vector<StackEntry> stack;
  std::vector<Level> levels;
  bool arrived = false;    ///< At a .sync instruction that other paths must reach too.
  uint32_t waits_for = 0;  ///< Lanes that it needs there.
};

enum class WarpState : uint8_t { Running, AtBarrier, AtCluster, Done };

struct Block;
class Cluster;

class Warp : public WarpProgress {
 public:
  // --- Hot state, used by handlers ---
  std::byte* regs = nullptr;
  uint32_t mask = 0;    ///< Lanes of the current instruction.
  uint32_t active = 0;  ///< Lanes of the current stack entry.
  uint32_t reconverge = kNone;
  const Ins* code_begin = nullptr;          ///< Of the current function.
  const uint32_t* lists = nullptr;          ///< Of the current function.
  const CompiledSteps* compiled = nullptr;  ///< The same, per step; nullptr: there are none.
  uint32_t carry = 0;                       ///< CC.CF of every lane.
  Block* block = nullptr;
  Launch* launch = nullptr;
  Allocation** cache = nullptr;
  std::byte* local = nullptr;  ///< Lane after lane, local_stride bytes each.
  uint32_t local_stride = 0;
  LaneOrder order;  ///< Of its lanes' accesses; kept up to date for the race detectors.

  // --- Rest ---
  /// Of the race detector of global memory; LaneOrder::now() when the segment began.
  uint32_t segment = 0, segment_epoch = 0, segment_event = 0;
  uint32_t segment_ordered = 0;  ///< What its lanes did in global memory before that is ordered.
  bool fenced = false;           ///< It executed a fence and no atomic or volatile access since.
  bool watched = false;  ///< Registers may hold what nothing wrote: run_watched() follows them.
  Definedness definedness;
  Nonfinite nonfinite;
  WarpState state = WarpState::Done;
  uint32_t index = 0;
  uint32_t exists = 0;  ///< Lanes that have a thread.
  uint32_t alive = 0;   ///< Lanes that have not exited.
  uint32_t barrier = 0;
  uint32_t cluster_phase = 0;    ///< Of the cluster's barrier when the warp arrived there.
  bool cluster_arrived = false;  ///< And has not waited yet.
  uint64_t slices = 0;           ///< That ended while it ran, since it last waited or parted.
  uint32_t unwatched = 0;        ///< Slices until it is looked at whether it only waits.
  uint32_t unwatched_next = 0;   ///< And how many after a look that found it at work.
  bool spins = false;            ///< When last looked at, its path only waited for others.
  std::vector<StackEntry> stack;
  std::vector<Level> levels;
  uint32_t depth = 0;        ///< Levels in use.
  std::vector<Path> parked;  ///< The paths other than the current one.
  std::vector<std::byte> local_storage;
  std::vector<uint8_t> local_defined;
  std::unique_ptr<WarpCopies> copies;  ///< None until it starts one.

  uint32_t* u32(uint32_t offset) { return reinterpret_cast<uint32_t*>(regs + offset); }
  uint64_t* u64(uint32_t offset) { return reinterpret_cast<uint64_t*>(regs + offset); }
  uint32_t& pred(uint32_t offset) { return *reinterpret_cast<uint32_t*>(regs + offset); }
  Frame& frame() { return *levels[depth - 1].frame; }
  /// Its last instruction, or the next one when that belongs to another function.
  const Ins& next_instruction() {
    const std::vector<Ins>& all = code().ins;
    const bool own = ins >= all.data() && ins < all.data() + all.size();
    return own ? *ins : all[pc < all.size() ? pc : 0];
  }
  const Code& code() { return *frame().code; }

  /// Makes it ready to run the launch's entry with `lanes` threads. Takes its frame when it runs.
  void start(uint32_t warp_index, uint32_t lanes);
  /// After its end: the next warp may have the frame, which is still in the cache.
  void give_back_frame();
  /// Runs until it waits, ends or the slice is over.
  void run(uint64_t slice);
  /// Whether a register of any frame is undefined.
  bool has_undefined() const;
  void enter(const Code& code, const CallSite* site);
  void jump(uint32_t target) { pc = target; }
  /// Lanes `taken` go to `target`, the other active ones go on; all meet at `meet`.
  void diverge(uint32_t taken, uint32_t target, uint32_t meet);
  /// Lanes leave the function, or the kernel from the entry.
  void leave(uint32_t lanes);
  /// Before a call of `lanes` only: the other active lanes wait behind it.
  void split_for_call(uint32_t lanes);
  /// Before an indirect call of `lanes` while `later` have other callees: those come back to it.
  void split_for_calls(uint32_t lanes, uint32_t later);
  void exit_lanes(uint32_t lanes);
  /// After a slice without an end: gives lanes their turn that wait for the current ones.
  void yield();
  /// Whether a .sync instruction must wait for those of the `wanted` lanes that have not exited.
  /// If so it will be executed again. Lanes that wait for this path's to meet them go on first:
  /// they may exit.
  bool await_lanes(const Ins& ins, uint32_t wanted);
  /// Those of the `wanted` lanes that went past the current instruction without executing it and
  /// exited behind it.
  uint32_t gone_past(uint32_t wanted) const;
  void wait_at_barrier(uint32_t id);
  void stop_slice() { remaining = 0; }
  /// __syncwarp() and barriers: `lanes` (and those that do not exist) know what each has done.
  void sync_lanes(uint32_t lanes) {
    if (order.full()) forget_order();
    if ((exists & ~lanes) == 0) return order.sync_all();
    if (launch->checks.race || launch->races != nullptr) order.sync(lanes & exists);
  }
  /// An atomic or volatile access to global memory: lanes may hold a lock there, or a flag.
  void pass_global() {
    if (order.full()) forget_order();
    segment_ordered = order.pass();
  }
  /// Shuffles and their like: they have waited for each other.
  void meet_lanes(uint32_t lanes) {
    if (order.full()) forget_order();
    if ((exists & ~lanes) == 0) return order.meet_all();
    if (launch->checks.race || launch->races != nullptr) order.meet(lanes & exists);
  }
  /// After a change of the function, or of what the warp has of it.
  void load_function();
  void ensure_local(uint32_t bytes);
  /// Behind the current function's local memory, that of alloca included.
  uint32_t local_end();

 private:
  void run_watched();
  void run_stretch(const Ins* next);
  void run_compiled(CompiledSteps steps);
  void fill_frame(Frame& frame, const Code& code);
  bool split_waiting();
  Path take_path();
  void resume(size_t parked_index);
  size_t next_path() const;
  bool ends_at(size_t entry) const;
  void forget_due(uint32_t lanes);
  bool flatten(Path& path);
  bool absorb_arrived();
  void pop_reconverged();
  void settle_top();
  void save_top() {
    stack.back().pc = pc;
    stack.back().mask = active;
  }
  void load_top();
  bool may_enter(const Code& code, uint32_t local_base);
  bool charge(Frame& frame, const Code& code);
  void forget_order();

  bool alone_ = false;  ///< The next .sync instruction waits for no other path.
};

struct Barrier {
  uint32_t arrived = 0;   ///< Threads.
  uint32_t expected = 0;  ///< Threads; 0: the whole block.
  uint32_t reduce_and = 1, reduce_or = 0, reduce_count = 0;
};
inline constexpr uint32_t kBarriers = 16;

struct Block {
  Launch* launch = nullptr;
  Cluster* cluster = nullptr;
  uint32_t rank = 0;   ///< In the cluster.
  bool ended = false;  ///< Its shared memory is gone.
  Dim3 index{0, 0, 0};
  uint32_t threads = 0, live_threads = 0;  ///< All; those that have not exited.
  std::vector<Warp> warps;
  std::vector<std::byte> shared;
  std::vector<uint8_t> shared_defined;
  RaceHistory race;           ///< Of shared memory.
  RaceHistory volatile_race;  ///< Of volatile accesses among themselves; none until one.
  uint32_t epoch = 1;
  uint32_t barriers_in_use = 0;  ///< Bit per barrier with arrivals.
  std::array<Barrier, kBarriers> barriers;
  std::map<uint32_t, uint64_t> mbarriers;  ///< Those that are initialised, and their words.
  std::vector<BulkCopy> bulk;              ///< Under way, to signal an mbarrier of this block.
  std::vector<Allocation*> cache;
  std::vector<std::shared_ptr<Frame>> frames;  ///< Of the entry, without a warp.
  uint64_t warp_instructions = 0;
  uint64_t executed =
      0;  ///< Thread instructions of those that ran in it: the launch gets them at its end.
  uint64_t clock = 0;
  bool clock_stopped = false;  ///< While it is looked at whether all but time repeats itself.
  std::shared_ptr<Counters> counters;  ///< Since its start; nullptr: nobody asked.
  std::shared_ptr<Turns> turns;        ///< Of a launch that does not go in order; else nullptr.
  uint64_t linear = 0;                 ///< Index in the grid.
  /// Of the last fence between ordinary stores to shared memory and asynchronous copies.
  uint32_t proxy_epoch = 0;
  // What the race detector of global memory knows of its order with other blocks.
  uint64_t acquired = 0;
  uint32_t fences = 0, published = 0;
  uint32_t sync_ops = 0;  ///< Atomic and volatile accesses to global memory.

  explicit Block(Launch& of);
  ~Block();
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;
  void start(Dim3 at);
  /// Runs until it ends (true), or for so many turns of every warp where threads of different
  /// blocks may wait for each other.
  bool advance(uint32_t rounds);
  /// A frame for the entry: of the same warp if there is one.
  std::shared_ptr<Frame> take_frame(uint32_t warp_index);
  /// A warp can go on by itself.
  bool can_run() const;
  /// No thread will go on: `why`.
  void give_up(const std::string& why);
  /// Runs every warp that can go on for a while, in which no time passes, and says whether each
  /// repeats what it did without changing any memory. Then none of them goes on before somebody
  /// else changes something, or time passes.
  bool spins();
  /// What the clocks show, in units of 16 ticks. Each look at one takes a unit.
  uint64_t clock_now() const { return clock + launch->clock_ahead.load(std::memory_order_relaxed); }
  void pass_time() { clock += clock_stopped ? 0 : 1; }
  /// Lets the waiting warps of barrier `id` go on when enough threads have arrived.
  void release_if_complete(uint32_t id);
  /// Accesses from now on do not race with those before.
  void next_epoch();

 private:
  void finish();
  bool over_budget();
  void take_turns(Warp& warp);
  bool only_waits(Warp& warp);
  bool never_ends(Warp& warp);
  /// One turn of the warp; false when the launch has to end.
  bool run_warp(Warp& warp, uint64_t slice);
  /// advance() in the order of `turns`.
  bool advance_in_turns(uint32_t rounds);
  bool end_unless_waiting();
  /// After a slice of the warp: what its end means for the others.
  void settle(Warp& warp);
  void report_unfinished_copy();
  void report_stuck(DeviceFindingKind kind, const std::string& message);

  uint32_t unchecked_ = 0;    ///< Slices since the last look at the clock.
  uint32_t idle_rounds_ = 0;  ///< Rounds on end in which every warp only waited.
};

/// Thread index of `lane` in its block.
Dim3 thread_of(const Warp& warp, uint32_t lane);

/// One finding, folded with earlier ones of the same kind and pair of instructions. Stops the
/// launch when its kind does or when the list is full.
struct Incident {
  DeviceFindingKind kind;
  std::string message = {};
  uint32_t lane = 0;
  std::string tensor = {};
  int64_t byte_offset = 0;
  uint64_t count = 1;
  const ptx::Instruction* other = nullptr;  ///< The second instruction of a pair.
  const ptx::Instruction* at = nullptr;     ///< Whose line it is, if not the one that reports.
  const Code* code = nullptr;  ///< Of the instruction, where it is not the current function.
};
void report(Warp& warp, const Ins& ins, Incident incident);

/// "ld.shared.f32 %f1, [%r2] at reduce.cu:11".
std::string describe(const ptx::Module& module, const ptx::Instruction& instruction);
/// "offset 12 ('tile'[3])" of shared memory, counting elements of `element` bytes.
std::string shared_place(const Warp& warp, uint64_t offset, uint32_t element);
/// Bytes of one element that a load, store or atomic accesses.
uint32_t element_bytes(const ptx::Instruction& instruction);
/// The instruction that `ins` is a part of.
const ptx::Instruction& instruction_of(Warp& warp, const Ins& ins);

}  // namespace gpuemu::emulator
