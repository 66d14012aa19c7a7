// Turns an op on tensors into launches on a device: checks the call, selects the variant and
// launches it on a stream. Waits only if variants must be timed or a log needs times.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <unordered_map>

#include "ops/dispatch/check_case.h"
#include "ops/dispatch/libraries.h"
#include "ops/dispatch/policy.h"
#include "ops/dispatch/recent_calls.h"
#include "ops/dispatch/timings.h"
#include "ops/dispatch/workspaces.h"
#include "ops/modules/module_cache.h"
#include "ops/profile/profiler.h"
#include "runtime/device/stream.h"

namespace gpuemu {

struct ShadowElement;  // runtime/shadow/shadow.h

struct OpCall;

/// Checks that the operands of calls are in memory that they may use.
class OperandCheck {
 public:
  virtual ~OperandCheck() = default;
  virtual Status check(const OpCall& call) = 0;
  /// Changes whenever a call that was valid may be so no more.
  std::atomic<uint64_t> generation = 1;
};

struct OpCall {
  const OpKind* op = nullptr;
  std::span<const DeviceTensor> inputs, outputs;
  uint32_t schema_id = 0;
  std::span<const std::byte> attributes = {};
  StreamId stream = kDefaultStream;
  std::string_view variant = {};  ///< Use this variant only; "": the policy selects.
  /// Variants that were added later are ignored.
  uint64_t generation_max = UINT64_MAX;
  OperandCheck* operands = nullptr;  ///< Null: they are known to be valid.
  uint64_t tag = 0;                  ///< StreamLaunch::tag of its launches.
  /// For call_exact(): receives a list per output, empty for outputs that are not floats.
  std::vector<std::vector<ShadowElement>>* exact = nullptr;
};

/// The decision about one call.
struct DispatchRecord {
  std::string op, variant;
  std::string why;     ///< For example "first supported", "preferred", "fastest of 3: 12.1 us".
  std::string shapes;  ///< "x [2, 3], y [2, 3]"
  std::string dtypes;  ///< "T = float32"
  double microseconds = -1;  ///< On the device; -1 if it was not timed.
  std::vector<std::vector<int64_t>> inputs = {}, outputs = {};  ///< Shapes.
  TypeBinding types = {};
  StreamId stream = kDefaultStream;
  bool is_captured = false;
};

struct DispatchOptions {
  DispatchPolicy policy = {};
  std::string folder = {};  ///< Keeps compiled modules and timings between processes; "": does not
                            ///< keep them.
  /// Called once per preference that cannot be followed, with the reason.
  std::function<void(const std::string& warning)> warn = {};
  /// If set, every call is waited for and reported by the calling thread, with no lock held.
  std::function<void(const DispatchRecord& record)> log = {};
};

class TuningCopy;

/// Thread-safe.
class Dispatcher {
 public:
  /// `device` and `registry` must outlive the dispatcher.
  static Result<std::unique_ptr<Dispatcher>> create(Device& device, const OpRegistry& registry,
                                                    DispatchOptions options);

  /// Errors: InvalidArgument (the call is wrong; the message names the operand), Unsupported (no
  /// variant computes it; the message gives each one's reason), or those of the launch.
  Status call(const OpCall& call);
  /// Does everything that call() does before its launches, including loading the modules.
  Status prepare(const OpCall& call);
  /// Like call(), on a device that follows rounding, and waits. Fills `call.exact`, which must not
  /// be null, with the elements' values without rounding. Unsupported on other devices and for a
  /// variant computed by a library.
  Status call_exact(const OpCall& call);

  void set_policy(DispatchPolicy policy);
  using Log = std::function<void(const DispatchRecord& record)>;
  /// Sets the log. A call in progress on another thread may still use the previous one. `times`:
  /// each call is waited for, and its record includes its time.
  void set_log(Log log, bool times = true);
  /// Returns the workspaces of captures that have ended. The caller owns them, because a graph uses
  /// them.
  std::vector<uint64_t> take_captured_workspaces();
  std::string policy_json();
  /// Records each call as an op of the profile. Null: none, at the cost of one comparison. The
  /// profiler must outlive its replacement and all calls that began before it.
  void set_profiler(Profiler* profiler) { profiler_ = profiler; }
  const OpRegistry& registry() const { return registry_; }
  ModuleCache& modules() { return *modules_; }
  /// Loads every entry of a variant for every combination of its dtypes, as calls would. Compile if
  /// a source is wrong, InvalidArgument if arguments do not match an entry's parameters.
  Status compile(const OpKind& op, const KernelVariant& variant);

 private:
  struct Choice {
    const KernelVariant* variant = nullptr;
    std::string why;  ///< Set only if a log needs it.
  };
  struct Telling {
    Log tell;
    bool times = false;
  };
  using Order = std::vector<const KernelVariant*>;
  /// State of one op: the order in which variants are tried, and entries already looked up.
  struct OpState {
    uint64_t generation = 0;  ///< Registry generation of `order`.
    std::shared_ptr<const Order> order;
    std::map<std::pair<const KernelVariant*, uint64_t>, const LoadedEntry*> entries;
  };
  /// A checked call.
  struct Checked {
    OpCase c;
    TypeBinding types;
  };

  Dispatcher(Device& device, Streams& streams, const OpRegistry& registry);
  Result<Checked> checked(const OpCall& call);
  OpState& state_of(const OpKind& op);
  /// Errors: NotFound, Compile; InvalidArgument for arguments that do not match the entry's
  /// parameters.
  Result<const LoadedEntry*> load_entry(const OpKind& op, const KernelVariant& variant,
                                        uint32_t entry, const TypeBinding& types);
  /// Returns why the variant cannot compute the call, or not on this machine; "" if it can.
  std::string refusal_of(const OpCase& c, const KernelVariant& variant, const TypeBinding& types,
                         const OpCall& call);
  /// Returns a hash that changes with the variant's code.
  Result<std::string> hash_of(const OpCase& c, const KernelVariant& variant,
                              const TypeBinding& types);
  Result<const LoadedEntry*> entry_of(const OpKind& op, const KernelVariant& variant,
                                      uint32_t entry, const TypeBinding& types);
  Result<Choice> choose(const OpCase& c, const TypeBinding& types, const OpCall& call);
  Result<Choice> named(const OpCase& c, const TypeBinding& types, const Order& order,
                       const OpCall& call);
  Result<Choice> fastest(const OpCase& c, const TypeBinding& types,
                         const std::vector<const KernelVariant*>& able, StreamId stream);
  Result<double> time_variant(const TuningCopy& scratch, const KernelVariant& variant,
                              const TypeBinding& types);
  /// The stream of a call, and the tag of its launches.
  struct Issue {
    StreamId stream = kDefaultStream;
    uint64_t tag = 0;
  };
  /// `decided` receives the steps of a call that needs neither a workspace nor a library.
  Status launch(const OpCase& c, const KernelVariant& variant, const TypeBinding& types,
                const Issue& issue, DecidedCall* decided = nullptr);
  Status launch_steps(const OpCase& c, uint64_t workspace_bytes, const KernelVariant& variant,
                      const TypeBinding& types, const Issue& issue, DecidedCall* decided);
  Status launch_profiled(const OpCase& c, const Choice& choice, const TypeBinding& types,
                         const OpCall& call, DecidedCall* decided);
  Result<DispatchRecord> launch_told(const OpCase& c, const Choice& choice,
                                     const TypeBinding& types, const Issue& issue, bool times);
  /// Returns false for a call whose decision depends on more than a key holds.
  bool find_key(const OpCall& call, CallKey& key) const;
  Status launch_decided(DecidedCall& decided, const OpCall& call);
  Status launch_exact(const OpCase& c, const KernelVariant& variant, const TypeBinding& types,
                      std::vector<std::vector<ShadowElement>>& exact);
  void warn_once(const std::string& warning);

  Device& device_;
  Streams& streams_;
  const OpRegistry& registry_;
  std::unique_ptr<ModuleCache> modules_;
  std::unique_ptr<Timings> timings_;
  std::function<void(const std::string&)> warn_;
  std::atomic<Profiler*> profiler_ = nullptr;
  const uint64_t serial_;                    ///< Unique among the dispatchers of the process.
  std::atomic<uint64_t> policy_number_ = 0;  ///< Changes with policy_.
  std::atomic<bool> is_told_ = false;        ///< Whether log_ is set; avoids the lock for calls.
  std::atomic<bool> is_timed_ = false;       ///< The strategy selects by time.
  Workspaces workspaces_;
  Libraries libraries_;
  std::mutex mutex_;  ///< Guards all members below.
  std::shared_ptr<const Telling> log_;
  DispatchPolicy policy_;
  std::unordered_map<const OpKind*, OpState> states_;
  std::set<std::string> warned_;
};

}  // namespace gpuemu
