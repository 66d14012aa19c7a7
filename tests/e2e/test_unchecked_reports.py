"""Every way to run a kernel says what the device did not check: a race with a copy into another block of a cluster."""
import json

import pytest

KERNEL = r"""
// y[b] = x[the other block of the cluster], sent by st.async.
extern "C" __global__ void __cluster_dims__(2, 1, 1) swap_pairs(const float* x, float* y) {
  __shared__ float got;
  __shared__ alignas(8) unsigned long long arrived;
  const unsigned place = (unsigned)__cvta_generic_to_shared(&got), signal = (unsigned)__cvta_generic_to_shared(&arrived);
  unsigned there, signal_there;
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(signal) : "memory");
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 4;" ::"r"(signal) : "memory");
  }
  asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" ::: "memory");
  if (threadIdx.x == 0) {
    const unsigned other = 1 - blockIdx.x % 2;
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(place), "r"(other));
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(signal_there) : "r"(signal), "r"(other));
    asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.b32 [%0], %1, [%2];"
                 ::"r"(there), "r"(__float_as_uint(x[blockIdx.x])), "r"(signal_there) : "memory");
  }
  asm volatile("{ .reg .pred p; W: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], 0; @!p bra W; }" ::"r"(signal) : "memory");
  if (threadIdx.x == 0) y[blockIdx.x] = got;
  asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" ::: "memory");
}
"""
PROJECT = """
[runtime]
backend = "emulator"
arch = "sm_90"
[[kernels]]
name = "swap_pairs"
source = "k.cu"
reference = "r.py"
inputs = [{ name = "x", shape = ["2 * n"] }]
outputs = [{ name = "y", shape = ["2 * n"] }]
dims = { n = [1, 50] }
launches = [{ entry = "swap_pairs", grid = "2 * n", block = 32, args = ["x", "y"] }]
"""
SAID = "races of copies into the shared memory of another block of the cluster"
RUNS = {
    "test": ("test", "--cases", "8"),
    "guided fuzz": ("fuzz", "-i", "20"),
    "unguided fuzz": ("fuzz", "-i", "20", "--unguided"),
    "ci": ("ci", "--quick"),
}


@pytest.fixture(scope="module")
def project(new_home):
    reference = "def reference(x):\n    return x.reshape(-1, 2)[:, ::-1].reshape(-1)\n"
    return new_home({"k.cu": KERNEL, "r.py": reference, "gpuemu.toml": PROJECT})


@pytest.mark.parametrize("words", RUNS.values(), ids=RUNS)
def test_text_and_json_say_what_was_not_checked(project, words):
    done = project.run(*words, timeout=300)
    assert done.returncode == 0 and SAID in done.stdout + done.stderr, done.stdout + done.stderr
    done = project.run(*words, "--format", "json", timeout=300)
    assert done.returncode == 0 and SAID in json.dumps(json.loads(done.stdout)), done.stdout[:2000]
