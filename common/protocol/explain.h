// What `gpuemu explain` asks and is told: where a wrong value comes from.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace gpuemu {

struct ExplainRequest {
  uint64_t seed = 0;
  std::string op_name;           ///< "" means the newest failure with that seed.
  std::string output;            ///< "" means the one whose error is the worst.
  std::optional<int64_t> index;  ///< Flat row-major; absent: the worst element.
  bool operator==(const ExplainRequest&) const = default;
};

/// A value as the kernel computed it and as it would be without any rounding.
struct ExplainedValue {
  std::string name;  ///< "%f12"; "" where it has none.
  double computed = 0, exact = 0, bound = 0;
  bool operator==(const ExplainedValue&) const = default;
};

/// One instruction that the value went through.
struct ExplainedStep {
  std::string kind;  ///< "compute", "load", "store", "cancels", "absorbs", "overflows", "coarse",
                     ///< "amplifies" or "grows".
  std::string instruction, file;
  uint32_t line = 0, ptx_line = 0;
  std::vector<uint64_t> block, thread;
  uint64_t visit = 0;  ///< How often the thread had come there.
  uint64_t count = 0;  ///< Values that the instruction gave to the element.
  ExplainedValue result;
  std::vector<ExplainedValue> operands;
  bool operator==(const ExplainedStep&) const = default;
};

/// One output of the case, all elements.
struct ExplainedOutput {
  std::string name;
  uint64_t elements = 0, wrong = 0, logic = 0, numerical = 0, rounding = 0;
  bool operator==(const ExplainedOutput&) const = default;
};

/// What one of those that can know a value says of it.
struct VoteSide {
  std::string
      name;  ///< "reference", "exact", "emulator", "cuda", "kernel NAME" of another variant.
  double value = 0;
  bool operator==(const VoteSide&) const = default;
};

/// Who stands alone about one element.
struct Vote {
  std::string alone;  ///< "kernel", "reference", "cuda", "emulator"; "none" where no two agree.
  std::string sentence;
  std::vector<VoteSide> sides;
  bool operator==(const Vote&) const = default;
};

/// Why a finding is there, as far as reports look into it; `gpuemu explain` says all of it.
struct Diagnosis {
  std::string verdict;  ///< As that of ExplainResult, or "skipped".
  std::string note;     ///< In one line, for people.
  std::optional<ExplainedStep> divergence;
  std::optional<Vote> vote;
  bool operator==(const Diagnosis&) const = default;
};

struct ExplainResultReply {
  uint64_t seed = 0;
  std::string op_name, kernel;
  std::string verdict;                 ///< "logic", "numerical", "rounding", "passes" or "unknown".
  std::vector<std::string> sentences;  ///< What happened and what to do, for people.
  std::string output;
  int64_t index = 0;
  double computed = 0, exact = 0, reference = 0;
  double tolerance = 0;  ///< Allowed distance from the reference.
  double bound = 0;      ///< How far rounding may have taken the computed value from the exact one.
  std::vector<ExplainedOutput> outputs;
  std::optional<ExplainedStep> divergence;  ///< Where the element's error begins.
  std::vector<ExplainedStep> slice;         ///< What it is made of, the last instruction first.
  uint64_t other_decisions = 0;             ///< Branches that the exact values take otherwise.
  std::optional<ExplainedStep> first_other_decision;
  bool complete = true;  ///< False where the history was too long to keep.
  std::optional<Vote> vote;
  bool operator==(const ExplainResultReply&) const = default;
};

}  // namespace gpuemu
