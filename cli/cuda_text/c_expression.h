// Parses integer expressions of host code as C++ and prints them in the language of gpuemu.toml.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/cuda_text/definitions.h"

namespace gpuemu::cli {

/// A node of an expression.
struct Term {
  enum class Kind { Integer, Name, Binary, Call } kind = Kind::Integer;
  std::string text;         ///< A name ("n", "dims.x"), an operator, a function.
  int64_t value = 0;        ///< The value of an integer.
  std::vector<Term> parts;  ///< Operands, arguments.

  bool operator==(const Term& other) const;
};

/// Returns nothing for what gpuemu.toml cannot express: calls of unknown functions, conditions,
/// fractions. Macros with arguments are expanded; casts and suffixes of numbers are dropped.
std::optional<Term> parse_c(std::string_view text, const Definitions& definitions);

/// Replaces every name that `meaning` knows, repeatedly. Returns nothing if names refer to each
/// other in a cycle.
using Meaning = std::function<std::optional<Term>(const std::string& name)>;
std::optional<Term> resolved(const Term& term, const Meaning& meaning);

/// Replaces every part that equals `what` by the name.
Term with_name(const Term& term, const Term& what, const std::string& name);

/// Prints the term in the language of gpuemu.toml: "cdiv(n, 256)" for (n + 256 - 1) / 256.
std::string to_text(const Term& term);
/// Returns the names in the term, each once, in order.
std::vector<std::string> names_in(const Term& term);
/// Evaluates the constant parts of the term.
Term simplified(const Term& term);
/// Returns the value of a constant expression; nothing for others.
std::optional<int64_t> number_of(std::string_view text, const Definitions& definitions);

}  // namespace gpuemu::cli
