// The requests that gpuemu-check answers: cases of an op as `gpuemu test` generates them, and the
// daemon's verdict on the output that a function computed for one. Serves gpuemu.check, which needs
// no daemon.
//
// An op comes as a gpuemu.toml with it alone, so that its options are those of a project, with the
// same names, defaults and messages. Requests:
//   {"request": "case", "op": TEXT, "seed": N, "case": N, "strategies": [...], "output_dtype": D,
//    "dtype": D, "dims": {...}, "layout": L, "values": STRATEGY}
//      the last four instead of what is drawn. Answers dtype, dims, layout, values, seed,
//      parameters (CasePlan::value_parameters) and the inputs {name, dtype, shape}; the data is
//      their packed elements, one behind the other.
//   {"request": "judge", "op": TEXT, "seed": N, "case": N, "dtype": D, "dims": {...},
//    "attrs": {...}, "inputs": [...], "output": {dtype, shape}, "reference": {dtype, shape},
//    "scale": BOOL, "changed": N}
//      the data is the inputs, the output, the reference and, where `scale` says so, how large
//      errors may be (float64, one per element). Answers {"result": a ValidationResult of
//      docs/reference/protocol.md}, and "flushed": true where subnormal numbers count as zero. With
//      "wanted": true it is not final: the data is other inputs, and the same request with their
//      reference appended to its data, and `changed` one higher, continues it. With "narrow": true
//      compute that reference in the dtypes of the inputs.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "common/config/config.h"
#include "common/pipes/message.h"

namespace gpuemu {

class CheckSession {
 public:
  Result<pipes::Message> answer(const pipes::Message& request);

 private:
  Result<std::shared_ptr<const Config>> config_of(const pipes::Json& request);
  Result<pipes::Message> make_case(const pipes::Json& request);
  Result<pipes::Message> judge(const pipes::Message& request);

  std::map<std::string, std::shared_ptr<const Config>> configs_;  ///< By their text.
};

}  // namespace gpuemu
