// Integer expressions of host code, read as C++ and written as gpuemu.toml has them.
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
  int64_t value = 0;        ///< The number of an integer.
  std::vector<Term> parts;  ///< Operands, arguments.

  bool operator==(const Term& other) const;
};

/// Nothing for what gpuemu.toml cannot say: calls of unknown functions, conditions, fractions.
/// Macros that take arguments are expanded; casts and the suffixes of numbers are dropped.
std::optional<Term> parse_c(std::string_view text, const Definitions& definitions);

/// With every name that `meaning` knows replaced, again and again. Nothing where names stand for
/// each other in a circle.
using Meaning = std::function<std::optional<Term>(const std::string& name)>;
std::optional<Term> resolved(const Term& term, const Meaning& meaning);

/// With every part that equals `what` replaced by the name.
Term with_name(const Term& term, const Term& what, const std::string& name);

/// In the language of gpuemu.toml: "cdiv(n, 256)" for (n + 256 - 1) / 256.
std::string to_text(const Term& term);
/// Names in it, each once, in order.
std::vector<std::string> names_in(const Term& term);
/// With its constant parts computed.
Term simplified(const Term& term);
/// The number that an expression of constants stands for; nothing where it is none.
std::optional<int64_t> number_of(std::string_view text, const Definitions& definitions);

}  // namespace gpuemu::cli
