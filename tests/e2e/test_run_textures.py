"""gpuemu run: which textures, surfaces and arrays it refuses, and what a program is told of a surface that it leaves."""
import json
import subprocess

import pytest

from conftest import BIN, cuda_tool

GPUEMU = BIN / "gpuemu"

pytestmark = pytest.mark.skipif(not cuda_tool("nvcc"), reason="no CUDA compiler: run scripts/setup.sh --tests")


def outcome(tmp_path, text, *options):
    (tmp_path / "program.cu").write_text(text)
    done = subprocess.run([GPUEMU, "nvcc", "-g", "-o", tmp_path / "program", tmp_path / "program.cu"], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    done = subprocess.run([GPUEMU, "run", "--format", "json", "--output", tmp_path / "report.json", *options, "--", tmp_path / "program"],
                          capture_output=True, text=True, timeout=120)
    return done, json.loads((tmp_path / "report.json").read_text())


REFUSED = """
#include <cstdio>
cudaTextureDesc plain() {
  cudaTextureDesc how{};
  for (auto& mode : how.addressMode) mode = cudaAddressModeClamp;
  how.normalizedCoords = 1;
  return how;
}
void tell(const char* what, const cudaResourceDesc& resource, const cudaTextureDesc& how, const cudaResourceViewDesc* view = nullptr) {
  cudaTextureObject_t texture;
  printf("%s %s\\n", what, cudaGetErrorName(cudaCreateTextureObject(&texture, &resource, &how, view)));
}
int main() {
  cudaChannelFormatDesc bytes = cudaCreateChannelDesc<uchar4>(), floats = cudaCreateChannelDesc<float>();
  cudaResourceDesc plane{}, cube{}, levels{};
  plane.resType = cube.resType = cudaResourceTypeArray;
  levels.resType = cudaResourceTypeMipmappedArray;
  cudaMallocArray(&plane.res.array.array, &bytes, 8, 8);
  cudaMalloc3DArray(&cube.res.array.array, &floats, make_cudaExtent(8, 8, 6), cudaArrayCubemap);
  cudaMallocMipmappedArray(&levels.res.mipmap.mipmap, &floats, make_cudaExtent(8, 8, 0), 4);
  cudaTextureDesc how = plain();
  how.readMode = cudaReadModeNormalizedFloat;
  how.sRGB = 1;
  tell("srgb", plane, how);
  how = plain();
  how.borderColor[1] = 0.5f;
  tell("border", cube, how);
  how = plain();
  how.seamlessCubemap = 1;
  tell("point", cube, how);
  how.filterMode = cudaFilterModeLinear;
  tell("seamless", cube, how);
  how = plain();
  how.maxAnisotropy = 4;
  tell("anisotropy", levels, how);
  how = plain();
  how.normalizedCoords = 0;
  tell("texels", levels, how);
  cudaResourceViewDesc view{};
  view.format = cudaResViewFormatUnsignedChar4;
  view.width = view.height = 8;
  tell("view", plane, plain(), &view);
  how = plain();
  how.filterMode = cudaFilterModeLinear;
  tell("integers", plane, how);
  cudaArray_t level;
  cudaGetMipmappedArrayLevel(&level, levels.res.mipmap.mipmap, 1);
  printf("level %s\\n", cudaGetErrorName(cudaFreeArray(level)));
  cudaArray_t sparse;
  printf("sparse %s\\n", cudaGetErrorName(cudaMallocArray(&sparse, &floats, 8, 8, cudaArraySparse)));
}
"""


def test_what_textures_cannot_do_is_refused_and_listed(tmp_path):
    done, report = outcome(tmp_path, REFUSED)
    assert dict(line.split() for line in done.stdout.splitlines()) == {
        "srgb": "cudaErrorNotSupported", "border": "cudaErrorNotSupported", "point": "cudaSuccess", "seamless": "cudaErrorNotSupported",
        "anisotropy": "cudaErrorNotSupported", "texels": "cudaErrorInvalidValue", "view": "cudaErrorNotSupported",
        "integers": "cudaErrorInvalidValue", "level": "cudaErrorInvalidResourceHandle", "sparse": "cudaErrorNotSupported"}
    assert {one["call"] for one in report["unsupported"]} == {
        "cuTexObjectCreate with sRGB", "cuTexObjectCreate with a border that is not 0", "cuTexObjectCreate with filters across the edges of a cube",
        "cuTexObjectCreate of a mipmapped array with anisotropy", "cuTexObjectCreate with a resource view", "cuArray3DCreate with these flags"}
    assert "expected normalized coordinates" in done.stderr and "texture of integers with linear filter" in done.stderr


OUTSIDE = """
#include <cstdio>
__global__ void write(cudaSurfaceObject_t surface, int beyond) {
  surf2Dwrite(1.0f, surface, (threadIdx.x + beyond) * 4, 0);
}
int main() {
  cudaChannelFormatDesc floats = cudaCreateChannelDesc<float>();
  cudaResourceDesc resource{};
  resource.resType = cudaResourceTypeArray;
  cudaMallocArray(&resource.res.array.array, &floats, 32, 2, cudaArraySurfaceLoadStore);
  cudaSurfaceObject_t surface;
  cudaCreateSurfaceObject(&surface, &resource);
  for (int beyond : {0, 3}) {
    write<<<1, 32>>>(surface, beyond);
    printf("%s\\n", cudaGetErrorName(cudaDeviceSynchronize()));
  }
  float last[2];
  cudaMemcpy2DFromArray(last, 8, resource.res.array.array, 30 * 4, 0, 8, 1, cudaMemcpyDeviceToHost);
  printf("%g %g\\n", last[0], last[1]);
  cudaDestroySurfaceObject(surface);
  write<<<1, 1>>>(surface, 0);
  printf("%s\\n", cudaGetErrorName(cudaDeviceSynchronize()));
}
"""


def test_a_write_outside_of_a_surface_is_a_fault_of_its_line_and_its_array(tmp_path):
    done, report = outcome(tmp_path, OUTSIDE)
    assert done.stdout.split() == "cudaSuccess cudaErrorIllegalAddress 1 1 cudaErrorIllegalAddress".split(), done.stdout + done.stderr
    outside, gone = report["findings"]
    assert (outside["kind"], outside["line"], outside["count"]) == ("OutOfBounds", 4, 3)
    assert "byte 128, row 0, slice 0 of a surface of 128 bytes x 2 x 1" in outside["message"]
    assert outside["allocation"]["stack"][0]["line"] == 10
    assert gone["kind"] == "DeviceFault" and "which is not a surface object" in gone["message"]


TWO_STREAMS = """
__global__ void write(cudaSurfaceObject_t surface) { surf2Dwrite(2.0f, surface, threadIdx.x * 4, 0); }
__global__ void read(cudaTextureObject_t texture, float* out) {
  out[threadIdx.x] = tex2D<float>(texture, threadIdx.x, 0);
}
int main(int argc, char**) {
  cudaChannelFormatDesc floats = cudaCreateChannelDesc<float>();
  cudaResourceDesc resource{};
  resource.resType = cudaResourceTypeArray;
  cudaMallocArray(&resource.res.array.array, &floats, 32, 1, cudaArraySurfaceLoadStore);
  cudaSurfaceObject_t surface;
  cudaTextureObject_t texture;
  cudaTextureDesc how{};
  cudaCreateSurfaceObject(&surface, &resource);
  cudaCreateTextureObject(&texture, &resource, &how, nullptr);
  float* out;
  cudaMalloc(&out, 32 * sizeof(float));
  cudaStream_t one, two;
  cudaStreamCreate(&one);
  cudaStreamCreate(&two);
  write<<<1, 32, 0, one>>>(surface);
  if (argc > 1) cudaStreamSynchronize(one);
  read<<<1, 32, 0, two>>>(texture, out);
  return cudaDeviceSynchronize();
}
"""


def test_a_texture_is_read_in_one_stream_while_another_writes_its_surface(tmp_path):
    _, report = outcome(tmp_path, TWO_STREAMS)
    (found,) = report["findings"]
    assert (found["kind"], found["line"], found["other"]["line"]) == ("StreamRace", 4, 2)
    done = subprocess.run([GPUEMU, "run", "--", tmp_path / "program", "ordered"], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0 and "gpuemu: 0 findings" in done.stderr, done.stderr
