// The sections of gpuemu.toml, one reader each. They fill values and report what does not fit;
// what needs several sections is checked afterwards by check_config().
#pragma once

#include "common/config/config.h"
#include "common/config/read_table.h"

namespace gpuemu {

/// What [[ops]] and [[kernels]] share: how to make inputs for it and how to judge its outputs.
/// The vectors run parallel to Config::ops and Config::kernels.
struct OpDraft {
  std::string path;       ///< "ops[2]"
  std::string data_path;  ///< Where inputs and outputs stand: its own path or a kernel's.
  bool mode_given = false;
};
struct KernelDraft {
  std::string path;
  OpConfig data;  ///< The op keys of a [[kernels]] table.
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
/// "auto", a number or a table.
std::optional<Tolerance> read_tolerance(const ValueReader& value);
/// "ref.py" or "ref.py:softmax".
void read_reference(TableReader& table, std::string& path, std::string& function);
/// Its table `artifact_checks`, with tables per architecture in it.
void read_artifact_checks(TableReader& parent, ArtifactChecks& checks);
/// `off`: those written as `false`.
void read_invariants(TableReader& table, std::vector<InvariantSpec>& invariants,
                     std::vector<InvariantKind>& off);
/// inputs, outputs, dims, attrs, dtypes, accumulate ... of an op or a kernel.
void read_test_data(TableReader& table, OpConfig& op);
/// The dims that are chosen, and those that follow from them.
void read_dims(TableReader& table, OpConfig& op);
enum class TensorList { Inputs, Outputs, Scratch };
std::vector<TensorSpec> read_tensors(TableReader& table, std::string_view key, TensorList list);

/// Reads one layer on top of `config`.
void read_layer(ReadState& state, const Layer& layer, const TomlValue& document, Config& config,
                Drafts& drafts);
/// Fills what depends on several keys and reports what does not agree; files too if wanted.
void check_config(ReadState& state, Config& config, Drafts& drafts, bool check_files);
/// Finds out which tensors may lie strided or transposed; reports layouts that none can have.
void settle_layouts(ReadState& state, const Config& config, OpConfig& op, const OpDraft& draft);
/// The tensors, dims, axes and ops that the invariants and relations at `path` name.
void check_invariants(ReadState& state, const Config& config, const OpConfig& op,
                      const std::vector<InvariantSpec>& invariants, const std::string& path);
/// The names that the expressions and arguments of one op use.
void check_op_names(ReadState& state, const Config& config, const OpConfig& op,
                    const OpDraft& draft, const Drafts& drafts);
/// Outputs with several right answers: what they index, and along which axis.
void check_answers(ReadState& state, const OpConfig& op, const OpDraft& draft);
/// The widest ranges of tensors whose ends follow from sizes.
void widen_ranges(OpConfig& op);
/// Whether the smallest case of one op fits into memory, and is small enough to be run often.
void check_smallest_case(ReadState& state, const Config& config, const OpConfig& op,
                         const OpDraft& draft);
/// For `config show --origin`.
std::vector<Config::Setting> list_settings(const Config& config, const ReadState& state,
                                           const TomlValue* project);

}  // namespace gpuemu
