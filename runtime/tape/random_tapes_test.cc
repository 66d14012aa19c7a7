// Tests on random tapes that the output queue is legal, complete and repeatable.
#include <algorithm>
#include <bit>
#include <random>

#include "runtime/tape/test_tapes.h"
#include "runtime/tape/trace_json.h"

namespace gpuemu::tape {
namespace {

using Random = std::mt19937_64;

uint64_t below(Random& random, uint64_t limit) { return random() % limit; }

struct Shape {
  size_t ops = 40;
  uint64_t sessions = 3;
  bool fetches = true, drops = true;
  uint64_t ticks = 0;  ///< Entries are admitted up to this tick.
};

/// A legal tape of leaves and ops of one to three inputs.
std::vector<Entry> random_tape(Random& random, const Shape& shape) {
  std::vector<Entry> tape;
  std::map<std::string, std::vector<std::string>> held;
  uint64_t at = 0;
  for (size_t i = 0; i < shape.ops; ++i) {
    const std::string session = fmt::format("s{}", below(random, shape.sessions));
    std::vector<std::string>& names = held[session];
    const uint64_t choice = below(random, 10);
    Entry entry = leaf(fmt::format("t{}", i), 8 * (1 + below(random, 20)));
    if (choice >= 3 && !names.empty()) {
      entry.op = "add";
      for (uint64_t n = 1 + below(random, 3); n > 0; --n) {
        entry.inputs.push_back(names[below(random, names.size())]);
      }
    }
    const bool takes = choice >= 8 && !names.empty();
    if (takes && choice == 8 && shape.fetches) entry = fetch(names[below(random, names.size())]);
    if (takes && choice == 9 && shape.drops) {
      const uint64_t which = below(random, names.size());
      entry = drop(names[which]);
      names.erase(names.begin() + static_cast<ptrdiff_t>(which));
    }
    if (entry.makes_tensor()) {
      entry.cost_us = below(random, 40);
      names.push_back(entry.id);
    }
    at += shape.ticks > 0 ? below(random, 3) : 0;
    entry.at = std::min(at, shape.ticks);
    tape.push_back(of(session, std::move(entry)));
  }
  return tape;
}

/// Checks the queue against the tape: every op ran once or failed, every fetch was done.
std::string missing_of(const Trace& trace) {
  std::map<uint64_t, int> done;
  for (const Queued& line : trace.output_queue) {
    if (line.seq) ++done[*line.seq];
  }
  std::map<std::pair<std::string, std::string>, State> states;
  size_t defined = 0;
  for (const Handle& one : trace.handles) states[{one.session, one.id}] = one.state;
  for (const Entry& entry : trace.input_tape) {
    if (entry.makes_tensor()) ++defined;
    if (entry.op == kDrop) continue;
    const std::string& id = entry.makes_tensor() ? entry.id : entry.inputs.front();
    const bool failed = states.at({entry.session, id}) == State::Failed;
    if (done[entry.seq] != (failed ? 0 : 1)) return fmt::format("entry {}", entry.seq);
  }
  return defined == trace.handles.size() ? "" : "a handle";
}

Settings random_settings(Random& random, bool limited) {
  std::vector<Device> some = devices(1 + below(random, 4));
  for (Device& one : some) {
    if (limited) one.memory_bytes = 300 + below(random, 500);
    one.latency_us = static_cast<double>(below(random, 20));
    one.bytes_per_us = static_cast<double>(1 + below(random, 100));
  }
  return {.devices = some,
          .seed = below(random, 10),
          .policy = below(random, 2) == 0 ? Policy::Balanced : Policy::Locality};
}

TEST(RandomTapes, GiveLegalAndCompleteQueues) {
  for (uint64_t seed = 0; seed < 600; ++seed) {
    Random random(seed);
    const Shape shape{.ops = 5 + below(random, 80), .ticks = seed % 2 == 0 ? 0 : below(random, 30)};
    const std::vector<Entry> tape = random_tape(random, shape);
    const Trace trace = scheduled(tape, random_settings(random, seed % 3 != 0));
    ASSERT_EQ(Replay(trace).problem(), "") << "seed " << seed << "\n" << encode_trace(trace);
    ASSERT_EQ(missing_of(trace), "") << "seed " << seed << "\n" << encode_trace(trace);
  }
}

TEST(RandomTapes, GiveTheSameQueueWhenTheTraceIsPlannedAgain) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    Random random(seed);
    const Settings settings = random_settings(random, seed % 2 == 0);
    const std::vector<Entry> tape = random_tape(random, {.ops = 40});
    Scheduler live(settings);
    for (size_t begin = 0; begin < tape.size();) {  // In parts, some while others run.
      const size_t end = std::min<size_t>(tape.size(), begin + 1 + below(random, 9));
      std::vector<Entry> part(tape.begin() + static_cast<ptrdiff_t>(begin),
                              tape.begin() + static_cast<ptrdiff_t>(end));
      for (Entry& entry : part) entry.at = std::max<uint64_t>(live.next_tick(), 1);
      ASSERT_TRUE(live.add(part));
      for (uint64_t steps = below(random, 12); steps > 0 && live.step(); --steps) {
      }
      begin = end;
    }
    while (live.step()) {
    }
    const Trace first = live.trace();
    const auto plan = decode_plan(encode_trace(first));
    ASSERT_TRUE(plan) << plan.error().message;
    const Trace again = scheduled(
        plan->input_tape, {.devices = plan->devices, .seed = plan->seed, .policy = plan->policy});
    ASSERT_EQ(again.output_queue, first.output_queue) << "seed " << seed;
    ASSERT_EQ(again.ticks, first.ticks) << "seed " << seed;
  }
}

/// The fewest bytes that any placement moves, with every leaf where the trace has it.
uint64_t fewest_moved(const Trace& trace) {
  std::map<std::string, uint32_t> leaves;
  for (const Queued& line : trace.output_queue) {
    const bool is_leaf = line.kind == Kind::Run && trace.input_tape[*line.seq].is_leaf();
    if (is_leaf) leaves[line.id] = *line.device;
  }
  std::vector<const Entry*> ops;
  for (const Entry& entry : trace.input_tape) {
    if (entry.makes_tensor() && !entry.is_leaf()) ops.push_back(&entry);
  }
  uint64_t plans = 1;
  for (size_t i = 0; i < ops.size(); ++i) plans *= trace.devices.size();
  uint64_t least = UINT64_MAX;
  for (uint64_t plan = 0; plan < plans; ++plan) {
    std::map<std::string, uint32_t> home = leaves;
    uint64_t rest = plan, moved = 0;
    std::map<std::string, std::set<uint32_t>> copies;
    for (const Entry* one : ops) {
      const auto device = static_cast<uint32_t>(rest % trace.devices.size());
      rest /= trace.devices.size();
      for (const std::string& input : one->inputs) {
        const bool is_new = home.at(input) != device && copies[input].insert(device).second;
        const auto made = std::ranges::find(trace.input_tape, input, &Entry::id);
        if (is_new) moved += *made->bytes;
      }
      home[one->id] = device;
    }
    least = std::min(least, moved);
  }
  return least;
}

TEST(RandomTapes, MoveTheFewestBytesThatAnyPlacementDoes) {
  uint64_t moving = 0;
  for (uint64_t seed = 0; seed < 150; ++seed) {
    Random random(seed);
    const std::vector<Entry> tape =
        random_tape(random, {.ops = 9, .sessions = 1, .fetches = false, .drops = false});
    const Trace trace =
        scheduled(tape, {.devices = devices(2 + seed % 2), .policy = Policy::Locality});
    ASSERT_EQ(trace.totals.moved_bytes, fewest_moved(trace)) << "seed " << seed << "\n"
                                                             << encode_trace(trace);
    moving += trace.totals.moves;
  }
  EXPECT_GT(moving, 0U);
}

}  // namespace
}  // namespace gpuemu::tape
