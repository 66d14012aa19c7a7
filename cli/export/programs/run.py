#!/usr/bin/env python3
"""Runs the kernel of this folder and compares its outputs with what is expected.

    python3 run.py                      a GPU where there is one, else gpuemu's emulator
    python3 run.py --device emulator    needs the `gpuemu` package, and no GPU
    python3 run.py --device cuda        needs libcuda.so.1, and no gpuemu

Exit code: 0 every output is right, 1 not, 2 a file is damaged, 3 there is nothing to run on. NumPy is needed.
"""

import argparse
import ctypes
import json
import pathlib
import sys

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
GUARD = 256  # Bytes around every tensor that no kernel may change.
POISON = (0xFF, 0x55)
FILL = (0xC3, 0x3C)
STORED = {"bfloat16": "uint16", "bool": "uint8"}  # What NumPy has no type for is kept as its bits.


class NoDevice(Exception):
    pass


class Fault(Exception):
    """The kernel did not run to its end."""


class LaunchAttribute(ctypes.Structure):
    _fields_ = (("id", ctypes.c_int), ("pad", ctypes.c_char * 4), ("value", ctypes.c_uint * 16))


class LaunchConfig(ctypes.Structure):
    _fields_ = (("grid", ctypes.c_uint * 3), ("block", ctypes.c_uint * 3), ("shared", ctypes.c_uint), ("stream", ctypes.c_void_p),
                ("attributes", ctypes.POINTER(LaunchAttribute)), ("attribute_count", ctypes.c_uint))  # fmt: skip


class Cuda:
    """A GPU through the driver's own library."""

    guard = GUARD

    def __init__(self, ptx):
        try:
            self.library = ctypes.CDLL("libcuda.so.1")
        except OSError as missing:
            raise NoDevice(f"no GPU here: {missing}") from None
        device, count, self.module = ctypes.c_int(), ctypes.c_int(), ctypes.c_void_p()
        begun = self.library.cuInit(0)
        if begun or self.library.cuDeviceGetCount(ctypes.byref(count)) or not count.value:
            raise NoDevice(f"no GPU here: cuInit says {self.name(begun)}" if begun else "no GPU here: the driver knows no device")
        context = ctypes.c_void_p()
        self.check("cuDeviceGet", ctypes.byref(device), 0)
        self.check("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
        self.check("cuCtxSetCurrent", context)
        self.check("cuModuleLoadData", ctypes.byref(self.module), ctypes.c_char_p(ptx.encode()))

    def name(self, code):
        text = ctypes.c_char_p()
        self.library.cuGetErrorName(code, ctypes.byref(text))
        return (text.value or b"error %d" % code).decode()

    def check(self, function, *args):
        code = getattr(self.library, function)(*args)
        if code:
            raise Fault(f"{function}: {self.name(code)}")

    def allocate(self, image, name):
        address = ctypes.c_uint64()
        self.check("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(image.size))
        self.check("cuMemcpyHtoD_v2", address, image.ctypes.data_as(ctypes.c_void_p), ctypes.c_size_t(image.size))
        return address.value

    def download(self, address, size):
        image = np.empty(size, np.uint8)
        self.check("cuMemcpyDtoH_v2", image.ctypes.data_as(ctypes.c_void_p), ctypes.c_uint64(address), ctypes.c_size_t(size))
        return image

    def free(self, address):
        self.check("cuMemFree_v2", ctypes.c_uint64(address))

    def launch(self, one, args):
        function = ctypes.c_void_p()
        self.check("cuModuleGetFunction", ctypes.byref(function), self.module, ctypes.c_char_p(one["entry"].encode()))
        if one["shared_bytes"] > 48 << 10:
            self.check("cuFuncSetAttribute", function, 8, one["shared_bytes"])
        buffers = [ctypes.create_string_buffer(arg, len(arg)) for arg in args]
        params = (ctypes.c_void_p * max(1, len(buffers)))(*[ctypes.cast(buffer, ctypes.c_void_p) for buffer in buffers])
        if one.get("cluster"):
            size = LaunchAttribute(4, b"", (ctypes.c_uint * 16)(*one["cluster"]))
            config = LaunchConfig((ctypes.c_uint * 3)(*one["grid"]), (ctypes.c_uint * 3)(*one["block"]), one["shared_bytes"], None,
                                  ctypes.pointer(size), 1)  # fmt: skip
            self.check("cuLaunchKernelEx", ctypes.byref(config), function, params, None)
        else:
            self.check("cuLaunchKernel", function, *one["grid"], *one["block"], one["shared_bytes"], None, params, None)
        self.check("cuCtxSynchronize")


def told_by_device():
    """The errors with which gpuemu's device refuses a module or a launch."""
    try:
        from gpuemu.errors import DeviceError, KernelError, LaunchError
    except ImportError:
        return ()
    return DeviceError, KernelError, LaunchError


class Emulator:
    """gpuemu's emulator, as a process of its own. It knows where each tensor ends, so there are no guards."""

    guard = 0

    def __init__(self, ptx, arch):
        try:
            from gpuemu.device import Device, program
            from gpuemu.errors import DeviceError
        except ImportError:
            raise NoDevice("no emulator here: the Python package `gpuemu` is not installed") from None
        try:
            program()
        except DeviceError as missing:
            raise NoDevice(f"no emulator here: {missing}") from None
        self.device = Device("emulator", arch=arch)
        self.module = self.device.load(ptx, "kernel.ptx")

    def allocate(self, image, name):
        address = self.device.allocate(image.size, name)
        if image.size:
            self.device.upload(address, image)
        return address

    def download(self, address, size):
        return np.frombuffer(self.device.download(address, size) if size else b"", np.uint8).copy()

    def free(self, address):
        self.device.free(address)

    def launch(self, one, args):
        if one.get("cluster"):
            raise NoDevice("this launch asks for clusters that the kernel does not declare: only a GPU runs it here")
        report = self.device.launch(self.module, one["entry"], one["grid"], one["block"], args, shared_bytes=one["shared_bytes"],
                                    sanitize=["memory", "init", "race", "sync"])  # fmt: skip
        faults = [found for found in report.findings if not found.is_note]
        if faults:
            raise Fault(f"{faults[0].kind}: {faults[0].message}")


def open_device(choice, ptx, arch):
    problems = []
    for name, make in (("cuda", lambda: Cuda(ptx)), ("emulator", lambda: Emulator(ptx, arch))):
        if choice not in ("auto", name):
            continue
        try:
            return name, make()
        except NoDevice as problem:
            problems.append(str(problem))
    raise NoDevice("\n".join(problems))


def array_of(file, tensor):
    made = np.load(HERE / file, allow_pickle=False)
    if list(made.shape) != tensor["shape"]:
        raise ValueError(f"{file} has shape {list(made.shape)}, case.json says {tensor['shape']}")
    return made


def places_of(tensor):
    """Where each element, row-major, lies in the storage."""
    places = np.full(tensor["shape"], tensor.get("first_element", 0), np.int64)
    for axis, (size, stride) in enumerate(zip(tensor["shape"], tensor["strides"])):
        places += (np.arange(size) * stride).reshape([-1 if i == axis else 1 for i in range(len(tensor["shape"]))])
    return places.reshape(-1)


def image_of(tensor, run, guard):
    """What the device gets: guards, poison, the input's elements."""
    dtype = np.dtype(STORED.get(tensor["dtype"], tensor["dtype"]))
    storage = np.full(tensor["storage_elements"] * dtype.itemsize, POISON[run], np.uint8)
    if tensor["input"]:
        storage.view(dtype)[places_of(tensor)] = array_of(tensor["input"], tensor).view(dtype).reshape(-1)
    front = guard + tensor.get("base_offset_bytes", 0)
    return np.concatenate([np.full(front, FILL[run], np.uint8), storage, np.full(guard, FILL[run], np.uint8)])


def execute(device, case, run):
    """The images of all tensors before and after."""
    before = {one["name"]: image_of(one, run, device.guard) for one in case["tensors"]}
    held = {one["name"]: device.allocate(before[one["name"]], one["name"]) for one in case["tensors"]}
    starts = {one["name"]: held[one["name"]] + device.guard + one.get("base_offset_bytes", 0) for one in case["tensors"]}
    for launch in case["launches"]:
        device.launch(launch, [(starts[arg["tensor"]] + arg.get("offset_bytes", 0)).to_bytes(8, "little") if arg.get("tensor") else bytes(arg["bytes"])
                               for arg in launch["args"]])  # fmt: skip
    after = {name: device.download(address, before[name].size) for name, address in held.items()}
    for address in held.values():
        device.free(address)
    return before, after


def numbers_of(tensor, image, guard):
    dtype = np.dtype(STORED.get(tensor["dtype"], tensor["dtype"]))
    front = guard + tensor.get("base_offset_bytes", 0)
    storage = image[front : front + tensor["storage_elements"] * dtype.itemsize].view(dtype)
    found = storage[places_of(tensor)]
    if tensor["dtype"] == "bfloat16":
        return (found.astype(np.uint32) << 16).view(np.float32)
    return found


def right_elements(tensor, output, expected, bounds, policy):
    if output.dtype.kind in "iub" and expected.dtype.kind in "iub":
        return np.abs(output.astype(object) - expected.astype(object)) <= bounds
    output, expected = output.astype(np.float64), expected.astype(np.float64)
    finite, known = np.isfinite(output), np.isfinite(expected)
    with np.errstate(invalid="ignore", over="ignore"):
        right = np.where(finite & known, np.abs(output - expected) <= bounds, False)
    right |= np.isnan(output) & np.isnan(expected)
    right |= np.isinf(output) & (output == expected)
    edge = tensor.get("edge")
    if edge:  # Rounding alone may carry what is near the largest number over the edge.
        right |= np.isinf(output) & known & (np.abs(expected) >= edge) & (np.signbit(output) == np.signbit(expected))
    if policy != "match":
        right |= ~finite & ~known
    if policy == "any":
        right |= ~known
    return right


def judge(tensor, image, guard, policy):
    """True when every element is right; else the first wrong one is told."""
    output = numbers_of(tensor, image, guard)
    expected = array_of(tensor["expected"], tensor).reshape(-1)
    bounds = array_of(tensor["bounds"], tensor).reshape(-1)
    right = right_elements(tensor, output, expected, bounds, policy)
    if right.all():
        return True
    first = int(np.argmin(right))
    index = ", ".join(str(int(one)) for one in np.unravel_index(first, tensor["shape"])) if tensor["shape"] else ""
    print(f"FAIL: {tensor['name']}[{index}] is {output[first]:.9g}, expected {expected[first]:.9g} within {bounds[first]:.3g}")
    print(f"      {int((~right).sum())} of {right.size} elements of {tensor['name']} are wrong")
    return False


def is_untouched(tensor, before, after, guard):
    """Bytes around a tensor and, of inputs, its elements must be as they were."""
    front, changed = guard + tensor.get("base_offset_bytes", 0), before != after
    if tensor["role"] != "input":
        changed[front : before.size - guard] = False
    if not changed.any():
        return True
    first = int(np.argmax(changed))
    where = "to input" if front <= first < before.size - guard else "outside of"
    print(f"FAIL: the kernel wrote {where} '{tensor['name']}', at byte {first - front}")
    return False


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--device", choices=("auto", "cuda", "emulator"), default="auto")
    choice = options.parse_args().device
    try:
        case = json.loads((HERE / "case.json").read_text())
        ptx = (HERE / "kernel.ptx").read_text()
        name, device = open_device(choice, ptx, case["arch"])
        print(f"op {case['op']}, seed {case['seed']}, on {name}; found when it was exported: {case['finding']}")
        runs = [execute(device, case, run) for run in (0, 1)]
        passed = True
        for tensor in case["tensors"]:
            passed &= is_untouched(tensor, runs[0][0][tensor["name"]], runs[0][1][tensor["name"]], device.guard)
            if not tensor["expected"]:
                continue
            # Runs on differently poisoned memory: what differs was not computed from the inputs.
            passed &= all(judge(tensor, after[tensor["name"]], device.guard, tensor.get("nan_policy") or case["nan_policy"]) for _, after in runs)
    except NoDevice as problem:
        print(problem, file=sys.stderr)
        return 3
    except (Fault, *told_by_device()) as fault:
        print(f"FAIL: {fault}")
        return 1
    except (OSError, ValueError, KeyError) as damaged:
        print(f"a file of this folder is damaged: {damaged}", file=sys.stderr)
        return 2
    print("PASS: every output is right" if passed else "FAIL")
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
