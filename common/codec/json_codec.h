// Converts requests and replies to and from JSON. No other folder handles JSON of the wire. Pure
// functions; thread-safe. Non-finite numbers are written as null, except max_diff and max_rel_diff
// as 1.7976931348623157e308. Unknown members are ignored.
#pragma once

#include <string>
#include <string_view>

#include "common/base/result.h"
#include "common/protocol/replies.h"
#include "common/protocol/requests.h"

namespace gpuemu {

/// InvalidArgument names the member, the expected form and the value found.
Result<Request> decode_request(std::string_view json);
/// `project`: the absolute path of the gpuemu.toml that the request belongs to, its id, or
/// kAllProjects; "" lets the daemon decide. `session`: the secret of its session; "" means the
/// session of this process.
std::string encode_request(const Request& request, std::string_view project = "",
                           std::string_view session = "");

/// Decodes a reply. InvalidArgument as above, so that a client never trusts unchecked data.
Result<Reply> decode_reply(std::string_view json);
std::string encode_reply(const Reply& reply);

/// Encodes the record alone, as inside a reply: for reports and --format json.
std::string encode_result(const ValidationResult& result);
/// Encodes a record as an object: an event of a job, or the report of an op.
std::string encode_event(const JobEvent& event);
std::string encode_op_report(const OpTestReport& report);
/// Encodes an array of results, as printed by `gpuemu lint --format json`.
std::string encode_lint_results(const std::vector<LintResult>& results);

}  // namespace gpuemu
