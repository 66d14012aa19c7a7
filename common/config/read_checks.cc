// Reads artifact_checks: limits for compiled code, of a kernel or the project, and per
// architecture.
#include <algorithm>

#include "common/config/names.h"
#include "common/config/pattern.h"
#include "common/config/readers.h"

namespace gpuemu {
namespace {

// Reads a key that some documents call by the second name.
void read_alias(TableReader& table, std::string_view key, std::string_view alias) {
  if (table.has(key) && table.has(alias)) {
    table.find(alias)->problem(fmt::format("means the same as '{}'; keep one of them", key));
  }
}

void read_patterns(TableReader& table, std::string_view key,
                   std::optional<std::vector<std::string>>& out) {
  if (!table.has(key)) return;
  table.read(key, out.emplace());
  if (!table.find(key)->is(TomlValue::Kind::Array)) return;
  for (const ValueReader& item : table.find(key)->items()) {
    if (!item.is(TomlValue::Kind::Text)) continue;
    if (const auto wrong = pattern_problem(item.value().text)) {
      item.problem(fmt::format("'{}' is no RE2 pattern: {}", item.value().text, *wrong));
    }
  }
}

void read_limit(TableReader& table, std::string_view key, std::optional<uint32_t>& out) {
  const auto value = table.find(key);
  if (!value) return;
  const Key& row = table.row_of(key);
  if (const auto limit = value->integer(row.lowest, row.highest)) {
    out = static_cast<uint32_t>(*limit);
  }
}

void read_limits(TableReader& table, ArtifactLimits& limits) {
  read_limit(table, "max_registers", limits.max_registers);
  read_limit(table, "max_spills", limits.max_spills);
  read_alias(table, "max_local_memory", "max_local_memory_bytes");
  read_limit(table, "max_local_memory_bytes", limits.max_local_memory);
  read_limit(table, "max_local_memory", limits.max_local_memory);
  read_patterns(table, "required_patterns", limits.required_patterns);
  read_alias(table, "forbidden_patterns", "forbidden_instructions");
  read_patterns(table, "forbidden_instructions", limits.forbidden_patterns);
  read_patterns(table, "forbidden_patterns", limits.forbidden_patterns);
  read_limit(table, "max_shared_memory", limits.max_shared_memory);
  read_limit(table, "max_instructions", limits.max_instructions);
  if (const auto occupancy = table.find("min_occupancy")) {
    const Key& row = table.row_of("min_occupancy");
    limits.min_occupancy = occupancy->number(row.least, row.most);
  }
}

template <typename T>
void take(const std::optional<T>& from, std::optional<T>& to) {
  if (from) to = from;
}

void lay_over(const ArtifactLimits& from, ArtifactLimits& to) {
  take(from.max_registers, to.max_registers);
  take(from.max_spills, to.max_spills);
  take(from.max_local_memory, to.max_local_memory);
  take(from.max_shared_memory, to.max_shared_memory);
  take(from.max_instructions, to.max_instructions);
  take(from.min_occupancy, to.min_occupancy);
  take(from.required_patterns, to.required_patterns);
  take(from.forbidden_patterns, to.forbidden_patterns);
}

void lay_over(const ArtifactChecks& checks, const std::string& arch, ArtifactLimits& to) {
  lay_over(checks.limits, to);
  const auto own = checks.archs.find(arch);
  if (own != checks.archs.end()) lay_over(own->second, to);
}

}  // namespace

void read_artifact_checks(TableReader& parent, ArtifactChecks& checks) {
  const auto value = parent.find("artifact_checks");
  if (!value) return;
  TableReader table(*value, artifact_limit_keys());
  read_limits(table, checks.limits);
  if (value->is(TomlValue::Kind::Table)) {
    for (const TomlEntry& entry : value->value().entries) {
      if (!is_architecture(entry.key)) continue;
      TableReader own(*table.named(entry.key), artifact_limit_keys());
      read_limits(own, checks.archs[entry.key]);
      own.finish();
    }
  }
  table.finish();
}

ArtifactLimits Config::limits_for(const KernelConfig* kernel,
                                  const std::string& architecture) const {
  ArtifactLimits limits;
  limits.max_registers = kDefaultMaxRegisters;
  limits.max_spills = 0;
  limits.max_local_memory = 0;
  lay_over(artifact_checks, architecture, limits);
  if (kernel != nullptr) lay_over(kernel->artifact_checks, architecture, limits);
  return limits;
}

}  // namespace gpuemu
