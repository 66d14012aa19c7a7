#include "runtime/tape/trace_json.h"

#include <algorithm>
#include <cmath>

#include <nlohmann/json.hpp>

#include "common/base/limits.h"
#include "runtime/tape/json_members.h"

namespace gpuemu::tape {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kFormat = "gpuemu-trace";
constexpr int kVersion = 1;
constexpr const char* kDefaultSession = "default";

/// Writes whole numbers without a fraction.
Json number_json(double value) {
  if (value == std::floor(value) && std::abs(value) < 1e15) return static_cast<int64_t>(value);
  return value;
}

template <typename T>
Json optional_json(const std::optional<T>& value) {
  return value ? Json(*value) : Json();
}

Json to_json(const Entry& entry) {
  Json json = {{"seq", entry.seq}, {"session", entry.session}};
  if (entry.makes_tensor()) json["id"] = entry.id;
  json["op"] = entry.op;
  json["inputs"] = entry.inputs;
  if (entry.makes_tensor()) {
    json["shape"] = entry.shape;
    json["dtype"] = name_of(entry.dtype);
  }
  json["attrs"] = Json::parse(entry.attrs);
  json["bytes"] = entry.bytes.value_or(0);
  json["cost_us"] = entry.cost_us.value_or(0);
  json["at"] = entry.at;
  return json;
}

Json to_json(const Queued& line) {
  Json json = {{"pos", line.pos},
               {"kind", name_of(line.kind)},
               {"seq", optional_json(line.seq)},
               {"session", line.session},
               {"id", line.id},
               {"device", optional_json(line.device)}};
  if (line.kind == Kind::Move) json["from"] = optional_json(line.from);
  if (line.kind == Kind::Move || line.kind == Kind::Spill || line.kind == Kind::Load) {
    json["bytes"] = line.bytes;
  }
  json["needs"] = line.needs;
  if (line.attempt > 0) json["attempt"] = line.attempt;
  return json;
}

Json to_json(const Handle& handle) {
  return {{"id", handle.id},
          {"session", handle.session},
          {"devices", handle.devices},
          {"host", handle.host},
          {"bytes", handle.bytes},
          {"refs", handle.refs},
          {"state", name_of(handle.state)}};
}

Json to_json(const Tick& tick) {
  Json busy = Json::object();
  for (size_t i = 0; i < tick.busy.size(); ++i) {
    busy[std::to_string(i)] = optional_json(tick.busy[i]);
  }
  return {{"tick", tick.tick},
          {"time_us", tick.time_us},
          {"started", tick.started},
          {"ended", tick.ended},
          {"busy", busy},
          {"waiting", tick.waiting}};
}

Json to_json(const Device& device) {
  return {{"index", device.index},
          {"name", device.name},
          {"worker_id", device.worker_id},
          {"memory_bytes", device.memory_bytes},
          {"latency_us", number_json(device.latency_us)},
          {"bytes_per_us", number_json(device.bytes_per_us)}};
}

Json to_json(const Session& session) {
  return {{"name", session.name},
          {"weight", number_json(session.weight)},
          {"device_us", session.device_us}};
}

Json to_json(const Totals& totals) {
  return {{"ops", totals.ops},
          {"moves", totals.moves},
          {"moved_bytes", totals.moved_bytes},
          {"spills", totals.spills},
          {"makespan_us", totals.makespan_us}};
}

template <typename T>
Json list_json(const std::vector<T>& values) {
  Json list = Json::array();
  for (const T& value : values) list.push_back(to_json(value));
  return list;
}

Status read_shape(Members& members, std::vector<int64_t>& shape) {
  if (!members.has("shape")) {
    members.fail("member 'shape' is missing, expected a list of sizes");
    return members.status();
  }
  std::vector<uint64_t> sizes;
  members.read("shape", sizes);
  for (const uint64_t size : sizes) {
    if (size > INT64_MAX) members.fail("member 'shape': a size is beyond 63 bits");
    shape.push_back(static_cast<int64_t>(size));
  }
  return members.status();
}

Result<Entry> read_entry(const Json& json, const std::string& where) {
  Members members(json, where);
  Entry entry{.session = kDefaultSession};
  members.read("session", entry.session);
  members.read("id", entry.id);
  members.read("op", entry.op);
  if (entry.op.empty()) members.fail("member 'op' is missing, expected the name of an op");
  members.read("inputs", entry.inputs);
  members.read_word("dtype", entry.dtype, dtype_from_name);
  members.read("bytes", entry.bytes);
  members.read("cost_us", entry.cost_us);
  members.read("at", entry.at);
  if (members.has("attrs")) {
    if (!members["attrs"].is_object()) {
      members.fail("member 'attrs': expected an object, got " + Members::shown(members["attrs"]));
    } else {
      entry.attrs = members["attrs"].dump(-1, ' ', false, Json::error_handler_t::replace);
    }
  }
  GPUEMU_TRY(members.status());
  if (entry.makes_tensor()) GPUEMU_TRY(read_shape(members, entry.shape));
  return entry;
}

Status read_line(const Json& json, const std::string& where, Trace& trace) {
  Members members(json, where);
  Queued line;
  members.read("pos", line.pos);
  members.read_word("kind", line.kind, kind_from_name);
  members.read("seq", line.seq);
  members.read("session", line.session);
  members.read("id", line.id);
  members.read("device", line.device);
  members.read("from", line.from);
  members.read("bytes", line.bytes);
  members.read("needs", line.needs);
  members.read("attempt", line.attempt);
  trace.output_queue.push_back(std::move(line));
  return members.status();
}

Status read_handle(const Json& json, const std::string& where, Trace& trace) {
  Members members(json, where);
  Handle handle;
  std::vector<uint64_t> devices;
  members.read("id", handle.id);
  members.read("session", handle.session);
  members.read("devices", devices);
  members.read("host", handle.host);
  members.read("bytes", handle.bytes);
  members.read("refs", handle.refs);
  members.read_word("state", handle.state, state_from_name);
  for (const uint64_t device : devices) handle.devices.push_back(static_cast<uint32_t>(device));
  trace.handles.push_back(std::move(handle));
  return members.status();
}

Status read_tick(const Json& json, const std::string& where, Trace& trace) {
  Members members(json, where);
  Tick tick;
  members.read("tick", tick.tick);
  members.read("time_us", tick.time_us);
  members.read("started", tick.started);
  members.read("ended", tick.ended);
  members.read("waiting", tick.waiting);
  if (members.has("busy")) {
    Members busy(members["busy"], where + ".busy");
    for (size_t i = 0; i < trace.devices.size(); ++i) {
      busy.read(std::to_string(i).c_str(), tick.busy.emplace_back());
    }
    GPUEMU_TRY(busy.status());
  }
  trace.ticks.push_back(std::move(tick));
  return members.status();
}

Status read_device(const Json& json, const std::string& where, Trace& trace) {
  Members members(json, where);
  const auto place = static_cast<uint32_t>(trace.devices.size());
  Device device{.index = place,
                .name = fmt::format("device {}", place),
                .worker_id = fmt::format("local-{}", place)};
  members.read("index", device.index);
  members.read("name", device.name);
  members.read("worker_id", device.worker_id);
  members.read("memory_bytes", device.memory_bytes);
  members.read("latency_us", device.latency_us, -1);
  members.read("bytes_per_us", device.bytes_per_us, 0);
  if (device.index != place) {
    members.fail(fmt::format("member 'index': expected {}, its place in the list", place));
  }
  if (place >= kDevicesMax) {
    members.fail(fmt::format("there are more than {} devices", kDevicesMax));
  }
  trace.devices.push_back(std::move(device));
  return members.status();
}

Status read_session(const Json& json, const std::string& where, Trace& trace) {
  Members members(json, where);
  Session session;
  members.read("name", session.name);
  members.read("weight", session.weight, 0);
  members.read("device_us", session.device_us);
  trace.sessions.push_back(std::move(session));
  return members.status();
}

/// Returns the maximum nesting of lists and objects.
int depth_of(std::string_view text) {
  int depth = 0, deepest = 0;
  bool is_text = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char one = text[i];
    if (is_text && one == '\\') {
      ++i;
    } else if (one == '"') {
      is_text = !is_text;
    } else if (!is_text && (one == '[' || one == '{')) {
      deepest = std::max(deepest, ++depth);
    } else if (!is_text && (one == ']' || one == '}')) {
      --depth;
    }
  }
  return deepest;
}

Result<Json> parse(std::string_view text) {
  if (depth_of(text) > kJsonDepthMax) {
    return error(ErrorCode::InvalidArgument, "the JSON nests deeper than {} levels", kJsonDepthMax);
  }
  Json json = Json::parse(text, nullptr, false);
  if (json.is_discarded()) return error(ErrorCode::InvalidArgument, "this is not JSON");
  return json;
}

/// Reads elements into `trace` with one of the functions above.
template <typename Read>
void read_list(Members& members, const char* name, Trace& trace, const Read& read) {
  members.each(
      name, [&](const Json& json, const std::string& where) { return read(json, where, trace); });
}

Result<Trace> read_trace(const Json& json) {
  Members members(json, "the file");
  Trace trace;
  members.read("gpuemu", trace.gpuemu);
  members.read("seed", trace.seed);
  members.read_word("policy", trace.policy, policy_from_name);
  members.read("simulated", trace.simulated);
  read_list(members, "devices", trace, read_device);
  read_list(members, "sessions", trace, read_session);
  read_list(members, "input_tape", trace,
            [](const Json& one, const std::string& where, Trace& to) -> Status {
              to.input_tape.push_back(GPUEMU_TRY(read_entry(one, where)));
              return ok_status();
            });
  read_list(members, "output_queue", trace, read_line);
  read_list(members, "handles", trace, read_handle);
  read_list(members, "ticks", trace, read_tick);
  GPUEMU_TRY(members.status());
  if (!members.has("totals")) return trace;
  Members totals(members["totals"], "totals");
  totals.read("ops", trace.totals.ops);
  totals.read("moves", trace.totals.moves);
  totals.read("moved_bytes", trace.totals.moved_bytes);
  totals.read("spills", trace.totals.spills);
  totals.read("makespan_us", trace.totals.makespan_us);
  GPUEMU_TRY(totals.status());
  return trace;
}

}  // namespace

Result<Layers> layers_named(const std::vector<std::string>& names) {
  if (names.empty()) return Layers{};
  Layers layers{false, false, false, false};
  for (const std::string& name : names) {
    if (name == "input_tape") {
      layers.input_tape = true;
    } else if (name == "output_queue") {
      layers.output_queue = true;
    } else if (name == "handles") {
      layers.handles = true;
    } else if (name == "ticks") {
      layers.ticks = true;
    } else {
      return error(ErrorCode::InvalidArgument,
                   "a trace has no layer '{}'; it has input_tape, output_queue, handles and ticks",
                   name);
    }
  }
  return layers;
}

std::string encode_trace(const Trace& trace, const Layers& layers) {
  Json json = {{"format", kFormat},
               {"version", kVersion},
               {"gpuemu", trace.gpuemu},
               {"seed", trace.seed},
               {"policy", name_of(trace.policy)},
               {"simulated", trace.simulated},
               {"devices", list_json(trace.devices)},
               {"sessions", list_json(trace.sessions)}};
  if (layers.input_tape) json["input_tape"] = list_json(trace.input_tape);
  if (layers.output_queue) json["output_queue"] = list_json(trace.output_queue);
  if (layers.handles) json["handles"] = list_json(trace.handles);
  if (layers.ticks) json["ticks"] = list_json(trace.ticks);
  json["totals"] = to_json(trace.totals);
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Result<Trace> decode_trace(std::string_view text) {
  const Json json = GPUEMU_TRY(parse(text));
  const bool is_trace = json.is_object() && json.value("format", Json()) == kFormat;
  if (!is_trace) {
    return error(ErrorCode::InvalidArgument, "this is not a trace: expected \"format\": \"{}\"",
                 kFormat);
  }
  if (json.value("version", Json()) != kVersion) {
    return error(ErrorCode::InvalidArgument, "the trace has version {}, this gpuemu reads {}",
                 Members::shown(json.value("version", Json())), kVersion);
  }
  Trace trace = GPUEMU_TRY(read_trace(json));
  // Entries carry their own `seq`, because a trace of a long run may start late.
  for (size_t i = 0; i < trace.input_tape.size(); ++i) {
    Members entry(json["input_tape"][i], "input_tape");
    trace.input_tape[i].seq = i;
    entry.read("seq", trace.input_tape[i].seq);
  }
  return trace;
}

Result<Trace> decode_plan(std::string_view text) {
  const Json json = GPUEMU_TRY(parse(text));
  if (!json.is_object() || !json.contains("input_tape")) {
    return error(ErrorCode::InvalidArgument,
                 "this is not a plan: expected an object with a list \"input_tape\"");
  }
  return read_trace(json);
}

Result<std::vector<Entry>> decode_entries(std::string_view text) {
  const Json json = GPUEMU_TRY(parse(text));
  if (!json.is_array()) {
    return error(ErrorCode::InvalidArgument, "member 'entries': expected a list, got {}",
                 Members::shown(json));
  }
  std::vector<Entry> entries;
  for (size_t i = 0; i < json.size(); ++i) {
    entries.push_back(GPUEMU_TRY(read_entry(json[i], fmt::format("entries[{}]", i))));
  }
  return entries;
}

}  // namespace gpuemu::tape
