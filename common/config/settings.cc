// Lists every effective scalar with its origin, for `config show --origin`.
#include <algorithm>

#include <fmt/core.h>

#include "common/base/service_limits.h"
#include "common/config/names.h"
#include "common/config/readers.h"

namespace gpuemu {
namespace {

constexpr const char* kMaxElements = "validation.max_elements";

std::string quoted(const std::string& text) { return "\"" + text + "\""; }

std::string list_of(const std::vector<std::string>& words) {
  std::string list;
  for (const std::string& word : words) list += (list.empty() ? "" : ", ") + quoted(word);
  return "[" + list + "]";
}

std::string list_of(const std::vector<DType>& dtypes) {
  std::vector<std::string> names;
  for (const DType dtype : dtypes) names.emplace_back(name_of(dtype));
  return list_of(names);
}

std::string list_of(const std::vector<Strategy>& strategies) {
  std::vector<std::string> names;
  for (const Strategy one : strategies) names.emplace_back(name_of(one));
  return list_of(names);
}

std::string to_text(bool value) { return value ? "true" : "false"; }

std::string to_text(const Tolerance& tolerance) {
  if (tolerance.automatic) return "\"auto\"";
  std::string text = fmt::format("{{ atol = {}, rtol = {}", tolerance.atol, tolerance.rtol);
  if (tolerance.ulp) text += fmt::format(", ulp = {}", *tolerance.ulp);
  return text + " }";
}

class Lister {
 public:
  Lister(const ReadState& state, std::vector<Config::Setting>& out) : state_(state), out_(out) {}

  const ReadState& state() const { return state_; }

  /// `alias` is another spelling of the key, if there is one.
  void add(const std::string& key, const std::string& value, const std::string& alias = "") {
    auto place = state_.places.find(key);
    if (place == state_.places.end() && !alias.empty()) place = state_.places.find(alias);
    std::string origin = "default";
    if (place != state_.places.end()) {
      origin = place->second.file;
      if (place->second.line > 0) origin += fmt::format(":{}", place->second.line);
    }
    out_.push_back({key, value, origin});
  }

  // Adds what an op or a kernel sets itself, leaf by leaf.
  void add_tree(const std::string& path, const TomlValue& value) {
    if (value.kind == TomlValue::Kind::Table) {
      for (const TomlEntry& entry : value.entries) add_tree(path + "." + entry.key, entry.value);
    } else if (value.kind == TomlValue::Kind::Array) {
      for (size_t i = 0; i < value.items.size(); ++i) {
        add_tree(fmt::format("{}[{}]", path, i), value.items[i]);
      }
    } else {
      add(path, leaf(value));
    }
  }

 private:
  static std::string leaf(const TomlValue& value) {
    if (value.kind == TomlValue::Kind::Integer) return std::to_string(value.integer);
    if (value.kind == TomlValue::Kind::Real) return fmt::format("{}", value.real);
    if (value.kind == TomlValue::Kind::Boolean) return to_text(value.boolean);
    return quoted(value.text);
  }

  const ReadState& state_;
  std::vector<Config::Setting>& out_;
};

void list_runtime(const Config& config, Lister& out) {
  out.add("project.name", quoted(config.name));
  out.add("runtime.backend", quoted(config.backend));
  out.add("runtime.arch", quoted(config.arch));
  out.add("runtime.emulated_devices", quoted(out.state().emulated_devices));
  out.add("runtime.contraction", quoted(config.contraction));
  out.add("runtime.include_dirs", list_of(config.include_dirs));
  out.add("runtime.compile_flags", list_of(config.compile_flags));
  out.add("runtime.workers", config.workers == 0 ? "\"auto\"" : std::to_string(config.workers));
  out.add("runtime.case_timeout_ms", std::to_string(config.case_timeout_ms));
  out.add("runtime.memory_limit_mb", std::to_string(config.memory_limit_mb));
  out.add("runtime.python", quoted(config.python));
  out.add("runtime.kernel_policy.auto_select",
          quoted(std::string(config.selects_fastest ? kBestPerformance : kFirstSupported)),
          "runtime.auto_select");
  for (const auto& [op, kernel] : config.kernel_policy) {
    out.add("runtime.kernel_policy." + op, quoted(kernel));
  }
}

/// Lists the members of `limits` that are set; `path` is their table.
void list_limits(const std::string& path, const ArtifactLimits& limits, Lister& out) {
  const auto number = [&](const char* key, const auto& value) {
    if (value) out.add(path + key, fmt::format("{}", *value));
  };
  const auto patterns = [&](const char* key, const char* alias,
                            const std::optional<std::vector<std::string>>& value) {
    if (value) out.add(path + key, list_of(*value), path + alias);
  };
  number("max_registers", limits.max_registers);
  number("max_spills", limits.max_spills);
  if (limits.max_local_memory) {
    out.add(path + "max_local_memory", std::to_string(*limits.max_local_memory),
            path + "max_local_memory_bytes");
  }
  number("max_shared_memory", limits.max_shared_memory);
  number("max_instructions", limits.max_instructions);
  number("min_occupancy", limits.min_occupancy);
  patterns("required_patterns", "required_patterns", limits.required_patterns);
  patterns("forbidden_patterns", "forbidden_instructions", limits.forbidden_patterns);
}

void list_policies(const Config& config, Lister& out) {
  out.add("policies.fail_on_regression", to_text(config.fail_on_regression));
  out.add("policies.warn_threshold", fmt::format("{}", config.warn_threshold));
  const std::string path = "policies.artifact_checks.";
  list_limits(path, config.limits_for(nullptr, ""), out);
  for (const auto& [arch, limits] : config.artifact_checks.archs) {
    list_limits(path + arch + ".", limits, out);
  }
}

void list_storage(const Config& config, Lister& out) {
  const Retention& kept = config.retention;
  const auto number = [&](const char* key, uint64_t value) {
    out.add(fmt::format("storage.{}", key), std::to_string(value));
  };
  number("passing_days", kept.passing_days);
  number("passing_count", kept.passing_count);
  number("failure_days", kept.failure_days);
  number("failure_count", kept.failure_count);
  number("artifact_count", kept.artifact_count);
  number("run_count", kept.run_count);
  number("bytes", kept.bytes);
  number("prune_minutes", kept.prune_minutes);
}

void list_listen(const ListenConfig& listen, Lister& out) {
  out.add("daemon.listen.address", quoted(listen.address));
  out.add("daemon.listen.ca", quoted(listen.ca));
  out.add("daemon.listen.cert", quoted(listen.cert));
  out.add("daemon.listen.key", quoted(listen.key));
  out.add("daemon.listen.token_file", quoted(listen.token_file));
}

void list_scheduler(const Config& config, Lister& out) {
  const SchedulerConfig& told = config.scheduler;
  out.add("scheduler.tick_ms", std::to_string(told.tick_ms));
  out.add("scheduler.policy", quoted(told.policy));
  out.add("scheduler.seed", std::to_string(told.seed));
  out.add("scheduler.debug_dir", quoted(told.debug_dir));
  out.add("scheduler.trace_entries", std::to_string(told.trace_entries));
  if (!told.fallback.empty()) out.add("scheduler.fallback", quoted(told.fallback));
}

void list_share(const ShareConfig& share, Lister& out) {
  out.add("daemon.share.group", quoted(share.group));
  out.add("daemon.share.users", list_of(share.users));
  out.add("daemon.share.token_file", quoted(share.token_file));
  for (const auto& [user, quota] : share.quotas) {
    const std::string path = fmt::format("daemon.share.quota.{}.", user);
    const auto add = [&](const char* key, const auto& value) {
      if (value) out.add(path + key, fmt::format("{}", *value));
    };
    add("weight", quota.weight);
    add("device_seconds_per_day", quota.device_seconds_per_day);
    add("storage_bytes", quota.storage_bytes);
    add("sessions_max", quota.sessions_max);
  }
}

void list_validation(const Config& config, Lister& out) {
  out.add("validation.dtypes", list_of(config.dtypes));
  out.add("validation.check_nan", to_text(config.check_nan));
  out.add("validation.check_inf", to_text(config.check_inf));
  out.add("validation.seed", config.seed ? std::to_string(*config.seed) : "drawn for each run");
  out.add("validation.cases", std::to_string(config.cases));
  out.add(kMaxElements, config.max_elements ? std::to_string(*config.max_elements) : "by backend");
  out.add("validation.strategies", list_of(config.strategies));
  out.add("validation.sanitize", list_of(names_of(config.sanitize)));
  out.add("validation.determinism_runs", std::to_string(config.determinism_runs));
  out.add("validation.reference_timeout_s", fmt::format("{}", config.reference_timeout_s));
  out.add("validation.reference_memory_limit_mb",
          config.reference_memory_limit_mb == 0 ? "\"auto\""
                                                : std::to_string(config.reference_memory_limit_mb));
  out.add("validation.strict", to_text(config.strict));
  for (const auto& [dtype, tolerance] : config.tolerances) {
    out.add(fmt::format("validation.tolerances.{}", name_of(dtype)), to_text(tolerance));
  }
}

}  // namespace

Status set_max_elements(uint64_t elements, Config& config) {
  if (elements < 1 || elements > static_cast<uint64_t>(kMaxElementsMax)) {
    return error(ErrorCode::InvalidArgument, "max_elements is {}, expected 1 to {}", elements,
                 kMaxElementsMax);
  }
  config.max_elements = elements;
  for (OpConfig& op : config.ops) op.max_elements.reset();
  for (Config::Setting& setting : config.settings) {
    if (setting.key == kMaxElements) {
      setting = {kMaxElements, std::to_string(elements), "flag --max-elements"};
    }
  }
  return ok_status();
}

void set_default_nan_policy(OpConfig& op) {
  if (op.has_nan_policy) return;
  op.nan_policy = op.accumulate ? NanPolicy::Class : NanPolicy::Match;
  op.has_nan_policy = true;
}

namespace {

const TensorSpec* output_of(const OpConfig& op, const std::string& name) {
  const auto found = std::ranges::find(op.outputs, name, &TensorSpec::name);
  return found == op.outputs.end() ? nullptr : &*found;
}

}  // namespace

NanPolicy OpConfig::nan_policy_of(const std::string& output) const {
  const TensorSpec* spec = output_of(*this, output);
  return spec != nullptr && spec->nan_policy ? *spec->nan_policy : nan_policy;
}

bool OpConfig::is_nan_policy_given(const std::string& output) const {
  const TensorSpec* spec = output_of(*this, output);
  return this->nan_policy_given || (spec != nullptr && spec->nan_policy);
}

std::vector<Config::Setting> list_settings(const Config& config, const ReadState& state,
                                           const TomlValue* project) {
  std::vector<Config::Setting> settings;
  Lister out(state, settings);
  list_runtime(config, out);
  list_validation(config, out);
  list_policies(config, out);
  out.add("ci.quick_dtypes", list_of(config.ci_quick_dtypes));
  out.add("ci.thorough_timeout", std::to_string(config.ci_thorough_timeout_s));
  out.add("ci.parallel_jobs", std::to_string(config.ci_parallel_jobs));
  list_storage(config, out);
  list_scheduler(config, out);
  out.add("daemon.socket", quoted(config.socket_path));
  out.add("daemon.db", quoted(config.db_path));
  out.add("daemon.log_level", quoted(config.log_level));
  if (config.listen) list_listen(*config.listen, out);
  if (config.share) list_share(*config.share, out);
  if (project == nullptr) return settings;
  for (const TomlEntry& entry : project->entries) {
    if (entry.key == "ops" || entry.key == "kernels") out.add_tree(entry.key, entry.value);
  }
  return settings;
}

}  // namespace gpuemu
