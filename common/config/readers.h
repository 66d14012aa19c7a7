// The readers of gpuemu.toml, one per section. They fill in values and report those that do not
// fit; check_config() then checks what involves several sections.
#pragma once

#include "common/config/config.h"
#include "common/config/read_table.h"

namespace gpuemu {

/// The part that [[ops]] and [[kernels]] share: how to generate inputs and how to judge outputs.
/// The vectors are parallel to Config::ops and Config::kernels.
struct OpDraft {
  std::string path;       ///< "ops[2]"
  std::string data_path;  ///< Where inputs and outputs are declared: its own path or a kernel's.
  bool mode_given = false;
};
struct KernelDraft {
  std::string path;
  OpConfig data;  ///< The op's keys in a [[kernels]] table.
};
struct Drafts {
  std::vector<OpDraft> ops;
  std::vector<KernelDraft> kernels;
};

void read_project(TableReader& root, Config& config);
void read_runtime(TableReader& root, Config& config);
void read_daemon(TableReader& root, Config& config);
void read_validation(TableReader& root, Config& config);
void read_policies(TableReader& root, Config& config);
void read_ci(TableReader& root, Config& config);
void read_storage(TableReader& root, Config& config);
void read_scheduler(TableReader& root, Config& config);
void read_ops(TableReader& root, Config& config, Drafts& drafts);
void read_kernels(TableReader& root, Config& config, Drafts& drafts);

void read_tolerances(TableReader& table, ToleranceTable& tolerances);
/// Reads "auto", a number or a table.
std::optional<Tolerance> read_tolerance(const ValueReader& value);
/// Reads "ref.py" or "ref.py:softmax".
void read_reference(TableReader& table, std::string& path, std::string& function);
/// Reads the table `artifact_checks`, including tables per architecture.
void read_artifact_checks(TableReader& parent, ArtifactChecks& checks);
/// `off`: invariants set to `false`.
void read_invariants(TableReader& table, std::vector<InvariantSpec>& invariants,
                     std::vector<InvariantKind>& off);
/// Reads inputs, outputs, dims, attrs, dtypes, accumulate and so on, of an op or a kernel.
void read_test_data(TableReader& table, OpConfig& op);
/// Reads the dims that are chosen, and those computed from them.
void read_dims(TableReader& table, OpConfig& op);
enum class TensorList { Inputs, Outputs, Scratch };
std::vector<TensorSpec> read_tensors(TableReader& table, std::string_view key, TensorList list);

/// Reads one layer on top of `config`.
void read_layer(ReadState& state, const Layer& layer, const TomlValue& document, Config& config,
                Drafts& drafts);
/// Sets values that depend on several keys, and reports contradictions; checks files if requested.
void check_config(ReadState& state, Config& config, Drafts& drafts, bool check_files);
/// Determines which tensors may be strided or transposed; reports layouts that none can have.
void settle_layouts(ReadState& state, const Config& config, OpConfig& op, const OpDraft& draft);
/// Checks the tensors, dims, axes and ops that the invariants and relations at `path` name.
void check_invariants(ReadState& state, const Config& config, const OpConfig& op,
                      const std::vector<InvariantSpec>& invariants, const std::string& path);
/// Checks the names in the expressions and arguments of one op.
void check_op_names(ReadState& state, const Config& config, const OpConfig& op,
                    const OpDraft& draft, const Drafts& drafts);
/// Checks outputs with several right answers: what they index, and along which axis.
void check_answers(ReadState& state, const OpConfig& op, const OpDraft& draft);
/// Computes the widest ranges of tensors whose ends depend on sizes.
void widen_ranges(OpConfig& op);
/// Checks that the smallest case of an op fits into memory and is small enough to run often.
void check_smallest_case(ReadState& state, const Config& config, const OpConfig& op,
                         const OpDraft& draft);
/// Lists the settings for `config show --origin`.
std::vector<Config::Setting> list_settings(const Config& config, const ReadState& state,
                                           const TomlValue* project);

}  // namespace gpuemu
