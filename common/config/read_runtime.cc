// Reads [project], [runtime], [daemon], [policies], [ci], [storage] and [scheduler].
#include <algorithm>

#include <fmt/core.h>

#include "common/base/device_list.h"
#include "common/base/host_port.h"
#include "common/base/units.h"
#include "common/config/names.h"
#include "common/config/readers.h"
#include "common/toml/nearest.h"

namespace gpuemu {
namespace {

void read_workers(TableReader& runtime, Config& config) {
  const auto value = runtime.find("workers");
  if (!value) return;
  const Key& row = runtime.row_of("workers");
  if (value->is(TomlValue::Kind::Text) && value->value().text == "auto") {
    config.workers = 0;
  } else if (value->is(TomlValue::Kind::Text) && !value->layer().from_text) {
    value->problem(fmt::format("'{}', expected \"auto\" or an integer from {} to {}",
                               value->value().text, row.lowest, row.highest));
  } else if (const auto workers = value->integer(row.lowest, row.highest)) {
    config.workers = static_cast<uint32_t>(*workers);
  }
}

/// Reads a list or, as in the environment, a text with commas.
void read_emulated_devices(TableReader& runtime) {
  const auto value = runtime.find("emulated_devices");
  if (!value) return;
  std::string list;
  size_t count = 0;
  for (const ValueReader& item : value->items(true)) {
    const auto text = item.text();
    if (!text) continue;
    const auto devices = parse_emulated_devices(*text);
    if (!devices) item.problem(devices.error().message);
    count += devices ? devices->size() : 1;
    list += (list.empty() ? "" : ", ") + *text;
  }
  if (count > kEmulatedDevicesMax) {
    value->problem(fmt::format("{} devices, expected at most {}", count, kEmulatedDevicesMax));
  }
  runtime.self().state().emulated_devices = list;
}

void read_auto_select(TableReader& table, Config& config) {
  std::string word;
  table.read_one_of("auto_select", word);
  if (!word.empty()) config.selects_fastest = word == kBestPerformance;
}

void read_kernel_policy(TableReader& runtime, Config& config) {
  const auto value = runtime.find("kernel_policy");
  if (!value) return;
  TableReader table(*value, kernel_policy_keys());
  read_auto_select(table, config);
  for (const auto& [op, kernel] : table.all()) {
    if (kernel_policy_keys().find(op) != nullptr) continue;
    if (const auto name = kernel.text()) config.kernel_policy[op] = *name;
  }
}

void read_paths(TableReader& table, std::string_view key, std::vector<std::string>& out) {
  const auto value = table.find(key);
  if (!value) return;
  out.clear();
  for (const ValueReader& item : value->items(value->layer().from_text)) {
    if (const auto path = item.path_value()) out.push_back(*path);
  }
}

// gpuemu sets these compiler options itself; setting them again would be ignored or break the run.
void read_compile_flags(TableReader& runtime, Config& config) {
  runtime.read("compile_flags", config.compile_flags);
  if (!runtime.has("compile_flags")) return;
  const auto value = runtime.find("compile_flags");
  if (!value->is(TomlValue::Kind::Array)) return;
  for (const ValueReader& item : value->items()) {
    if (!item.is(TomlValue::Kind::Text)) continue;
    const std::string& flag = item.value().text;
    const std::string name = flag.substr(0, flag.find_first_of("= "));
    for (const char* arch :
         {"-arch", "--gpu-architecture", "-gencode", "--generate-code", "-code", "--gpu-code"}) {
      if (name != arch) continue;
      item.problem(
          fmt::format("'{}': write arch = \"sm_90\" or another architecture under "
                      "[runtime] instead",
                      flag));
    }
    for (const char* phase : {"-o", "--output-file", "-c", "--compile", "-ptx", "--ptx", "-cubin",
                              "--cubin", "-fatbin", "--fatbin", "-dc", "-dlto", "-run", "--run"}) {
      if (name != phase) continue;
      item.problem(fmt::format("'{}': sources are compiled to PTX, remove it", flag));
    }
  }
}

void read_socket_path(TableReader& daemon, Config& config) {
  const auto value = daemon.find("socket");
  if (!value) return;
  // Clients connect to the address "ipc://" followed by the path.
  constexpr std::string_view kScheme = "ipc://";
  const bool is_text = value->is(TomlValue::Kind::Text);
  const std::string text = is_text ? value->text().value_or("") : "";
  const std::string path = text.starts_with(kScheme) ? text.substr(kScheme.size()) : text;
  if (path.find("://") != std::string::npos || (path != text && !path.starts_with("/"))) {
    value->problem("'" + text +
                   "' is not the path of a socket, expected one like /run/user/gpuemu.sock");
  } else if (path != text) {
    config.socket_path = path;
  } else if (const auto absolute = value->path_value()) {
    config.socket_path = *absolute;
  }
}

/// Reads an integer, or a text with a unit.
template <typename Bytes>
void read_bytes(TableReader& table, std::string_view key, Bytes& out) {
  const auto value = table.find(key);
  if (!value) return;
  if (!value->is(TomlValue::Kind::Text)) {
    if (const auto bytes = value->integer(0, int64_t{kSizeMax})) {
      out = static_cast<uint64_t>(*bytes);
    }
    return;
  }
  const std::string text = value->text().value_or("");
  if (const auto bytes = parse_size(text)) {
    out = *bytes;
  } else {
    value->problem("'" + text + "', expected bytes, or a size such as \"512MiB\" or \"8GiB\"");
  }
}

/// Checks the key's limits.
template <typename Number>
void read_optional(TableReader& table, std::string_view key, std::optional<Number>& out) {
  Number number{};
  const size_t problems = table.self().state().problems.size();
  if constexpr (std::is_floating_point_v<Number>) {
    table.read_number(key, number);
  } else {
    table.read_integer(key, number);
  }
  if (table.has(key) && table.self().state().problems.size() == problems) out = number;
}

UserQuota read_quota(const ValueReader& value) {
  UserQuota quota;
  TableReader table(value, quota_keys());
  read_optional(table, "weight", quota.weight);
  read_optional(table, "device_seconds_per_day", quota.device_seconds_per_day);
  read_bytes(table, "storage_bytes", quota.storage_bytes);
  read_optional(table, "sessions_max", quota.sessions_max);
  table.finish();
  return quota;
}

void read_listen(TableReader& daemon, Config& config) {
  const auto value = daemon.find("listen");
  if (!value) return;
  if (!config.listen) config.listen.emplace();
  ListenConfig& listen = *config.listen;
  TableReader table(*value, listen_keys());
  table.read("address", listen.address);
  const auto set_file = [](const auto& file, std::string& to) {
    if (file) to = file->path_value().value_or("");
  };
  set_file(table.find("ca"), listen.ca);
  set_file(table.find("cert"), listen.cert);
  set_file(table.find("key"), listen.key);
  set_file(table.find("token_file"), listen.token_file);
  table.finish();
  if (listen.address.empty()) {
    value->problem("has no address; write address = \"tls+tcp://HOST:PORT\"");
  } else if (const auto parsed = parse_tls_address(listen.address); !parsed) {
    value->problem("address: '" + listen.address + "', " + parsed.error().message);
  }
  const std::pair<const char*, const std::string*> files[] = {{"ca", &listen.ca},
                                                              {"cert", &listen.cert},
                                                              {"key", &listen.key},
                                                              {"token_file", &listen.token_file}};
  for (const auto& [key, to] : files) {
    if (!table.has(key) && to->empty()) {
      value->problem("has no " + std::string(key) +
                     "; `gpuemu daemon certs FOLDER` makes certificates, keys and a token");
    }
  }
}

void read_share(TableReader& daemon, Config& config) {
  const auto value = daemon.find("share");
  if (!value) return;
  if (!config.share) config.share.emplace();
  ShareConfig& share = *config.share;
  TableReader table(*value, share_keys());
  table.read("group", share.group);
  table.read("users", share.users);
  if (const auto file = table.find("token_file")) {
    if (const auto path = file->path_value()) share.token_file = *path;
  }
  if (const auto quotas = table.find("quota")) {
    TableReader users(*quotas);
    for (const auto& [user, quota] : users.all()) share.quotas[user] = read_quota(quota);
  }
  table.finish();
  if (!share.group.empty()) return;
  if (!share.users.empty()) {
    value->problem(
        "lists users, who cannot reach the socket; write group = \"NAME\" with a group "
        "that they are in");
  } else if (share.token_file.empty()) {
    value->problem("admits no other user; write group = \"NAME\" or token_file");
  }
}

}  // namespace

void read_project(TableReader& root, Config& config) {
  const auto value = root.find("project");
  if (!value) return;
  TableReader project(*value, project_keys());
  project.read("name", config.name);
  project.finish();
}

void read_runtime(TableReader& root, Config& config) {
  const auto value = root.find("runtime");
  if (!value) return;
  TableReader runtime(*value, runtime_keys());
  runtime.read_one_of("backend", config.backend);
  if (const auto arch = runtime.find("arch")) {
    const auto text = arch->text();
    if (text && *text != "auto" && !is_architecture(*text)) {
      arch->problem("'" + *text + "', expected \"auto\" or an architecture such as \"sm_80\"");
    } else if (text) {
      config.arch = *text;
    }
  }
  read_emulated_devices(runtime);
  runtime.read_one_of("contraction", config.contraction);
  read_paths(runtime, "include_dirs", config.include_dirs);
  read_compile_flags(runtime, config);
  read_workers(runtime, config);
  runtime.read_integer("case_timeout_ms", config.case_timeout_ms);
  runtime.read_integer("memory_limit_mb", config.memory_limit_mb);
  if (const auto python = runtime.find("python")) {
    // A bare name is searched in PATH; with a slash it is a path.
    const auto text = python->text();
    if (text && text->find('/') != std::string::npos) {
      config.python = python->path_value().value_or("");
    } else if (text) {
      config.python = *text;
    }
  }
  read_auto_select(runtime, config);
  read_kernel_policy(runtime, config);
  runtime.finish();
}

void read_daemon(TableReader& root, Config& config) {
  const auto value = root.find("daemon");
  if (!value) return;
  TableReader daemon(*value, daemon_keys());
  read_socket_path(daemon, config);
  if (const auto db = daemon.find("db")) {
    if (const auto path = db->path_value()) config.db_path = *path;
  }
  daemon.read_one_of("log_level", config.log_level);
  read_listen(daemon, config);
  read_share(daemon, config);
  daemon.finish();
}

void read_policies(TableReader& root, Config& config) {
  const auto value = root.find("policies");
  if (!value) return;
  TableReader policies(*value, policies_keys());
  policies.read("fail_on_regression", config.fail_on_regression);
  policies.read_number("warn_threshold", config.warn_threshold);
  read_artifact_checks(policies, config.artifact_checks);
  policies.finish();
}

void read_ci(TableReader& root, Config& config) {
  const auto value = root.find("ci");
  if (!value) return;
  TableReader ci(*value, ci_keys());
  ci.read("quick_dtypes", config.ci_quick_dtypes);
  ci.read_integer("thorough_timeout", config.ci_thorough_timeout_s);
  ci.read_integer("parallel_jobs", config.ci_parallel_jobs);
  ci.finish();
}

void read_storage(TableReader& root, Config& config) {
  const auto value = root.find("storage");
  if (!value) return;
  TableReader storage(*value, storage_keys());
  Retention& retention = config.retention;
  storage.read_integer("passing_days", retention.passing_days);
  storage.read_integer("passing_count", retention.passing_count);
  storage.read_integer("failure_days", retention.failure_days);
  storage.read_integer("failure_count", retention.failure_count);
  storage.read_integer("artifact_count", retention.artifact_count);
  storage.read_integer("run_count", retention.run_count);
  read_bytes(storage, "bytes", retention.bytes);
  storage.read_integer("prune_minutes", retention.prune_minutes);
  storage.finish();
}

void read_scheduler(TableReader& root, Config& config) {
  const auto value = root.find("scheduler");
  if (!value) return;
  TableReader scheduler(*value, scheduler_keys());
  SchedulerConfig& read = config.scheduler;
  scheduler.read_integer("tick_ms", read.tick_ms);
  scheduler.read_one_of("policy", read.policy);
  scheduler.read_integer("seed", read.seed);
  if (const auto folder = scheduler.find("debug_dir")) {
    if (const auto path = folder->path_value()) read.debug_dir = *path;
  }
  scheduler.read_integer("trace_entries", read.trace_entries);
  scheduler.read_one_of("fallback", read.fallback);
  scheduler.finish();
}

}  // namespace gpuemu
