// Requests and replies as JSON text and back. No other folder sees JSON of the wire.
// Pure functions, any thread. Numbers that are not finite travel as null; max_diff and max_rel_diff
// as 1.7976931348623157e308. Unknown members are ignored.
#pragma once

#include <string>
#include <string_view>

#include "common/base/result.h"
#include "common/protocol/replies.h"
#include "common/protocol/requests.h"

namespace gpuemu {

/// InvalidArgument names the member, what was expected and what came.
Result<Request> decode_request(std::string_view json);
/// `project` is whose the request is: the absolute path of its gpuemu.toml, its id, kAllProjects;
/// "" leaves it to the daemon.
/// `session` is the secret of the session that it belongs to; "" means that of this process.
std::string encode_request(const Request& request, std::string_view project = "",
                           std::string_view session = "");

/// A reply of the daemon; InvalidArgument as above, so that a client never trusts what it reads.
Result<Reply> decode_reply(std::string_view json);
std::string encode_reply(const Reply& reply);

/// The record alone, as it stands inside a reply: for reports and --format json.
std::string encode_result(const ValidationResult& result);
/// A record as an object: an event of a job, the report of an op.
std::string encode_event(const JobEvent& event);
std::string encode_op_report(const OpTestReport& report);
/// An array of them, what `gpuemu lint --format json` prints.
std::string encode_lint_results(const std::vector<LintResult>& results);

}  // namespace gpuemu
