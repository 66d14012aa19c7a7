// From an op on tensors to launches on a device: checks the call, chooses the variant, launches it
// on a stream. Waits for nothing, unless variants have to be timed or a log wants times.
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

struct OpCall {
  const OpKind* op = nullptr;
  std::span<const DeviceTensor> inputs, outputs;
  uint32_t schema_id = 0;
  std::span<const std::byte> attributes = {};
  StreamId stream = kDefaultStream;
  std::string_view variant = {};  ///< This one and no other; "": the policy chooses.
  /// Variants that were added later do not take part.
  uint64_t generation_max = UINT64_MAX;
  /// For call_exact(): receives a list for each output, empty for one that is not of floats.
  std::vector<std::vector<ShadowElement>>* exact = nullptr;
};

/// What was decided about one call.
struct DispatchRecord {
  std::string op, variant;
  std::string why;           ///< "first supported", "preferred", "fastest of 3: 12.1 us" ...
  std::string shapes;        ///< "x [2, 3], y [2, 3]"
  std::string dtypes;        ///< "T = float32"
  double microseconds = -1;  ///< On the device; -1 where it was not timed.
  std::vector<std::vector<int64_t>> inputs = {}, outputs = {};  ///< Shapes.
  TypeBinding types = {};
  StreamId stream = kDefaultStream;
  bool is_captured = false;
};

struct DispatchOptions {
  DispatchPolicy policy = {};
  std::string folder = {};  ///< Compiled modules and timings between processes; "": none.
  /// Told once for each preference and reason that it cannot be followed.
  std::function<void(const std::string& warning)> warn = {};
  /// When set, every call is waited for and told, by the thread that called and with no lock held.
  std::function<void(const DispatchRecord& record)> log = {};
};

class TuningCopy;

/// Any thread.
class Dispatcher {
 public:
  /// `device` and `registry` outlive the dispatcher.
  static Result<std::unique_ptr<Dispatcher>> create(Device& device, const OpRegistry& registry,
                                                    DispatchOptions options);

  /// InvalidArgument: the call is wrong, and the message says which operand. Unsupported: no
  /// variant computes it; the message has each one's reason. Then what launching says.
  Status call(const OpCall& call);
  /// Everything that call() does before its launches: what they need is loaded then.
  Status prepare(const OpCall& call);
  /// As call(), on a device that follows rounding, and waits: fills `call.exact`, which is not
  /// null, with what the elements would be without any rounding. Unsupported on other devices and
  /// for a variant that a library computes.
  Status call_exact(const OpCall& call);

  void set_policy(DispatchPolicy policy);
  using Log = std::function<void(const DispatchRecord& record)>;
  /// A call that has begun in another thread may still tell the one before. times: each call is
  /// waited for and its record has its time.
  void set_log(Log log, bool times = true);
  /// Workspaces of captures that are over. They are the caller's: a graph uses them.
  std::vector<uint64_t> take_captured_workspaces();
  std::string policy_json();
  /// Each call becomes an op of the profile. Null: none, which costs one comparison. It must stay
  /// until another is set and every call that began before has returned.
  void set_profiler(Profiler* profiler) { profiler_ = profiler; }
  const OpRegistry& registry() const { return registry_; }
  ModuleCache& modules() { return *modules_; }
  /// Every entry of a variant for every combination of its dtypes, as calls would load them.
  /// Compile for a source that is wrong, InvalidArgument for arguments that an entry does not have.
  Status compile(const OpKind& op, const KernelVariant& variant);

 private:
  struct Choice {
    const KernelVariant* variant = nullptr;
    std::string why;  ///< Only when a log wants it.
  };
  struct Telling {
    Log tell;
    bool times = false;
  };
  using Order = std::vector<const KernelVariant*>;
  /// What is known about one op: its order of trying, and entries that were looked up.
  struct OpState {
    uint64_t generation = 0;  ///< Registry generation for which `order` was made.
    std::shared_ptr<const Order> order;
    std::map<std::pair<const KernelVariant*, uint64_t>, const LoadedEntry*> entries;
  };
  /// A call that was checked.
  struct Checked {
    OpCase c;
    TypeBinding types;
  };

  Dispatcher(Device& device, Streams& streams, const OpRegistry& registry);
  Result<Checked> checked(const OpCall& call);
  OpState& state_of(const OpKind& op);
  /// NotFound, Compile; InvalidArgument for arguments that the entry does not have.
  Result<const LoadedEntry*> load_entry(const OpKind& op, const KernelVariant& variant,
                                        uint32_t entry, const TypeBinding& types);
  /// Why the variant does not compute the call, or not on this machine; "" when it does.
  std::string refusal_of(const OpCase& c, const KernelVariant& variant, const TypeBinding& types,
                         const OpCall& call);
  /// What changes with the code of the variant.
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
  /// `decided` receives the steps of a call that needs no workspace and no library.
  Status launch(const OpCase& c, const KernelVariant& variant, const TypeBinding& types,
                StreamId stream, DecidedCall* decided = nullptr);
  Status launch_steps(const OpCase& c, uint64_t workspace_bytes, const KernelVariant& variant,
                      const TypeBinding& types, StreamId stream, DecidedCall* decided);
  Status launch_profiled(const OpCase& c, const Choice& choice, const TypeBinding& types,
                         const OpCall& call, DecidedCall* decided);
  Result<DispatchRecord> launch_told(const OpCase& c, const Choice& choice,
                                     const TypeBinding& types, StreamId stream, bool times);
  /// False for a call whose decision does not follow from what a key holds.
  bool find_key(const OpCall& call, CallKey& key) const;
  Status launch_decided(const DecidedCall& decided, const OpCall& call);
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
  const uint64_t serial_;                    ///< No other dispatcher of the process has it.
  std::atomic<uint64_t> policy_number_ = 0;  ///< Changes with policy_.
  std::atomic<bool> is_told_ = false;        ///< Whether there is a log_; spares calls the lock.
  std::atomic<bool> is_timed_ = false;       ///< The strategy is to choose by time.
  Workspaces workspaces_;
  Libraries libraries_;
  std::mutex mutex_;  ///< Guards everything below.
  std::shared_ptr<const Telling> log_;
  DispatchPolicy policy_;
  std::unordered_map<const OpKind*, OpState> states_;
  std::set<std::string> warned_;
};

}  // namespace gpuemu
