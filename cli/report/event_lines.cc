#include "cli/report/event_lines.h"

#include <algorithm>
#include <array>

#include <nlohmann/json.hpp>

#include "cli/report/seed_text.h"
#include "common/codec/json_codec.h"

namespace gpuemu::cli {
namespace {

using Json = nlohmann::ordered_json;

// At most ten per second.
constexpr std::chrono::milliseconds kProgressEvery{100};

std::string text_of(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

/// Returns an object with its type, followed by `members` without lists of cases.
Json typed(const char* type, const Json& members) {
  Json line = {{"type", type}};
  for (const auto& [name, value] : members.items()) {
    if (name != "type" && name != "failures" && name != "warnings") line[name] = value;
  }
  return line;
}

/// Returns whether the case has a reason; reasons are determined after all cases have run.
bool has_diagnosis(const Json& result) {
  const auto failures = result.find("failures");
  return failures != result.end() &&
         std::ranges::any_of(*failures, [](const Json& one) { return one.contains("diagnosis"); });
}

}  // namespace

void EventLines::line(const std::string& json) {
  out_ << with_seed_texts(json) << '\n' << std::flush;
}

void EventLines::run_started(const RunPlan& plan) {
  tells_ops_ = plan.tells_ops;
  std::vector<std::string> dtypes;
  for (const DType dtype : plan.dtypes) dtypes.emplace_back(name_of(dtype));
  line(text_of(Json{{"type", "RunStarted"},
                    {"command", plan.command},
                    {"ops", plan.ops},
                    {"dtypes", std::move(dtypes)},
                    {"cases", plan.cases}}));
}

void EventLines::op_event(const JobEvent& event) {
  const std::string dtype(event.dtype ? name_of(*event.dtype) : "");
  const std::pair key(event.op_name, dtype);
  if (event.report) {
    if (!finished_.insert(key).second) return;
    line(text_of(typed("OpFinished", Json::parse(encode_op_report(*event.report)))));
  } else if (started_.insert(key).second) {
    line(text_of(Json{{"type", "OpStarted"}, {"op_name", event.op_name}, {"dtype", dtype}}));
  }
}

void EventLines::follow(const JobStatusReply& status) {
  for (const JobEvent& event : status.events) {
    if (event.failure) {
      told_.emplace(event.failure->op_name, event.failure->seed);
      Json members = {{"type", "CaseFailed"}};
      members.update(Json::parse(encode_result(*event.failure)));
      line(text_of(members));
    } else if (tells_ops_) {
      op_event(event);
    }
  }
  for (const JobLine& line : status.lines) {
    if (line.kind == JobLineKind::Warning) warning(line.text);
  }
  progress(status);
}

void EventLines::progress(const JobStatusReply& status) {
  const auto now = Clock::now();
  if (progress_time_ && now < *progress_time_ + kProgressEvery) return;
  Json counts = {{"type", "Progress"},
                 {"done", status.done},
                 {"total", status.total},
                 {"failures", status.failures}};
  if (!status.lines.empty() && status.lines.back().kind == JobLineKind::Compiling) {
    counts["message"] = status.lines.back().text;
  }
  const std::string told = text_of(counts);
  if (std::exchange(progress_, told) == told) return;
  progress_time_ = now;
  line(told);
}

void EventLines::warning(const std::string& text) {
  line(text_of(Json{{"type", "Warning"}, {"message", text}}));
}

void EventLines::op_started(const std::string& op_name) {
  line(text_of(Json{{"type", "OpStarted"}, {"op_name", op_name}}));
}

void EventLines::op_finished(const std::string& op_name, const std::string& results) {
  const Json given = Json::parse(results);
  Json members = {{"op_name", op_name}};
  if (given.value("type", "") == "Error") {
    members["error"] = given.value("message", "");
  } else {
    members.update(given);
  }
  line(text_of(typed("OpFinished", members)));
}

void EventLines::run_finished(int exit_code, const std::string& report) {
  Json whole = Json::parse(report);
  if (whole.is_object() && whole.contains("ops")) {
    for (const Json& op : whole["ops"]) {
      const std::pair key(op.value("op_name", ""), op.value("dtype", ""));
      if (finished_.insert(key).second) line(text_of(typed("OpFinished", op)));
    }
  }
  const auto is_told = [&](const Json& result) {
    const std::pair key(result.value("op_name", ""), result.value("seed", uint64_t{0}));
    return told_.contains(key) && !result.value("passed", false) && !has_diagnosis(result);
  };
  const auto leave_out = [&](Json& record) {
    for (const char* member : {"failures", "validation_results"}) {
      if (record.contains(member)) std::erase_if(record[member].get_ref<Json::array_t&>(), is_told);
    }
  };
  for (Json* record : {&whole}) {
    if (record->is_object()) leave_out(*record);
    Json* parts = record->is_array()        ? record
                  : record->contains("ops") ? &(*record)["ops"]
                                            : nullptr;
    if (parts == nullptr) continue;
    for (Json& part : *parts) leave_out(part);
  }
  line(text_of(Json{{"type", "RunFinished"}, {"exit_code", exit_code}, {"report", whole}}));
}

}  // namespace gpuemu::cli
