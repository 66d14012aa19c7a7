#include "cli/cuda_text/c_expression.h"

#include <algorithm>
#include <array>

#include <fmt/core.h>

#include "cli/cuda_text/cpp_text.h"

namespace gpuemu::cli {
namespace {

constexpr int kExpressionDepthMax = 64;

Term integer(int64_t value) { return {Term::Kind::Integer, "", value, {}}; }
Term name_of(std::string text) { return {Term::Kind::Name, std::move(text), 0, {}}; }
Term binary(std::string op, Term left, Term right) {
  return {Term::Kind::Binary, std::move(op), 0, {std::move(left), std::move(right)}};
}
Term call_of(std::string name, std::vector<Term> parts) {
  return {Term::Kind::Call, std::move(name), 0, std::move(parts)};
}

struct Size {
  std::string_view type;
  int64_t bytes;
};
constexpr auto kSizes = std::to_array<Size>(
    {{"float", 4},         {"int", 4},           {"unsigned", 4},      {"unsigned int", 4},
     {"double", 8},        {"long long", 8},     {"size_t", 8},        {"half", 2},
     {"__half", 2},        {"__nv_bfloat16", 2}, {"nv_bfloat16", 2},   {"char", 1},
     {"unsigned char", 1}, {"uint8_t", 1},       {"int8_t", 1},        {"bool", 1},
     {"short", 2},         {"int64_t", 8},       {"uint64_t", 8},      {"int32_t", 4},
     {"uint32_t", 4},      {"float4", 16},       {"float2", 8},        {"int4", 16},
     {"int2", 8},          {"uint4", 16},        {"uint2", 8},         {"double2", 16},
     {"half2", 4},         {"__half2", 4},       {"__nv_bfloat162", 4}});

bool is_type(const std::string& text, const Definitions& definitions) {
  const std::string plain = definitions.plain_type(text);
  return std::ranges::any_of(kSizes, [&](const Size& row) { return row.type == plain; }) ||
         plain == "long" || plain == "auto" || plain == "dim3";
}

/// Returns whether the name is one of the usual names for division that rounds up.
bool is_ceiling_division(std::string name) {
  std::erase(name, '_');
  std::ranges::transform(name, name.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  for (const std::string_view known : {"ceildiv", "cdiv", "divup", "divceil", "idivup", "divideup",
                                       "ceildivide", "divroundup", "iceildiv", "updiv"}) {
    if (name == known) {
      return true;
    }
  }
  return false;
}

/// Returns the last part of "std::min" or "at::ceil_div".
std::string last_part(const std::string& name) {
  const size_t colons = name.rfind("::");
  return colons == std::string::npos ? name : name.substr(colons + 2);
}

class Parser {
 public:
  Parser(std::string_view text, const Definitions& definitions, int depth)
      : text_(text), definitions_(definitions), depth_(depth) {}

  std::optional<Term> all() {
    auto term = level(0);
    skip();
    return term && at_ == text_.size() ? term : std::nullopt;
  }

 private:
  void skip() {
    while (at_ < text_.size() && std::string_view(" \t\r\n").find(text_[at_]) != text_.npos) ++at_;
  }
  bool take(std::string_view token) {
    skip();
    if (text_.substr(at_, token.size()) != token) return false;
    at_ += token.size();
    return true;
  }

  /// Parses binary operators; level 0 has the lowest precedence.
  std::optional<Term> level(size_t tightness) {
    static constexpr std::array<std::array<std::string_view, 3>, 3> kLevels = {
        {{"<<", ">>", ""}, {"+", "-", ""}, {"*", "/", "%"}}};
    if (depth_ > kExpressionDepthMax) return std::nullopt;
    if (tightness == kLevels.size()) return unary();
    auto left = level(tightness + 1);
    while (left) {
      std::string_view found;
      for (const std::string_view op : kLevels[tightness]) {
        if (found.empty() && !op.empty() && take(op)) {
          found = op;
        }
      }
      if (found.empty()) return left;
      auto right = level(tightness + 1);
      if (!right) return std::nullopt;
      left = binary(std::string(found), *std::move(left), *std::move(right));
    }
    return left;
  }

  std::optional<Term> unary() {
    if (depth_ > kExpressionDepthMax) return std::nullopt;
    ++depth_;
    skip();
    std::optional<Term> term;
    if (take("+")) {
      term = unary();
    } else if (take("-")) {
      if (auto operand = unary()) term = binary("-", integer(0), *std::move(operand));
    } else {
      term = primary();
    }
    --depth_;
    return term;
  }

  std::optional<Term> primary() {
    skip();
    if (at_ >= text_.size()) return std::nullopt;
    if (text_[at_] == '(') return bracket();
    if (text_[at_] >= '0' && text_[at_] <= '9') return number();
    return named();
  }

  /// Parses a cast or a parenthesis.
  std::optional<Term> bracket() {
    const size_t behind = behind_bracket(text_, at_);
    if (behind == text_.npos) return std::nullopt;
    const std::string inside = trimmed(text_.substr(at_ + 1, behind - at_ - 2));
    at_ = behind;
    if (is_type(inside, definitions_)) return unary();
    return Parser(inside, definitions_, depth_ + 1).all();
  }

  std::optional<Term> number() {
    int64_t value = 0;
    const size_t begin = at_;
    const bool hex = text_.substr(at_, 2) == "0x" || text_.substr(at_, 2) == "0X";
    if (hex) at_ += 2;
    const size_t digits = at_;
    while (at_ < text_.size() && (is_word(text_[at_]) || text_[at_] == '.' || text_[at_] == '\'')) {
      ++at_;
    }
    std::string written(text_.substr(digits, at_ - digits));
    std::erase(written, '\'');
    const std::string allowed = hex ? "0123456789abcdefABCDEF" : "0123456789";
    const size_t end = written.find_first_not_of(allowed);
    const std::string suffix = end == std::string::npos ? "" : written.substr(end);
    if (suffix.find_first_not_of("uUlLzZ") != std::string::npos) return std::nullopt;
    if (written.empty() || written.size() > 18) return std::nullopt;
    value = static_cast<int64_t>(std::stoll(written, nullptr, hex ? 16 : 10));
    return begin == at_ ? std::nullopt : std::optional(integer(value));
  }

  std::optional<Term> named() {
    const size_t begin = at_;
    while (at_ < text_.size() && (is_word(text_[at_]) || text_[at_] == ':' || text_[at_] == '.')) {
      ++at_;
    }
    std::string name(text_.substr(begin, at_ - begin));
    if (name.empty()) return std::nullopt;
    if (name == "sizeof") return size_of();
    if (name.find("_cast") != std::string::npos && name.ends_with("_cast")) return cast();
    while (text_.substr(at_, 2) == "->") {
      const size_t member = at_ += 2;
      while (at_ < text_.size() && is_word(text_[at_])) ++at_;
      name += "." + std::string(text_.substr(member, at_ - member));
    }
    skip();
    if (at_ < text_.size() && text_[at_] == '<' && text_.substr(at_, 2) != "<<") {
      const size_t behind = behind_bracket(text_, at_);  // Skips template arguments of a function.
      if (behind == text_.npos || behind >= text_.size() || text_[behind] != '(') {
        return std::nullopt;
      }
      at_ = behind;
    }
    if (at_ >= text_.size() || text_[at_] != '(') return name_of(std::move(name));
    return call(std::move(name));
  }

  std::optional<Term> size_of() {
    skip();
    if (at_ >= text_.size() || text_[at_] != '(') return std::nullopt;
    const size_t behind = behind_bracket(text_, at_);
    if (behind == text_.npos) return std::nullopt;
    const std::string type =
        definitions_.plain_type(trimmed(text_.substr(at_ + 1, behind - at_ - 2)));
    at_ = behind;
    for (const Size& row : kSizes) {
      if (row.type == type) {
        return integer(row.bytes);
      }
    }
    if (type == "T" || type == "scalar_t") return call_of("sizeof", {name_of("dtype")});
    return std::nullopt;
  }

  std::optional<Term> cast() {
    skip();
    if (at_ >= text_.size() || text_[at_] != '<') return std::nullopt;
    const size_t behind = behind_bracket(text_, at_);
    if (behind == text_.npos) return std::nullopt;
    at_ = behind;
    return primary();
  }

  std::optional<Term> call(std::string name) {
    const size_t behind = behind_bracket(text_, at_);
    if (behind == text_.npos) return std::nullopt;
    const std::vector<std::string> texts = split_list(text_.substr(at_ + 1, behind - at_ - 2));
    at_ = behind;
    if (const auto macro = definitions_.macros.find(name);
        macro != definitions_.macros.end() && !is_ceiling_division(name)) {
      return expanded(macro->second, texts);
    }
    std::vector<Term> parts;
    for (const std::string& text : texts) {
      auto part = Parser(text, definitions_, depth_ + 1).all();
      if (!part) return std::nullopt;
      parts.push_back(*std::move(part));
    }
    const std::string plain = last_part(name);
    if (parts.size() == 2 && is_ceiling_division(plain)) return call_of("cdiv", std::move(parts));
    if (parts.size() == 2 && (plain == "min" || plain == "max")) {
      return call_of(plain, std::move(parts));
    }
    if (parts.size() == 1 && is_type(plain, definitions_)) return parts[0];
    // In ceil((float)n / b) the cast has been dropped already.
    if (parts.size() == 1 && (plain == "ceil" || plain == "ceilf") && parts[0].text == "/") {
      return call_of("cdiv", std::move(parts[0].parts));
    }
    // In x.size(1), a size that the program knows.
    if (texts.size() == 1 && name.ends_with(".size") && parts[0].kind == Term::Kind::Integer) {
      return name_of(fmt::format("{}.{}", name, parts[0].value));
    }
    if (texts.empty() && name.ends_with(".numel")) return name_of(name);
    return std::nullopt;
  }

  std::optional<Term> expanded(const Macro& macro, const std::vector<std::string>& args) {
    if (args.size() != macro.params.size()) return std::nullopt;
    std::string body = macro.body;
    for (size_t i = 0; i < args.size(); ++i) {
      const std::string value = "(" + args[i] + ")";
      for (size_t at = find_word(body, macro.params[i]); at != std::string::npos;
           at = find_word(body, macro.params[i], at + value.size())) {
        body.replace(at, macro.params[i].size(), value);
      }
    }
    return Parser(body, definitions_, depth_ + 1).all();
  }

  std::string_view text_;
  const Definitions& definitions_;
  int depth_;
  size_t at_ = 0;
};

std::optional<Term> resolved_to(const Term& term, const Meaning& meaning, int depth) {
  if (depth > kExpressionDepthMax) return std::nullopt;
  if (term.kind == Term::Kind::Name) {
    const auto known = meaning(term.text);
    if (!known || *known == term) return term;
    return resolved_to(*known, meaning, depth + 1);
  }
  Term out = term;
  for (Term& part : out.parts) {
    auto inner = resolved_to(part, meaning, depth + 1);
    if (!inner) return std::nullopt;
    part = *std::move(inner);
  }
  return out;
}

/// Returns a for (a + b - 1) / b and (a - 1 + b) / b, whatever b is; nothing for other terms.
std::optional<Term> rounded_up(const Term& numerator, const Term& divisor) {
  const auto is_op = [](const Term& term, const char* op) {
    return term.kind == Term::Kind::Binary && term.text == op;
  };
  if (is_op(numerator, "-") && numerator.parts[1] == integer(1) && is_op(numerator.parts[0], "+") &&
      numerator.parts[0].parts[1] == divisor) {
    return numerator.parts[0].parts[0];
  }
  if (is_op(numerator, "+") && divisor.kind == Term::Kind::Integer &&
      numerator.parts[1] == integer(divisor.value - 1)) {
    return numerator.parts[0];
  }
  if (is_op(numerator, "+") && is_op(numerator.parts[1], "-") &&
      numerator.parts[1] == binary("-", divisor, integer(1))) {
    return numerator.parts[0];
  }
  return std::nullopt;
}

std::string text_in(const Term& term, bool bracket) {
  if (term.kind == Term::Kind::Integer) return std::to_string(term.value);
  if (term.kind == Term::Kind::Name) return term.text;
  if (term.kind == Term::Kind::Call) {
    std::string list;
    for (const Term& part : term.parts) list += (list.empty() ? "" : ", ") + text_in(part, false);
    return fmt::format("{}({})", term.text, list);
  }
  const bool first_tight = term.text == "*" || term.text == "/" || term.text == "%";
  const auto loose = [](const Term& part) {
    return part.kind == Term::Kind::Binary && (part.text == "+" || part.text == "-");
  };
  const bool right_bracket = term.parts[1].kind == Term::Kind::Binary;
  const std::string text =
      fmt::format("{} {} {}", text_in(term.parts[0], first_tight && loose(term.parts[0])),
                  term.text, text_in(term.parts[1], right_bracket));
  return bracket ? "(" + text + ")" : text;
}

Term computed(const std::string& op, const Term& left, const Term& right) {
  if (left.kind == Term::Kind::Integer && right.kind == Term::Kind::Integer) {
    const int64_t a = left.value, b = right.value;
    int64_t value = 0;
    if (op == "+" && !__builtin_add_overflow(a, b, &value)) return integer(value);
    if (op == "-" && !__builtin_sub_overflow(a, b, &value)) return integer(value);
    if (op == "*" && !__builtin_mul_overflow(a, b, &value)) return integer(value);
    if (op == "/" && b > 0) return integer(a / b);
    if (op == "%" && b > 0) return integer(a % b);
  }
  if ((op == "*" || op == "/") && right == integer(1)) return left;
  if (op == "*" && left == integer(1)) return right;
  if ((op == "+" || op == "-") && right == integer(0)) return left;
  // Sums such as (n - 2) + 31 are combined, so that rounding divisions are recognized.
  if (op == "/") {
    if (const auto number = rounded_up(left, right)) {
      return call_of("cdiv", {*number, right});
    }
  }
  return binary(op, left, right);
}

}  // namespace

bool Term::operator==(const Term& other) const {
  return kind == other.kind && text == other.text && value == other.value && parts == other.parts;
}

std::optional<Term> parse_c(std::string_view text, const Definitions& definitions) {
  return Parser(text, definitions, 0).all();
}

std::optional<Term> resolved(const Term& term, const Meaning& meaning) {
  return resolved_to(term, meaning, 0);
}

Term with_name(const Term& term, const Term& what, const std::string& name) {
  if (term == what) return name_of(name);
  Term out = term;
  for (Term& part : out.parts) part = with_name(part, what, name);
  return out;
}

Term simplified(const Term& term) {
  if (term.kind == Term::Kind::Binary) {
    // Must come before its parts are simplified: 256 - 1 would become 255, and 255 + 1 would not be
    // recognized.
    if (term.text == "/") {
      const Term right = simplified(term.parts[1]);
      if (const auto number = rounded_up(term.parts[0], term.parts[1])) {
        return call_of("cdiv", {simplified(*number), right});
      }
    }
    const Term left = simplified(term.parts[0]), right = simplified(term.parts[1]);
    if ((term.text == "<<" || term.text == ">>") && right.kind == Term::Kind::Integer &&
        right.value >= 0 && right.value < 31) {
      const Term factor = integer(int64_t{1} << right.value);
      return computed(term.text == "<<" ? "*" : "/", left, factor);
    }
    return computed(term.text, left, right);
  }
  Term out = term;
  for (Term& part : out.parts) part = simplified(part);
  return out;
}

std::optional<int64_t> number_of(std::string_view text, const Definitions& definitions) {
  const auto term = parse_c(text, definitions);
  if (!term) return std::nullopt;
  const auto known = resolved(*term, [&](const std::string& name) -> std::optional<Term> {
    const auto constant = definitions.constants.find(name);
    return constant == definitions.constants.end() ? std::nullopt
                                                   : parse_c(constant->second, definitions);
  });
  if (!known) return std::nullopt;
  const Term number = simplified(*known);
  return number.kind == Term::Kind::Integer ? std::optional(number.value) : std::nullopt;
}

std::string to_text(const Term& term) { return text_in(term, false); }

std::vector<std::string> names_in(const Term& term) {
  std::vector<std::string> names;
  const auto visit = [&](const auto& self, const Term& one) -> void {
    if (one.kind == Term::Kind::Name && one.text != "dtype" &&
        std::ranges::find(names, one.text) == names.end()) {
      names.push_back(one.text);
    }
    for (const Term& part : one.parts) self(self, part);
  };
  visit(visit, term);
  return names;
}

}  // namespace gpuemu::cli
