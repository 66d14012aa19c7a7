#include "bindings/libcuda/graph_calls/conditions.h"

#include <cstring>
#include <map>
#include <mutex>

#include "bindings/libcuda/graph_calls/graph_access.h"

namespace gpuemu::libcuda {
namespace {

struct Condition {
  int device = 0;
  std::optional<uint32_t> at_launch;
  bool has_node = false;
  std::mutex launch;  ///< Locked by a launch that sets and reads the condition.
};

/// By handle, guarded by graphs_mutex(). Entries are never removed: a few bytes each, as in the
/// driver.
std::map<uint64_t, Condition>& conditions() {
  static auto* const kAll = new std::map<uint64_t, Condition>;
  return *kAll;
}

constexpr unsigned kBodiesMax = 1024;

bool has_right_size(ConditionType type, unsigned size) {
  switch (type) {
    case ConditionType::If:
      return size == 1 || size == 2;
    case ConditionType::While:
      return size == 1;
    case ConditionType::Switch:
      return size >= 1 && size <= kBodiesMax;
  }
  return false;
}

int wait_for(const Place& place) {
  const GraphsUnlocked unlocked;
  return code_of(place.slot->streams->synchronize(place.stream));
}

int write_condition(const Place& place, uint64_t handle, uint32_t value) {
  const auto bytes = std::as_bytes(std::span(&value, 1));
  const Status written = place.slot->streams->upload(place.stream, handle, bytes);
  return written ? wait_for(place) : code_of(written);
}

/// Waits for the issued work and reads the condition.
int read_condition(const Place& place, uint64_t handle, uint32_t& value) {
  const auto bytes = std::as_writable_bytes(std::span(&value, 1));
  const Status read = place.slot->streams->download(place.stream, bytes, handle);
  return read ? wait_for(place) : code_of(read);
}

/// Returns which graph of the node runs next; nothing if none does.
std::optional<size_t> chosen(const ConditionalWork& work, uint32_t value) {
  switch (work.type) {
    case ConditionType::If:
      if (value != 0) return 0;
      return work.bodies.size() == 2 ? std::optional<size_t>(1) : std::nullopt;
    case ConditionType::While:
      return value != 0 ? std::optional<size_t>(0) : std::nullopt;
    case ConditionType::Switch:
      return value < work.bodies.size() ? std::optional<size_t>(value) : std::nullopt;
  }
  return std::nullopt;
}

int run_condition(const Place& place, const ConditionalWork& work, const GraphStep& step) {
  for (;;) {
    uint32_t value = 0;
    if (const int code = read_condition(place, work.condition, value); code != CUDA_SUCCESS) {
      return code;
    }
    const auto next = chosen(work, value);
    if (!next) return CUDA_SUCCESS;
    if (const int code = run_steps(place, step.inside[*next]); code != CUDA_SUCCESS) return code;
    if (work.type != ConditionType::While) return CUDA_SUCCESS;
  }
}

}  // namespace

int conditional_work(Process& driver, const GraphState& graph, ConditionalNode* given,
                     NodeWork& made) {
  if (given == nullptr || !has_right_size(given->type, given->size)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  const auto found = conditions().find(given->condition);
  // A condition has one node.
  if (found == conditions().end() || found->second.device != graph.device() ||
      found->second.has_node) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  ConditionalWork work;
  work.condition = given->condition;
  work.type = given->type;
  for (unsigned i = 0; i < given->size; ++i) {
    work.bodies.push_back(std::make_shared<GraphState>(graph.device()));
    driver.graphs.add(work.bodies.back());
  }
  found->second.has_node = true;
  made = std::move(work);
  return CUDA_SUCCESS;
}

void tell_bodies(Process& driver, Node& node, ConditionalNode& told) {
  node.told_bodies.clear();
  for (const auto& body : graphs_inside(node.work)) {
    const auto known =
        driver.graphs.which([&](const GraphState& one) { return &one == body.get(); });
    node.told_bodies.push_back(known.empty() ? driver.graphs.add(body) : known.front());
  }
  told.bodies = node.told_bodies.data();
}

bool is_step(const Node& node) {
  if (node.type() == NodeType::Conditional) return true;
  const auto inside = graphs_inside(node.work);
  return std::ranges::any_of(inside, [](const auto& graph) { return any_node(*graph, is_step); });
}

std::vector<std::unique_lock<std::mutex>> lock_conditions(const GraphState& graph) {
  std::map<uint64_t, std::mutex*> used;  // In one order for all launches.
  (void)any_node(graph, [&](const Node& node) {
    const auto* const work = std::get_if<ConditionalWork>(&node.work);
    if (work != nullptr) used[work->condition] = &conditions().at(work->condition).launch;
    return false;
  });
  std::vector<std::unique_lock<std::mutex>> locks;
  const GraphsUnlocked unlocked;
  for (const auto& [handle, mutex] : used) locks.emplace_back(*mutex);
  return locks;
}

int set_conditions(const Place& place, const GraphState& graph) {
  int code = CUDA_SUCCESS;
  (void)any_node(graph, [&](const Node& node) {
    const auto* const work = std::get_if<ConditionalWork>(&node.work);
    if (work == nullptr) return false;
    const Condition& known = conditions().at(work->condition);
    if (known.at_launch) code = write_condition(place, work->condition, *known.at_launch);
    return code != CUDA_SUCCESS;
  });
  return code;
}

int run_steps(const Place& place, const std::vector<GraphStep>& steps) {
  for (const GraphStep& step : steps) {
    if (step.work != 0) {
      const Status issued = place.slot->streams->launch_graph(step.work, place.stream);
      if (!issued) return code_of(issued);
    }
    if (step.node == nullptr) continue;
    const auto* const choice = std::get_if<ConditionalWork>(&step.node->work);
    const int code = choice == nullptr ? run_steps(place, step.inside.front())
                                       : run_condition(place, *choice, step);
    if (code != CUDA_SUCCESS) return code;
  }
  return CUDA_SUCCESS;
}

GPUEMU_DRIVER_API int cuGraphConditionalHandleCreate(uint64_t* handle, Graph graph, Context context,
                                                     unsigned at_launch, unsigned flags) {
  constexpr unsigned kAssign = 1;
  return with_graph(graph, [&](Process& driver, const GraphState& state) -> int {
    if (handle == nullptr || (flags & ~kAssign) != 0) return CUDA_ERROR_INVALID_VALUE;
    const auto owner = driver.contexts.find(context == nullptr ? current_context() : context);
    if (owner == nullptr || owner->device != state.device()) return CUDA_ERROR_INVALID_CONTEXT;
    Device& device = *slot_of(driver, state).device;
    const auto made = device.allocate(sizeof(uint32_t), "condition of a graph");
    if (!made) return code_of(made.error());
    if (const Status empty = device.fill(*made, std::byte{0}, sizeof(uint32_t)); !empty) {
      return code_of(empty);
    }
    driver.races.leave_out(*made, sizeof(uint32_t));  // Instances of the graph share it.
    Condition& known = conditions()[*made];
    known.device = state.device();
    if ((flags & kAssign) != 0) known.at_launch = at_launch;
    *handle = *made;
    return CUDA_SUCCESS;
  });
}

}  // namespace gpuemu::libcuda
