// Exported for clients whose tensors own memory of a device by DLPack, such as gpuemu.torch.
// Thread-safe.
//
// The owner of such a tensor may free it while an exception of Python is on its way, which a
// deleter in Python would end. So the deleters are here, and the client asks later what was freed.
#pragma once

extern "C" {
/// A deleter of DLPack: frees the tensor's memory (cuMemFree), and keeps the structure for
/// gpuemu_next_released().
void gpuemu_release_memory(void* managed);
/// Releases a tensor whose memory is not its own.
void gpuemu_release(void* managed);
/// Returns the next structure that was released, each once; null if there is none.
void* gpuemu_next_released();
/// Returns the first error of cuMemFree in a deleter since the last call, or 0. It is that of an
/// earlier kernel.
int gpuemu_release_error();
}
