// Tests which scripts count as not written yet.
#include "common/config/stub_reference.h"

#include <gtest/gtest.h>

namespace gpuemu {
namespace {

TEST(StubReference, IsOneWhoseFunctionOnlyRefuses) {
  for (const char* script :
       {"def reference(x):\n    raise NotImplementedError(\"return y\")\n",
        "\"\"\"Text with def reference(x): return x\"\"\"\n\n\ndef reference(x, n=(1, 2)):\n"
        "    \"\"\"What it does.\"\"\"\n    # Later.\n    raise NotImplementedError\n",
        "import numpy\ndef reference(x: dict[str, int]) -> int:\n    raise NotImplementedError # "
        "Later\n",
        "def reference(\n    x,\n    y,\n):\n    '''One.'''\n    raise NotImplementedError()"}) {
    EXPECT_TRUE(is_stub_reference(script)) << script;
  }
}

TEST(StubReference, IsNoneThatComputesAnything) {
  for (const char* script :
       {"def reference(x):\n    return x\n", "",
        "def reference(x):\n    if x.size > 4:\n        raise NotImplementedError\n    return x\n",
        "def reference(x):\n    pass\n", "def reference(x): ...\n",
        "def reference(x):\n    raise NotImplementedErrors\n",
        "def error_scale(x):\n    pass\n\ndef reference(x):\n    return x\n",
        "def reference(x):\n    \"\"\"Ends nowhere", "def reference(x"}) {
    EXPECT_FALSE(is_stub_reference(script)) << script;
  }
}

TEST(StubReference, IsLookedForInTheFunctionThatIsNamed) {
  const char* script =
      "def one(x):\n    return x\n\n\ndef two(x):\n    raise NotImplementedError\n";
  EXPECT_FALSE(is_stub_reference(script, "one"));
  EXPECT_TRUE(is_stub_reference(script, "two"));
  EXPECT_FALSE(is_stub_reference(script));
}

}  // namespace
}  // namespace gpuemu
