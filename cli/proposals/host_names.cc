#include "cli/proposals/host_names.h"

#include <algorithm>
#include <iterator>

#include "cli/cuda_text/cpp_text.h"

namespace gpuemu::cli {
namespace {

constexpr char kKept = '@';  // Marks names that must not be replaced again.

Term name_term(const std::string& name) { return {Term::Kind::Name, name, 0, {}}; }

std::vector<Term> factors_of(const Term& term) {
  if (term.kind != Term::Kind::Binary || term.text != "*") return {term};
  std::vector<Term> all = factors_of(term.parts[0]);
  std::ranges::copy(factors_of(term.parts[1]), std::back_inserter(all));
  return all;
}

/// Returns whether the term divides something by `name`.
bool divides(const Term& term, const std::string& name) {
  const bool is_quotient = (term.text == "/" || term.text == "cdiv") && term.parts.size() == 2;
  if (is_quotient && term.parts[1].text == name) return true;
  return std::ranges::any_of(term.parts, [&](const Term& part) { return divides(part, name); });
}

}  // namespace

HostNames::HostNames(const HostLaunch& launch, const SourceKernel& source,
                     const Definitions& definitions, const ProposedKernel& kernel)
    : launch_(launch), definitions_(definitions) {
  for (size_t i = 0; i < launch.args.size() && i < source.params.size(); ++i) {
    const ProposedParam* param = param_written(kernel, source.params[i].name);
    if (param == nullptr || param->role != ParamRole::Dim) continue;
    const auto term = parse_c(launch.args[i], definitions);
    if (!term) continue;
    if (term->kind == Term::Kind::Integer) {
      numbers_.emplace(param->name, term->value);
      continue;
    }
    passed_.emplace_back(param->name, *term);
    if (term->kind == Term::Kind::Name) {
      plain_.emplace(term->text, kKept + param->name);
    } else {
      whole_.emplace_back(*term, kKept + param->name);
    }
  }
}

Term HostNames::with_passed(const Term& term, const std::string& param) const {
  Term out = term;
  for (const auto& [what, name] : whole_) {
    const auto known = name.substr(1) == param ? std::nullopt : resolved(what, meaning(param));
    if (!known) continue;
    out = with_name(out, *known, name);
    // "size * heads * width", of which "heads * width" is passed.
    std::vector<Term> left = factors_of(out);
    const std::vector<Term> passed = factors_of(*known);
    const bool has_all = passed.size() > 1 && std::ranges::all_of(passed, [&](const Term& one) {
                           const auto found = std::ranges::find(left, one);
                           const bool is_found = found != left.end();
                           if (is_found) left.erase(found);
                           return is_found;
                         });
    if (!has_all) continue;
    out = name_term(name);
    for (const Term& one : left) out = {Term::Kind::Binary, "*", 0, {one, out}};
  }
  return out;
}

bool HostNames::is_tile(const std::string& param, const std::vector<std::string>& launch) const {
  if (std::ranges::any_of(launch, [&](const std::string& text) {
        return find_word(text, param) != std::string::npos;
      })) {
    return true;
  }
  return std::ranges::any_of(passed_, [&](const auto& other) {
    const auto plain = resolved(other.second, meaning(other.first));
    return other.first != param && plain && divides(*plain, kKept + param);
  });
}

std::map<std::string, Term> HostNames::computed_terms(
    const std::vector<std::string>& launch) const {
  std::map<std::string, Term> terms;
  for (const auto& [param, term] : passed_) {
    auto plain = resolved(term, meaning(param));
    if (plain) plain = with_passed(*plain, param);
    if (!plain || plain->kind == Term::Kind::Name) continue;
    const std::vector<std::string> names = names_in(*plain);
    const bool is_told = std::ranges::all_of(names, [&](const std::string& name) {
      return name.starts_with(kKept) && name.substr(1) != param;
    });
    if (is_told && (!names.empty() || is_tile(param, launch))) {
      terms.emplace(param, *std::move(plain));
    }
  }
  return terms;
}

std::map<std::string, std::string> HostNames::computed(
    const std::vector<std::string>& launch) const {
  const std::map<std::string, Term> terms = computed_terms(launch);
  std::map<std::string, std::string> texts;
  for (const auto& [param, term] : terms) {
    auto plain = resolved(term, [&](const std::string& name) -> std::optional<Term> {
      const auto other = terms.find(name.substr(1));
      return other == terms.end() ? std::nullopt : std::optional(other->second);
    });
    if (!plain) continue;
    for (const std::string& name : names_in(*plain)) {
      plain = with_name(*plain, name_term(name), name.substr(1));
    }
    texts[param] = to_text(simplified(*plain));
  }
  return texts;
}

bool HostNames::is_multiple(const Term& term, const std::string& dim, int64_t block) const {
  const auto plain = resolved(term, meaning(dim));
  const Term value = plain ? simplified(*plain) : term;
  return value.kind == Term::Kind::Integer && value.value > 0 && value.value % block == 0;
}

bool HostNames::passes_multiple(const std::string& dim, int64_t block) const {
  const auto number = numbers_.find(dim);
  if (number != numbers_.end()) return number->second > 0 && number->second % block == 0;
  const auto passed = std::ranges::find(passed_, dim, &std::pair<std::string, Term>::first);
  return passed != passed_.end() && is_multiple(passed->second, dim, block);
}

bool HostNames::checks_multiples(const std::string& dim, int64_t block) const {
  const auto passed = std::ranges::find(passed_, dim, &std::pair<std::string, Term>::first);
  if (passed == passed_.end()) return false;
  return std::ranges::any_of(launch_.checks, [&](const MultipleCheck& check) {
    const auto checked = parse_c(check.number, definitions_);
    const auto divisor = parse_c(check.divisor, definitions_);
    if (!checked || !divisor || !is_multiple(*divisor, dim, block)) return false;
    const auto here = resolved(*checked, meaning()), there = resolved(passed->second, meaning());
    return *checked == passed->second || (here && there && *here == *there);
  });
}

std::optional<std::string> HostNames::text_of(const std::string& written,
                                              std::vector<std::string>& grid_dims) const {
  const auto term = parse_c(written, definitions_);
  if (!term) return std::nullopt;
  auto plain = resolved(*term, meaning());
  if (!plain) return std::nullopt;
  for (const auto& [what, name] : whole_) {
    const auto known = resolved(what, meaning());
    if (known) plain = with_name(*plain, *known, name);
  }
  Term out = simplified(*plain);
  for (const std::string& name : names_in(out)) {
    if (name.starts_with(kKept)) {
      out = with_name(out, name_term(name), name.substr(1));
      continue;
    }
    const std::string dim = legal_name(name);
    out = with_name(out, name_term(name), dim);
    if (std::ranges::find(grid_dims, dim) == grid_dims.end()) grid_dims.push_back(dim);
  }
  return to_text(out);
}

Meaning HostNames::meaning(const std::string& param) const {
  return [this, param](const std::string& name) -> std::optional<Term> {
    if (name.starts_with(kKept)) return std::nullopt;
    const auto known = plain_.find(name);
    if (known != plain_.end() && known->second.substr(1) != param) return name_term(known->second);
    const auto local = launch_.locals.find(name);
    if (local != launch_.locals.end()) return parse_c(local->second, definitions_);
    const auto constant = definitions_.constants.find(name);
    if (constant != definitions_.constants.end()) return parse_c(constant->second, definitions_);
    return std::nullopt;
  };
}

}  // namespace gpuemu::cli
