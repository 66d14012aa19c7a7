// Merges the layers, from weakest to strongest: defaults, daemon file, user file, project file,
// environment, flags.
#include <algorithm>
#include <filesystem>

#include "common/base/files.h"
#include "common/base/limits.h"
#include "common/base/service_limits.h"
#include "common/base/utf8.h"
#include "common/config/project_file.h"
#include "common/config/readers.h"
#include "common/toml/nearest.h"

namespace gpuemu {
namespace {

namespace fs = std::filesystem;

// A configuration is written by hand; a larger file is a mistake.
constexpr int kFoldersUpMax = 256;
// Limits of the text of a problem.
constexpr size_t kKeyBytesShown = 200, kMessageBytesShown = 2000;

struct VariableRow {
  const char* variable;
  const char* key;
};
// If two rows set one key, the later one takes precedence.
constexpr VariableRow kVariables[] = {{"GPUEMU_BACKEND", "runtime.backend"},
                                      {"GPUEMU_EMULATED_DEVICES", "runtime.emulated_devices"},
                                      {"GPUEMU_DB", "daemon.db"},
                                      {"GPUEMU_LOG_LEVEL", "daemon.log_level"},
                                      {"GPUEMU_LOG", "daemon.log_level"},
                                      {"GPUEMU_SOCKET", "daemon.socket"},
                                      {"GPUEMU_TICK_MS", "scheduler.tick_ms"},
                                      {"GPUEMU_TOKEN_FILE", "daemon.share.token_file"}};

std::string lookup(const std::map<std::string, std::string>& table, const std::string& key) {
  const auto found = table.find(key);
  return found == table.end() ? "" : found->second;
}

std::string folder_of(const std::string& file) {
  std::error_code failed;
  const fs::path absolute = fs::absolute(file, failed);
  return (failed ? fs::path(file) : absolute).parent_path().lexically_normal().string();
}

/// Everything collected by one load.
struct Load {
  Config config;
  Drafts drafts;
  ReadState state;
  std::optional<TomlValue> project;

  ConfigResult finish(bool check_files);
};

/// Shortens a value or key, which may be a megabyte long, to its beginning and end.
std::string clipped(const std::string& text, size_t longest) {
  if (text.size() <= longest) return text;
  const auto is_inside = [&](size_t at) {  // Inside a multi-byte character.
    return at < text.size() && (static_cast<unsigned char>(text[at]) & 0xc0U) == 0x80U;
  };
  size_t head = longest / 2, tail = text.size() - longest / 2;
  while (is_inside(head)) --head;
  while (is_inside(tail)) ++tail;
  return fmt::format("{} ... ({} bytes) ... {}", text.substr(0, head), tail - head,
                     text.substr(tail));
}

/// Replaces control characters, which a terminal would interpret, by TOML escapes.
std::string without_controls(const std::string& text) {
  std::string clean;
  for (const char c : text) {
    const auto code = static_cast<unsigned char>(c);
    const bool acts = (code < 0x20 && c != '\t' && c != '\n') || code == 0x7f;
    clean += acts ? fmt::format("\\u{:04x}", code) : std::string(1, c);
  }
  return clean;
}

/// Keys and values come from a file that may not be trusted.
void make_readable(std::vector<ConfigProblem>& problems) {
  for (ConfigProblem& one : problems) {
    one.key = clipped(without_controls(one.key), kKeyBytesShown);
    one.message = clipped(without_controls(one.message), kMessageBytesShown);
  }
}

ConfigResult Load::finish(bool check_files) {
  check_config(state, config, drafts, check_files);
  make_readable(state.problems);
  make_readable(state.warnings);
  ConfigResult result;
  std::ranges::stable_sort(state.problems, [](const ConfigProblem& a, const ConfigProblem& b) {
    return a.file == b.file && std::pair(a.line, a.column) < std::pair(b.line, b.column);
  });
  result.problems = std::move(state.problems);
  result.warnings = config.warnings = state.warnings;
  config.settings = list_settings(config, state, project ? &*project : nullptr);
  if (result.problems.empty()) result.config = std::move(config);
  return result;
}

// Reads one key with a value in text form, as a document of its own.
void read_text_setting(Load& load, const std::string& origin, const std::string& folder,
                       const std::pair<std::string, std::string>& setting) {
  TomlValue leaf;
  leaf.kind = TomlValue::Kind::Text;
  leaf.text = setting.second;
  std::string key = setting.first;
  for (size_t dot = key.rfind('.'); dot != std::string::npos; dot = key.rfind('.')) {
    TomlValue table;
    table.entries.push_back({.key = key.substr(dot + 1), .value = std::move(leaf)});
    leaf = std::move(table);
    key.resize(dot);
  }
  TomlValue document;
  document.entries.push_back({.key = key, .value = std::move(leaf)});
  read_layer(load.state, {origin, folder, true, false}, document, load.config, load.drafts);
}

// A list in text form is one word; split it at commas.
void split_list(TomlValue& value) {
  std::vector<TomlValue> items;
  for (size_t start = 0; start <= value.text.size();) {
    const size_t end = std::min(value.text.find(',', start), value.text.size());
    TomlValue item;
    item.kind = TomlValue::Kind::Text;
    item.text = value.text.substr(start, end - start);
    if (!item.text.empty()) items.push_back(std::move(item));
    start = end + 1;
  }
  value.kind = TomlValue::Kind::Array;
  value.items = std::move(items);
}

void read_file_layer(Load& load, const std::string& file, bool project) {
  // The file is read several times, by client and daemon; with a pipe both would hang.
  std::error_code failed;
  const fs::file_status status = fs::status(file, failed);
  if (fs::exists(status) && !fs::is_regular_file(status)) {
    load.state.problem({file, 0, 0, 0}, "",
                       fs::is_directory(status)
                           ? "is a folder, expected a file; rename it, or name a file with --config"
                           : "is not a regular file; write the configuration to a file and name "
                             "that");
    return;
  }
  if (status.type() == fs::file_type::not_found) {
    load.state.problem({file, 0, 0, 0}, "",
                       "does not exist; name another file with --config, or let `gpuemu init` "
                       "write a gpuemu.toml");
    return;
  }
  auto text = read_file(file, kConfigBytesMax);
  if (!text) {
    load.state.problem({file, 0, 0, 0}, "", "cannot be read: " + text.error().message);
    return;
  }
  // Paths are sent to other processes in UTF-8 messages.
  if (!is_utf8(folder_of(file))) {
    load.state.problem({file, 0, 0, 0}, "",
                       "lies in a folder whose name is not UTF-8; rename the folder");
    return;
  }
  auto document = parse_toml(*text, file, load.state.problems);
  if (!document) return;
  read_layer(load.state, {file, folder_of(file), false, project}, *document, load.config,
             load.drafts);
  if (project) load.project = std::move(*document);
}

std::string find_upwards(const std::string& working_folder) {
  std::error_code failed;
  fs::path folder = fs::absolute(working_folder.empty() ? "." : working_folder, failed);
  for (int i = 0; i < kFoldersUpMax; ++i) {
    const fs::path file = folder / "gpuemu.toml";
    // Any file of this name counts, even an unreadable one: skipping it would select another
    // project's file.
    if (fs::exists(fs::symlink_status(file, failed))) return file.string();
    if (folder == folder.parent_path()) break;
    folder = folder.parent_path();
  }
  return "";
}

void read_files(Load& load, const ConfigSources& sources) {
  std::error_code failed;
  const std::string home = lookup(sources.environment, "HOME");
  const std::string user = home.empty() ? "" : home + "/.config/gpuemu/config.toml";
  for (const std::string& file : {std::string("/etc/gpuemu/daemon.toml"), user}) {
    if (!file.empty() && fs::exists(file, failed)) read_file_layer(load, file, false);
  }
  const std::string project = project_file(sources);
  load.config.folder = sources.working_folder;
  if (project.empty()) return;
  load.config.file = project;
  load.config.folder = folder_of(project);
  read_file_layer(load, project, true);
}

void read_flags(Load& load, const ConfigSources& sources) {
  const std::map<std::string, std::string> short_names = {{"socket", "daemon.socket"},
                                                          {"socket_path", "daemon.socket"},
                                                          {"db", "daemon.db"},
                                                          {"db_path", "daemon.db"},
                                                          {"log", "daemon.log_level"},
                                                          {"log_level", "daemon.log_level"},
                                                          {"backend", "runtime.backend"},
                                                          {"seed", "validation.seed"}};
  for (const auto& [flag, value] : sources.flags) {
    const auto known = short_names.find(flag);
    const std::string key = known == short_names.end() ? flag : known->second;
    std::string origin = "flag --" + key.substr(key.rfind('.') + 1);
    std::ranges::replace(origin, '_', '-');
    read_text_setting(load, origin, sources.working_folder, {key, value});
  }
}

// The default paths of socket and database require a home directory only if they are not set.
void fill_places(Load& load, const ConfigSources& sources) {
  const std::string home = lookup(sources.environment, "HOME");
  std::string& socket = load.config.socket_path;
  std::string& db = load.config.db_path;
  if (home.empty() && (socket.empty() || db.empty())) {
    load.state.problem({}, "daemon",
                       "HOME is not set, so socket and database have no default place; set "
                       "both GPUEMU_SOCKET and GPUEMU_DB");
    return;
  }
  if (socket.empty()) socket = home + "/.gpuemu/gpuemu.sock";
  if (db.empty()) db = home + "/.gpuemu/db";
  std::string& debug = load.config.scheduler.debug_dir;
  if (debug.empty() && !home.empty()) debug = home + "/.gpuemu/debug";
  if (socket.size() <= kSocketPathBytesMax) return;
  load.state.problem_at("daemon.socket",
                        fmt::format("the socket path '{}' has {} bytes, the system allows {}; set "
                                    "GPUEMU_SOCKET to a shorter one",
                                    socket, socket.size(), kSocketPathBytesMax));
}

}  // namespace

std::string project_file(const ConfigSources& sources) {
  const std::string named = sources.file.value_or(lookup(sources.environment, "GPUEMU_CONFIG"));
  if (named.empty()) return find_upwards(sources.working_folder);
  if (fs::path(named).is_absolute() || sources.working_folder.empty()) return named;
  return (fs::path(sources.working_folder) / named).lexically_normal().string();
}

void read_layer(ReadState& state, const Layer& layer, const TomlValue& document, Config& config,
                Drafts& drafts) {
  TomlValue copy;
  const TomlValue* source = &document;
  if (layer.from_text) {
    // The sections have few lists, such as dtypes and strategies.
    copy = document;
    static constexpr std::string_view kLists[] = {"dtypes",       "strategies",    "sanitize",
                                                  "include_dirs", "compile_flags", "quick_dtypes"};
    for (TomlEntry& section : copy.entries) {
      for (TomlEntry& entry : section.value.entries) {
        if (std::ranges::find(kLists, entry.key) != std::end(kLists)) split_list(entry.value);
      }
    }
    source = &copy;
  }
  TableReader root(ValueReader(state, layer, *source, ""), file_keys());
  read_project(root, config);
  read_runtime(root, config);
  read_daemon(root, config);
  read_validation(root, config);
  read_policies(root, config);
  read_ci(root, config);
  read_storage(root, config);
  read_scheduler(root, config);
  read_ops(root, config, drafts);
  read_kernels(root, config, drafts);
  root.finish();
}

ConfigResult parse_config(const std::string& toml, const std::string& file) {
  Load load;
  load.config.file = file;
  load.config.folder = folder_of(file);
  load.project = parse_toml(toml, file, load.state.problems);
  if (load.project) {
    read_layer(load.state, {file, load.config.folder, false, true}, *load.project, load.config,
               load.drafts);
  }
  return load.finish(false);
}

ConfigResult load_config(const ConfigSources& sources) {
  Load load;
  read_files(load, sources);
  for (const VariableRow& row : kVariables) {
    const std::string value = lookup(sources.environment, row.variable);
    if (value.empty()) continue;
    read_text_setting(load, fmt::format("environment {}", row.variable), sources.working_folder,
                      {row.key, value});
  }
  read_flags(load, sources);
  fill_places(load, sources);
  return load.finish(true);
}

}  // namespace gpuemu
