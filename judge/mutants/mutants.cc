#include "judge/mutants/mutants.h"

#include <algorithm>
#include <map>

#include "common/rng/rng.h"
#include "judge/mutants/mutations.h"

namespace gpuemu {
namespace {

std::string without_end(std::string text) {
  if (text.ends_with(';')) text.pop_back();
  return text;
}

bool wanted(const std::vector<std::string>& names, const std::string& name) {
  return names.empty() || std::ranges::find(names, name) != names.end();
}

/// Adds the mutants of one instruction.
void add_mutants(const ptx::Module& module, const MutationSite& site, std::vector<Mutant>& out) {
  const ptx::SourceLine source = module.outermost(site.instruction.source);
  const auto file = module.files.find(source.file);
  for (const Mutation& mutation : known_mutations()) {
    for (std::string& replacement : mutation.replacements(site)) {
      Mutant mutant;
      mutant.id = out.size();
      mutant.mutation = mutation.name;
      mutant.entry = site.function.name;
      if (file != module.files.end()) mutant.file = file->second;
      mutant.line = source.line;
      mutant.ptx_line = site.instruction.where.line;
      mutant.before = without_end(site.statement.text());
      mutant.after = without_end(std::move(replacement));
      mutant.begin = site.statement.begin;
      mutant.end = site.statement.end;
      out.push_back(std::move(mutant));
    }
  }
}

}  // namespace

std::vector<Mutant> find_mutants(std::string_view ptx, const ptx::Module& module,
                                 const std::vector<std::string>& entries,
                                 const std::vector<std::string>& mutations) {
  const std::vector<size_t> lines = line_starts(ptx);
  std::vector<Mutant> all;
  for (const ptx::Function& function : module.functions) {
    if (function.is_entry && std::ranges::find(entries, function.name) == entries.end()) continue;
    for (const ptx::Instruction& instruction : function.body) {
      const auto statement = statement_at(ptx, lines, instruction);
      if (!statement) continue;
      add_mutants(module, {function, instruction, *statement}, all);
    }
  }
  std::erase_if(all, [&](const Mutant& one) { return !wanted(mutations, one.mutation); });
  return all;
}

std::string with_mutant(std::string_view ptx, const Mutant& mutant) {
  std::string text(ptx.substr(0, mutant.begin));
  text += mutant.after;
  if (!mutant.after.empty() && !mutant.after.ends_with('}')) text += ';';
  // Keep the number of lines, so that findings have the same line numbers as in the original.
  const std::string_view replaced = ptx.substr(mutant.begin, mutant.end - mutant.begin);
  text.append(static_cast<size_t>(std::ranges::count(replaced, '\n')), '\n');
  text += ptx.substr(mutant.end);
  return text;
}

std::vector<Mutant> choose_mutants(std::vector<Mutant> mutants, uint64_t count, uint64_t seed) {
  if (count == 0 || mutants.size() <= count) return mutants;
  // Shuffles each kind, then takes from the kinds in turn, so that rare kinds are included.
  std::map<std::string, std::vector<Mutant>> kinds;
  for (Mutant& one : mutants) kinds[one.mutation].push_back(std::move(one));
  for (auto& [name, kind] : kinds) {
    Stream stream(seed, 0, "mutants/" + name);
    for (size_t i = kind.size(); i > 1; --i) std::swap(kind[i - 1], kind[stream.below(i)]);
  }
  std::vector<Mutant> chosen;
  for (size_t round = 0; chosen.size() < count; ++round) {
    for (auto& [name, kind] : kinds) {
      if (round < kind.size() && chosen.size() < count) chosen.push_back(std::move(kind[round]));
    }
  }
  std::ranges::sort(chosen, {}, &Mutant::id);
  return chosen;
}

Status check_mutations(const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    std::string known;
    bool found = false;
    for (const Mutation& one : known_mutations()) {
      known += (known.empty() ? "" : ", ") + std::string(one.name);
      found = found || name == one.name;
    }
    if (found) continue;
    return error(ErrorCode::InvalidArgument, "mutation '{}' does not exist, expected one of {}",
                 name, known);
  }
  return ok_status();
}

}  // namespace gpuemu
