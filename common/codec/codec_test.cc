// The messages of the protocol's own examples, pinned texts, and everything a peer may get wrong.
#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "common/codec/json_codec.h"
#include "common/codec/shared_tensor.h"

namespace gpuemu {
namespace {

constexpr const char* kRequests[] = {
    R"({"type": "Ping"})",
    R"({"type": "ValidateOp", "op_name": "scale", "inputs": {"x": {"shape": [2, 2], )"
    R"("strides": [8, 4], "dtype": "float32", "data": "AACAPwAAAEAAAEBAAACAQA=="}}, )"
    R"("output": {"shape": [2, 2], "strides": [8, 4], "dtype": "float32", )"
    R"("data": "AAAAQAAAgEAAAMBAAAAAQQ=="}, "kwargs": {"factor": "2.0", "mode": "fast"}})",
    R"({"type": "ValidateOp", "op_name": "scale", "inputs": {"x": {"shape": [2, 2], )"
    R"("strides": [4, 8], "dtype": "float32", "data": "AACAPwAAQEAAAABAAACAQA=="}}, )"
    R"("output": {"shape": [2, 2], "strides": [-8, 4], "dtype": "float32", )"
    R"("data": "AABAQAAAgEAAAIA/AAAAQA=="}, "kwargs": {}})",
    R"({"type": "ValidateOp", "op_name": "s0", "inputs": {"x": {"shape": [], "strides": [], )"
    R"("dtype": "float64", "data": "AAAAAAAACEA="}}, "output": {"shape": [0, 3], )"
    R"("strides": [0, 0], "dtype": "bool", "data": ""}, "kwargs": {}})",
    R"({"type": "SubmitOutput", "op_name": "scale", "inputs": {"x": {"shape": [2, 2], )"
    R"("strides": [8, 4], "dtype": "float32", "data": "AACAPwAAAEAAAEBAAACAQA=="}}, )"
    R"("output": {"shape": [2, 2], "strides": [8, 4], "dtype": "float32", )"
    R"("data": "AACAPwAAAEAAAEBAAACAQA=="}, "seed": 9, "kwargs": {}})",
    R"({"type": "GetResult", "seed": 7})",
    R"({"type": "ListResults", "limit": 100})",
    R"({"type": "ListFailures", "limit": 20})",
    R"({"type": "StoreBaseline", "tag": "v1"})",
    R"({"type":"CompareBaseline","tag":"v1"})",
    R"({"type": "FuzzOp", "op_name": "scale", "fuzz_config": {"seed": 42, )"
    R"("shape_options": {"batch_sizes": [1, 2, 4, 8, 16, 32], )"
    R"("seq_lengths": [64, 128, 256, 512, 1024], "hidden_dims": [256, 512, 768, 1024], )"
    R"("edge_cases": [[1], [1, 1], [1, 1, 1]]}, "dtypes": ["float32", "float16"], )"
    R"("layouts": ["Contiguous", "Strided", "Transposed"]}, "iterations": 100, )"
    R"("fail_fast": false})",
    R"({"type": "Reproduce", "seed": 5})",
    R"({"type": "Reproduce", "seed": 5, "profile": true})",
    R"({"type": "Minimize", "seed": 5, "strategy": "BinarySearchDims", "max_iters": 100})",
    R"({"type": "Minimize", "seed": 5, "strategy": "BinarySearchValues", "max_iters": 7})",
    R"({"type": "GetTestCase", "op_name": "scale", "fuzz_config": {"seed": 1, )"
    R"("shape_options": {"batch_sizes": [1, 2, 4, 8], "seq_lengths": [64, 128, 256], )"
    R"("hidden_dims": [256, 512], "edge_cases": [[1], [1, 1]]}, "dtypes": ["float32", )"
    R"("float16"], "layouts": ["Contiguous", "Strided"]}})",
    R"({"type": "GetTestBatch", "op_name": "scale", "fuzz_config": {"seed": 1, )"
    R"("shape_options": {"batch_sizes": [1, 2, 4, 8], "seq_lengths": [64, 128, 256], )"
    R"("hidden_dims": [256, 512], "edge_cases": [[1], [1, 1]]}, "dtypes": ["float32", )"
    R"("float16"], "layouts": ["Contiguous", "Strided"], "op_schema": {"name": "s", )"
    R"("dims": [{"name": "N", "candidates": [4, 8]}], "inputs": [{"name": "x", )"
    R"("dims": ["N"]}]}}, "count": 2})",
    R"({"type": "LintKernel", "kernel_name": null, "ptx_content": ".version 7.0"})",
    R"({"type":"StoreArtifactBaseline","tag":"main"})",
    R"({"type":"DiffArtifactBaseline","tag":"main"})",
    R"({"type":"GetArtifact","kernel_name":"k"})",
    R"({"type":"RunCi","quick":true,"baseline":null,"parallel_jobs":0})",
};

// Replies that encode_reply has to write byte for byte as here (additions are absent when empty).
constexpr const char* kReplies[] = {
    R"({"type":"ValidationResult","result":{"passed":true,"seed":1790000000123456789,)"
    R"("op_name":"scale","max_diff":0.0,"max_rel_diff":0.0,"failures":[],)"
    R"("timestamp":1790000000,"duration_ms":0,"repro_info":null,"error_stats":{"count":4,)"
    R"("num_exceeding":0,"max_abs":0.0,"mean_abs":0.0,"p50_abs":0.0,"p90_abs":0.0,)"
    R"("p99_abs":0.0,"max_rel":0.0,"mean_rel":0.0,"max_ulp":0,"mean_ulp":0.0}}})",
    R"({"type":"SubmitResult","result":{"passed":false,"seed":9,"op_name":"scale",)"
    R"("max_diff":4.0,"max_rel_diff":0.5,"failures":[{"kind":"ToleranceExceeded",)"
    R"("message":"element 0: expected 2, got 1, |diff| 1 > 1e-05","index":0,)"
    R"("expected":2.0,"actual":1.0}],"timestamp":1790000001,"duration_ms":48,)"
    R"("repro_info":null,"error_stats":{"count":4,"num_exceeding":4,"max_abs":4.0,)"
    R"("mean_abs":2.5,"p50_abs":3.0,"p90_abs":4.0,"p99_abs":4.0,"max_rel":0.5,)"
    R"("mean_rel":0.5,"max_ulp":8388608,"mean_ulp":8388608.0}}})",
    R"({"type":"Error","code":"NotFound","message":"no result with seed 7"})",
    R"({"type":"Results","results":[]})",
    R"({"type":"Ok"})",
    R"({"type":"FuzzResults","seed":42,"total":100,"passed":99,"failed":1,)"
    R"("failures":[{"passed":false,"seed":5148731190416832423,"op_name":"scale",)"
    R"("max_diff":0.5,"max_rel_diff":1.0,"failures":[{"kind":"ToleranceExceeded",)"
    R"("message":"...","index":17,"expected":0.5,"actual":0.0}],"timestamp":1790000002,)"
    R"("duration_ms":90,"repro_info":{"seed":5148731190416832423,"fuzz_config":null,)"
    R"("shape":[2,64,256],"strides":[16384,256,1],"dtype":"float32",)"
    R"("layout":"Contiguous","input_snapshot":null},"error_stats":null}]})",
    R"({"type":"MinimizeResult","original_seed":5,"minimized_seed":5,)"
    R"("minimized_shape":[1,1,17],"result":{"passed":false,"seed":5,"op_name":"scale",)"
    R"("max_diff":0.5,"max_rel_diff":1.0,"failures":[{"kind":"ToleranceExceeded",)"
    R"("message":"...","index":16,"expected":0.5,"actual":0.0}],"timestamp":1790000003,)"
    R"("duration_ms":12,"repro_info":null,"error_stats":null}})",
    R"({"type":"TestBatch","cases":[{"seed":123,"inputs":{"x":{"shape":[1],"strides":[1],)"
    R"("dtype":"float32","data":"AACAPw=="}},"shape":[1],"dtype":"float32",)"
    R"("layout":"contiguous"}]})",
    R"({"type":"LintResults","results":[{"kernel_name":"k","passed":true,)"
    R"("metrics":{"kernel_name":"k","register_count":4,"spill_count":0,)"
    R"("local_memory_bytes":0,"shared_memory_bytes":0,"instruction_count":2,)"
    R"("patterns_found":["add.f32","ret"],"source":"Ptx","timestamp":1790000004,)"
    R"("ptx_content":null},"violations":[],"timestamp":1790000004}]})",
    R"({"type":"ArtifactMetricsResult","kernel_name":"k","register_count":4,)"
    R"("spill_count":0,"local_memory_bytes":0,"shared_memory_bytes":0,)"
    R"("instruction_count":2,"patterns_found":["add.f32","ret"],"source":"Ptx",)"
    R"("timestamp":1790000004,"ptx_content":null})",
    R"({"type":"CiRunComplete","total_tests":10,"passed":10,"failed":0,"skipped":0,)"
    R"("duration_ms":812,"timestamp":1790000005,"validation_results":[],)"
    R"("lint_results":[],"artifact_diffs":null})",
    R"({"type":"BaselineComparison","baseline_tag":"v1",)"
    R"("comparisons":[{"op_name":"scale","seed":9,"current_max_diff":4.0,)"
    R"("baseline_max_diff":0.0,"current_passed":false,"baseline_passed":true,)"
    R"("relative_change":4e+15,"is_regression":true}],"has_regressions":true})",
    R"({"type":"JobStatus","job_id":3,"state":"done","done":9,"total":9,"failures":0,)"
    R"("rate":4.5,"seconds_left":null,"log":["a \"b\"\n"],"result":{"type":"Ok"}})",
};

std::string message_of(std::string_view json) {
  const auto request = decode_request(json);
  if (request) return "decoded";
  EXPECT_EQ(request.error().code, ErrorCode::InvalidArgument);
  return request.error().message;
}

TEST(Codec, DecodesEveryExampleOfTheProtocolAndEncodesItBack) {
  for (const char* json : kRequests) {
    const auto request = decode_request(json);
    ASSERT_TRUE(request) << json << "\n" << request.error().message;
    const auto again = decode_request(encode_request(*request));
    ASSERT_TRUE(again) << encode_request(*request) << "\n" << again.error().message;
    EXPECT_EQ(*again, *request) << json;
  }
}

TEST(Codec, WritesRepliesByteForByte) {
  for (const char* json : kReplies) {
    const auto reply = decode_reply(json);
    ASSERT_TRUE(reply) << json << "\n" << reply.error().message;
    EXPECT_EQ(encode_reply(*reply), json);
  }
}

TEST(Codec, EveryTruncationIsAnErrorAndNoCrash) {
  for (const char* json : kRequests) {
    const std::string_view whole(json);
    for (size_t length = 0; length < whole.size(); ++length) {
      EXPECT_FALSE(decode_request(whole.substr(0, length))) << whole.substr(0, length);
    }
  }
  for (const char* json : kReplies) {
    const std::string_view whole(json);
    for (size_t length = 0; length < whole.size(); length += 3) {
      EXPECT_FALSE(decode_reply(whole.substr(0, length))) << whole.substr(0, length);
    }
  }
}

TEST(Codec, SayWhichMemberIsWrong) {
  EXPECT_EQ(message_of(R"({"type":"GetResult"})"), "GetResult: member 'seed' is missing");
  EXPECT_EQ(message_of(R"({"type":"GetResult","seed":-1})"),
            "GetResult: member 'seed': expected an integer from 0 to 18446744073709551615, got -1");
  EXPECT_EQ(
      message_of(R"({"type":"GetResult","seed":1.5})"),
      "GetResult: member 'seed': expected an integer from 0 to 18446744073709551615, got 1.5");
  EXPECT_EQ(message_of(R"({"type":"StoreBaseline","tag":["x"]})"),
            "StoreBaseline: member 'tag': expected a string, got an array of 1 elements");
  EXPECT_NE(message_of(R"({"type":"Nonsense"})").find("unknown type \"Nonsense\""),
            std::string::npos);
  EXPECT_NE(message_of(R"({"seed":1})").find("'type' is missing"), std::string::npos);
  EXPECT_NE(message_of("[]").find("expected a JSON object"), std::string::npos);
}

std::string validate_with(const std::string& tensor) {
  return R"({"type":"ValidateOp","op_name":"o","inputs":{},"output":)" + tensor + "}";
}

TEST(Codec, RefusesTensorsThatDoNotAddUp) {
  const std::string good = R"({"shape":[1],"dtype":"float32","data":"AACAPw=="})";
  EXPECT_EQ(message_of(validate_with(good)), "decoded");
  for (const char* bad : {
           R"({"shape":[2],"dtype":"float32","data":"AACAPw=="})",
           R"({"shape":[-1],"dtype":"float32","data":""})",
           R"({"shape":[4611686018427387904,4],"dtype":"float32","data":""})",
           R"({"shape":[1],"dtype":"complex64","data":"AACAPw=="})",
           R"({"shape":[1],"dtype":">f4","data":"AACAPw=="})",
           R"({"shape":[1],"dtype":"float32","data":"AACAP==="})",
           R"({"shape":[1],"dtype":"float32","data":"AACAPx=="})",
           R"({"shape":[1],"dtype":"float32","data":"AACA Pw="})",
           R"({"shape":[1],"dtype":"float32","data":[0]})",
           R"({"shape":"1","dtype":"float32","data":"AACAPw=="})",
       }) {
    EXPECT_NE(message_of(validate_with(bad)).find("output"), std::string::npos) << bad;
  }
}

TEST(Codec, FetchesTensorsThatLieInMemoryOnlyForThoseWhoCan) {
  const std::string shared = validate_with(
      R"({"shape":[2],"strides":[4],"dtype":"float32","memory":{"process":12,"descriptor":5,)"
      R"("name":"gpuemu-shared-1","offset":64,"bytes":8}})");
  EXPECT_EQ(message_of(shared), "ValidateOp: member 'output.data' is missing");
  const std::vector<std::byte> content(8, std::byte{7});
  SharedTensorRef asked;
  const auto request = decode_request(shared, [&](const SharedTensorRef& where) {
    asked = where;
    return Result<std::vector<std::byte>>(content);
  });
  ASSERT_TRUE(request) << request.error().message;
  EXPECT_EQ(std::get<ValidateOpRequest>(request->request).output.data, content);
  EXPECT_EQ(asked, (SharedTensorRef{12, 5, "gpuemu-shared-1", 64, 8}));
}

TEST(Codec, AsksForNoMemoryThatDoesNotFitTheShapeAndKeepsTheCodeOfAFailure) {
  const auto ask = [](const std::string& memory) {
    size_t fetched = 0;
    const auto request =
        decode_request(validate_with(R"({"shape":[2],"dtype":"float32","memory":)" + memory + "}"),
                       [&](const SharedTensorRef&) -> Result<std::vector<std::byte>> {
                         ++fetched;
                         return error(ErrorCode::NotFound, "gone");
                       });
    EXPECT_FALSE(request);
    return std::pair(fetched, request.error());
  };
  const auto gone =
      ask(R"({"process":1,"descriptor":1,"name":"gpuemu-shared-1","offset":0,"bytes":8})");
  EXPECT_EQ(gone.first, 1U);
  EXPECT_EQ(gone.second.code, ErrorCode::NotFound);
  EXPECT_EQ(gone.second.message, "ValidateOp: member 'output': gone");
  for (const char* wrong :
       {R"({"process":1,"descriptor":1,"name":"gpuemu-shared-1","offset":0,"bytes":9})",
        R"({"process":1,"descriptor":1,"name":"gpuemu-shared-1","offset":0})",
        R"({"process":-1,"descriptor":1,"name":"gpuemu-shared-1","offset":0,"bytes":8})",
        R"({"process":1,"descriptor":"1","name":"gpuemu-shared-1","offset":0,"bytes":8})",
        R"("/dev/shm/x")"}) {
    const auto refused = ask(wrong);
    EXPECT_EQ(refused.first, 0U) << wrong;
    EXPECT_EQ(refused.second.code, ErrorCode::InvalidArgument) << wrong;
    EXPECT_NE(refused.second.message.find("output"), std::string::npos) << refused.second.message;
  }
}

TEST(Codec, RefusesWhatIsNotJson) {
  for (const std::string bad : {"", "{", "nul", "\xff\xfe", R"({"type":"GetResult","seed":NaN})",
                                R"({"type":"GetResult","seed":1e999})", R"({"type":"Ping"} x)",
                                "{\"type\":\"\xc3\"}", R"({"type":"Ping)"}) {
    EXPECT_NE(message_of(bad), "decoded") << bad;
  }
  EXPECT_NE(message_of(std::string(100'000, '[')).find("deeper than 64"), std::string::npos);
  std::string deep = R"({"type":"Ping","x":)";
  for (int i = 0; i < 5000; ++i) deep += R"({"a":)";
  EXPECT_NE(message_of(deep).find("deeper than 64"), std::string::npos);
}

TEST(Codec, IsLenientWhereTheProtocolSaysSo) {
  const auto request = decode_request(
      R"({"type":"GetTestCase","op_name":"o","unknown":{"a":[1]},)"
      R"("fuzz_config":{"seed":18446744073709551615,"shape_options":{"batch_sizes":[],)"
      R"("seq_lengths":[],"hidden_dims":[],"edge_cases":[]},"dtypes":[],"layouts":["strided",)"
      R"("Transposed"],"op_schema":null}})");
  ASSERT_TRUE(request) << request.error().message;
  const auto& config = std::get<GetTestCaseRequest>(*request).fuzz_config;
  EXPECT_EQ(config.seed, std::numeric_limits<uint64_t>::max());
  EXPECT_EQ(config.layouts, (std::vector{LayoutKind::Strided, LayoutKind::Transposed}));
  EXPECT_EQ(finding_kind_from_name("ReferenceScriptFailed"), FindingKind::ReferenceError);
  EXPECT_EQ(finding_kind_from_name("DtypeMismatch"), FindingKind::DTypeMismatch);
}

TEST(Codec, AcceptsTheOtherFormOfFuzzOp) {
  const auto request = decode_request(
      R"({"type":"FuzzOp","op_name":"o","stream":true,"config":{"iterations":7,"min_shape":[1],)"
      R"("max_shape":[9],"dtypes":["float16"],"layouts":["contiguous"],"seed":null}})");
  ASSERT_TRUE(request) << request.error().message;
  const auto& fuzz = std::get<FuzzOpRequest>(*request);
  EXPECT_EQ(fuzz.iterations, 7U);
  EXPECT_TRUE(fuzz.stream);
  EXPECT_EQ(fuzz.config->seed, std::nullopt);
  EXPECT_EQ(fuzz.config->max_shape, Shape{9});
  EXPECT_NE(message_of(R"({"type":"FuzzOp","op_name":"o","iterations":1,"fail_fast":false})")
                .find("neither"),
            std::string::npos);
}

TEST(Codec, NumbersThatAreNotFiniteNeverLookLikeJson) {
  ValidationResult result;
  result.max_diff = std::numeric_limits<double>::infinity();
  result.max_rel_diff = std::nan("");
  result.failures = {{FindingKind::NaNDetected, "", 1, 0.5, std::nan(""), "", "", 0}};
  result.error_stats = ErrorStats{};
  result.error_stats->max_abs = std::numeric_limits<double>::infinity();
  const std::string json = encode_result(result);
  EXPECT_NE(json.find(R"("max_diff":1.7976931348623157e+308)"), std::string::npos) << json;
  EXPECT_NE(json.find(R"("max_rel_diff":1.7976931348623157e+308)"), std::string::npos) << json;
  EXPECT_NE(json.find(R"("actual":null)"), std::string::npos) << json;
  EXPECT_NE(json.find(R"("max_abs":null)"), std::string::npos) << json;
  const auto reply = decode_reply(encode_reply(ValidationResultReply{result}));
  ASSERT_TRUE(reply) << reply.error().message;
  EXPECT_TRUE(std::isnan(std::get<ValidationResultReply>(*reply).result.error_stats->max_abs));
}

TEST(Codec, TextThatIsNotUtf8IsReplacedAndControlCharactersAreEscaped) {
  EXPECT_EQ(
      encode_reply(ErrorReply{WireErrorCode::ConfigError, "a\xff\x01\"\\\xc3\xa9\xed\xa0\x80"}),
      "{\"type\":\"Error\",\"code\":\"ConfigError\",\"message\":\"a\xef\xbf\xbd\\u0001\\\"\\\\"
      "\xc3\xa9\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"}");
}

TEST(Codec, PongCarriesBothSpellingsOfItsUptime) {
  const std::string json = encode_reply(PongReply{"1.0.0", 1, 12, {"jobs"}, "emulator", {}});
  EXPECT_EQ(json,
            R"({"type":"Pong","version":"1.0.0","protocol_version":1,"uptime_secs":12,)"
            R"("uptime_seconds":12,"capabilities":["jobs"],"backend":"emulator","devices":[]})");
  EXPECT_TRUE(
      decode_reply(R"({"type":"Pong","version":"0.1.0","protocol_version":1,"uptime_secs":12})"));
}

}  // namespace
}  // namespace gpuemu
