// Aligns instructions by what they do, without registers and numbers; then compares aligned pairs
// in detail. Registers must correspond one to one.
#include "judge/metrics/semantic_diff.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <set>
#include <utility>

#include <fmt/core.h>

#include "judge/metrics/align.h"

namespace gpuemu {
namespace {

using ptx::Function;
using ptx::Instruction;
using ptx::Module;
using ptx::Operand;
using ptx::Trait;

constexpr size_t kDifferencesMax = 200;  // Per entry; the rest are only counted.

constexpr std::string_view kConditions[] = {"eq",  "ne",  "lt",  "le",  "gt",  "ge",
                                            "lo",  "ls",  "hi",  "hs",  "equ", "neu",
                                            "ltu", "leu", "gtu", "geu", "num", "nan"};

bool is_condition(std::string_view modifier) {
  return std::ranges::find(kConditions, modifier) != std::end(kConditions);
}

/// Returns whether it is a barrier, a fence or a warp-level exchange. Of the copy instructions only
/// waits such as cp.async.wait_group count; the others are accesses.
bool synchronizes(const Instruction& one) {
  const ptx::OpcodeClass what = ptx::info(one.opcode).what;
  return what == ptx::OpcodeClass::Warp || what == ptx::OpcodeClass::Barrier ||
         one.has(Trait::Waits) || one.has(ptx::Modifier::WaitGroup) ||
         one.has(ptx::Modifier::WaitAll) || one.has(ptx::Modifier::CommitGroup);
}

DifferenceKind kind_of(const Instruction& one) {
  if (synchronizes(one)) return DifferenceKind::Sync;
  return one.has(Trait::TouchesMemory) ? DifferenceKind::Memory : DifferenceKind::Structural;
}

void mix(uint64_t& hash, std::string_view text) {
  hash = hash * 0x100000001B3u ^ std::hash<std::string_view>{}(text);
}

/// Returns whether it is a number, whatever its value.
bool is_number(const Operand& operand) {
  return operand.kind == Operand::Kind::Integer || operand.kind == Operand::Kind::Float;
}

void mix_operand(uint64_t& hash, const Operand& operand, uint32_t depth) {
  mix(hash, is_number(operand)
                ? "#"
                : std::string_view("abcdefghij").substr(static_cast<size_t>(operand.kind), 1));
  if (operand.kind == Operand::Kind::Special) mix(hash, operand.name);
  if (depth == 0) return;
  for (const Operand& element : operand.elements) mix_operand(hash, element, depth - 1);
}

constexpr uint32_t kOperandDepth = 3;  // Addresses in vectors in calls.

/// Returns a hash of what an instruction does, without registers, numbers, labels and condition.
uint64_t shape_of(const Instruction& one) {
  uint64_t hash = 0;
  mix(hash, one.name());
  for (const std::string& modifier : one.modifiers) {
    if (one.has(Trait::Compares) && is_condition(modifier)) continue;
    mix(hash, modifier);
  }
  mix(hash, one.guard ? "@" : "-");
  for (const auto* operands : {&one.operands, &one.call_results, &one.call_arguments}) {
    mix(hash, "|");
    for (const Operand& operand : *operands) mix_operand(hash, operand, kOperandDepth);
  }
  return hash;
}

/// Prints the bits as an integer and as a float: the author of a kernel wrote 1.0f, not 1065353216.
std::string with_float(uint64_t bits) {
  const auto value = static_cast<int64_t>(bits);
  const auto as_float = std::bit_cast<float>(static_cast<uint32_t>(bits));
  const float size = std::fabs(as_float);
  const bool looks_real = (bits >> 32) == 0 && size >= 1e-6f && size <= 1e6f;
  return looks_real ? fmt::format("{} (as f32 {:g})", value, as_float) : fmt::format("{}", value);
}

std::string number_text(const Operand& operand) {
  if (operand.kind == Operand::Kind::Integer) return with_float(operand.bits);
  if (operand.float_bits == 64) return fmt::format("{}", std::bit_cast<double>(operand.bits));
  return fmt::format("{}", std::bit_cast<float>(static_cast<uint32_t>(operand.bits)));
}

std::string condition_of(const Instruction& one) {
  if (!one.has(Trait::Compares)) return "";
  for (const std::string& modifier : one.modifiers) {
    if (is_condition(modifier)) return modifier;
  }
  return "";
}

/// A kernel's text, and the source positions of its instructions.
struct Side {
  const Module& module;
  const Function& function;

  std::string place_of(const Instruction& one) const {
    const auto file = module.files.find(one.source.file);
    if (one.source.line == 0 || file == module.files.end()) return "";
    return fmt::format("{}:{}", file->second, one.source.line);
  }
};

/// Compares one entry of both sides.
class EntryComparison {
 public:
  EntryComparison(const Side& before, const Side& after) : before_(before), after_(after) {}

  EntryDifference run() {
    out_.entry = after_.function.name;
    compare_declarations();
    count_opcodes();
    const auto& left = before_.function.body;
    const auto& right = after_.function.body;
    for (const AlignedPair& pair : align(shapes(left), shapes(right))) {
      if (pair.before && pair.after) {
        compare(left[*pair.before], right[*pair.after]);
      } else if (pair.before) {
        const Instruction& one = left[*pair.before];
        add(kind_of(one), "- " + one.text(), &one, nullptr);
      } else {
        const Instruction& one = right[*pair.after];
        add(kind_of(one), "+ " + one.text(), nullptr, &one);
      }
    }
    out_.verdict = verdict();
    return std::move(out_);
  }

 private:
  static std::vector<uint64_t> shapes(const std::vector<Instruction>& body) {
    std::vector<uint64_t> all;
    all.reserve(body.size());
    for (const Instruction& one : body) all.push_back(shape_of(one));
    return all;
  }

  void add(DifferenceKind kind, std::string text, const Instruction* before,
           const Instruction* after) {
    kinds_.insert(kind);
    if (out_.differences.size() >= kDifferencesMax) {
      ++out_.left_out;
      return;
    }
    KernelDifference one{.kind = kind, .text = std::move(text)};
    if (before != nullptr) {
      one.before_line = before->where.line;
      one.before_source = before_.place_of(*before);
    }
    if (after != nullptr) {
      one.after_line = after->where.line;
      one.after_source = after_.place_of(*after);
    }
    out_.differences.push_back(std::move(one));
  }

  void declared(const char* what, uint64_t before, uint64_t after) {
    if (before == after) return;
    add(DifferenceKind::Structural, fmt::format("{}: {} -> {}", what, before, after), nullptr,
        nullptr);
  }

  static uint64_t bytes_in(const Function& function, ptx::Space space) {
    uint64_t bytes = 0;
    for (const ptx::Variable& one : function.variables) bytes += one.space == space ? one.bytes : 0;
    return bytes;
  }

  void compare_declarations() {
    const Function &left = before_.function, &right = after_.function;
    declared("parameters", left.params.size(), right.params.size());
    for (size_t i = 0; i < std::min(left.params.size(), right.params.size()); ++i) {
      declared("bytes of a parameter", left.params[i].bytes, right.params[i].bytes);
    }
    declared("bytes of shared variables", bytes_in(left, ptx::Space::Shared),
             bytes_in(right, ptx::Space::Shared));
    declared("bytes of local variables", bytes_in(left, ptx::Space::Local),
             bytes_in(right, ptx::Space::Local));
    for (const auto member : {&Function::reqntid, &Function::maxntid}) {
      for (size_t axis = 0; axis < 3; ++axis) {
        declared("threads of a block", (left.*member)[axis], (right.*member)[axis]);
      }
    }
  }

  void count_opcodes() {
    for (const Instruction& one : after_.function.body) ++out_.opcodes[one.spelling()];
    for (const Instruction& one : before_.function.body) --out_.opcodes[one.spelling()];
    std::erase_if(out_.opcodes, [](const auto& entry) { return entry.second == 0; });
  }

  void compare(const Instruction& left, const Instruction& right) {
    const std::string from = condition_of(left), to = condition_of(right);
    if (from != to) {
      add(DifferenceKind::Predicate, fmt::format("{}: tests {} -> {}", left.text(), from, to),
          &left, &right);
    }
    if (left.guard && (left.guard->negated != right.guard->negated)) {
      add(DifferenceKind::Predicate,
          fmt::format("{}: runs when the predicate is {} -> {}", left.text(),
                      left.guard->negated ? "false" : "true",
                      right.guard->negated ? "false" : "true"),
          &left, &right);
    }
    // Sources first: `add r, r, 1` reads the old value.
    bool same = !left.guard || corresponds(*left.guard, *right.guard);
    for (size_t i = left.operands.size(); i-- > 0;) {
      const bool writes = i == 0 && left.has_result();
      same = compare_operand(left, right, {left.operands[i], right.operands[i], writes}) && same;
    }
    for (size_t i = 0; i < left.call_arguments.size(); ++i) {
      same =
          compare_operand(left, right, {left.call_arguments[i], right.call_arguments[i]}) && same;
    }
    if (same) return;
    add(kind_of(left), fmt::format("{} -> {}: other operands", left.text(), right.text()), &left,
        &right);
  }

  struct Pair {
    const Operand& left;
    const Operand& right;
    bool writes = false;
  };

  /// Returns false if registers, variables or labels do not correspond. Reports different numbers
  /// itself.
  bool compare_operand(const Instruction& left, const Instruction& right, const Pair& pair) {
    const Operand &a = pair.left, &b = pair.right;
    if (is_number(a)) {
      const bool equal = a.bits == b.bits && a.kind == b.kind;
      if (!equal && number_text(a) != number_text(b)) {
        add(DifferenceKind::Constant,
            fmt::format("{}: {} -> {}", left.text(), number_text(a), number_text(b)), &left,
            &right);
      }
      return true;
    }
    if (a.offset != b.offset) {
      add(DifferenceKind::Constant,
          fmt::format("{}: offset {} -> {}", left.text(), a.offset, b.offset), &left, &right);
    }
    if (a.kind == Operand::Kind::Register && pair.writes) {
      registers_[a.reg] = b.reg;
      return true;
    }
    if (a.kind == Operand::Kind::Register) return corresponds(a, b) && a.negated == b.negated;
    bool same = true;
    if (a.kind == Operand::Kind::Label) {
      same = labels_.try_emplace(a.label, b.label).first->second == b.label;
    }
    if (a.kind == Operand::Kind::Variable) same = names_correspond(a.name, b.name);
    for (size_t i = 0; i < a.elements.size(); ++i) {
      const bool writes = pair.writes && a.kind != Operand::Kind::Address;
      same = compare_operand(left, right, {a.elements[i], b.elements[i], writes}) && same;
    }
    return same;
  }

  bool corresponds(const Operand& a, const Operand& b) {
    uint32_t& known = registers_.try_emplace(a.reg, b.reg).first->second;
    return std::exchange(known, b.reg) == b.reg;  // Reported once, not at every use.
  }

  /// Parameters correspond by position, variables by their first use.
  bool names_correspond(const std::string& a, const std::string& b) {
    const auto place = [](const Function& function, const std::string& name) {
      return std::ranges::find(function.params, name, &ptx::Variable::name) -
             function.params.begin();
    };
    const auto left = place(before_.function, a), right = place(after_.function, b);
    const auto left_count = std::ssize(before_.function.params);
    const auto right_count = std::ssize(after_.function.params);
    if (left < left_count || right < right_count) return left == right;
    return names_.try_emplace(a, b).first->second == b;
  }

  EntryVerdict verdict() const {
    if (kinds_.empty()) return EntryVerdict::None;
    const auto only = [this](std::initializer_list<DifferenceKind> kinds) {
      return std::ranges::all_of(kinds_, [&](DifferenceKind kind) {
        return std::ranges::find(kinds, kind) != kinds.end();
      });
    };
    if (only({DifferenceKind::Constant})) return EntryVerdict::Constant;
    return only({DifferenceKind::Constant, DifferenceKind::Sync}) ? EntryVerdict::Sync
                                                                  : EntryVerdict::Structural;
  }

  const Side& before_;
  const Side& after_;
  EntryDifference out_;
  std::set<DifferenceKind> kinds_;
  // From before to after.
  std::map<uint32_t, uint32_t> registers_, labels_;
  std::map<std::string, std::string> names_;
};

std::map<std::string, const Function*> entries_of(const Module& module) {
  std::map<std::string, const Function*> all;
  for (const Function& one : module.functions) {
    if (!one.body.empty()) all[one.name] = &one;
  }
  return all;
}

/// An entry that one side lacks counts as a structural difference.
EntryVerdict for_whole(EntryVerdict verdict) { return std::min(verdict, EntryVerdict::Structural); }

}  // namespace

KernelComparisonReply compare_modules(const Module& before, const Module& after) {
  KernelComparisonReply reply;
  auto left = entries_of(before), right = entries_of(after);
  std::vector<std::pair<const Function*, const Function*>> pairs;
  for (auto at = left.begin(); at != left.end();) {
    const auto same = right.find(at->first);
    if (same == right.end()) {
      ++at;
      continue;
    }
    pairs.emplace_back(at->second, same->second);
    right.erase(same);
    at = left.erase(at);
  }
  if (left.size() == 1 && right.size() == 1) {
    pairs.emplace_back(left.begin()->second, right.begin()->second);
    left.clear();
    right.clear();
  }
  for (const auto& [one, other] : pairs) {
    const Side a{before, *one}, b{after, *other};
    reply.entries.push_back(EntryComparison(a, b).run());
  }
  for (const auto& [name, function] : left) {
    reply.entries.push_back({.entry = name, .verdict = EntryVerdict::OnlyBefore});
  }
  for (const auto& [name, function] : right) {
    reply.entries.push_back({.entry = name, .verdict = EntryVerdict::OnlyAfter});
  }
  for (const EntryDifference& one : reply.entries) {
    reply.verdict = std::max(reply.verdict, for_whole(one.verdict));
  }
  return reply;
}

}  // namespace gpuemu
