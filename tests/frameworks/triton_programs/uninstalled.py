"""Takes the device away and gives it back."""
import gpuemu.torch
import torch


def add_one():
    return (torch.ones(3, device="cuda") + 1).cpu().tolist()


print(add_one(), torch.cuda.is_available())
gpuemu.torch.uninstall()
print(torch.cuda.is_available(), (torch.ones(3) + 1).tolist())
try:
    add_one()
except NotImplementedError:
    print("no device")
gpuemu.torch.install()
print(add_one(), torch.cuda.is_available())
gpuemu.torch.uninstall()
gpuemu.torch.uninstall()
print(torch.cuda.is_available())
