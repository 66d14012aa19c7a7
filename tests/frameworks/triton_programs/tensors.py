"""Tensors on cuda as a GPU has them. Prints the cases that fail."""
import copy
import io
import pickle

import torch
import torch.multiprocessing.reductions

failed = []


def case(f):
    try:
        f()
    except Exception as problem:
        failed.append(f.__name__)
        print(f.__name__, type(problem).__name__, str(problem)[:300])


x = torch.arange(12.0, device="cuda").reshape(3, 4)


def refusal(error, words, f):
    try:
        f()
    except error as problem:
        assert words in str(problem), problem
    else:
        raise AssertionError("no error")


@case
def where():
    assert x.device == torch.device("cuda", 0) and x.is_cuda and x.get_device() == 0 and x.type() == "torch.cuda.FloatTensor"
    assert x.cpu().device.type == "cpu" and x.to("cuda") is x and torch.ones(2).cuda().is_cuda and x.new_zeros(2).is_cuda
    with torch.device("cuda"):
        assert torch.zeros(3).is_cuda
    assert torch.cuda.get_device_name() == "gpuemu sm_80" and torch.cuda.get_device_capability() == (8, 0)


@case
def storage():
    assert x[1:].untyped_storage().data_ptr() == x.data_ptr() and x[1:].storage_offset() == 4 and x.t().stride() == (1, 4)
    assert x.untyped_storage().nbytes() == 48 and x.view(torch.int32).data_ptr() == x.data_ptr()
    y = x.clone()
    y.t()[1] = 7
    assert y[:, 1].tolist() == [7, 7, 7]


@case
def mixing():
    refusal(RuntimeError, "at least two devices, cuda:0 and cpu!", lambda: x + torch.ones(3, 4))
    refusal(TypeError, "can't convert cuda:0 device type tensor to numpy", lambda: x.numpy())
    assert (x + torch.tensor(1.0))[0, 0].item() == 1 and x[torch.tensor([0, 2])].shape == (2, 4)


@case
def modules():
    model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1)).cuda()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
    losses = []
    for _ in range(5):
        optimizer.zero_grad()
        loss = (model(x / 10) - 1).square().mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0] and all(isinstance(one, torch.nn.Parameter) and one.is_cuda and one.grad.is_cuda for one in model.parameters())
    assert copy.deepcopy(model)[0].weight.is_cuda


@case
def random_numbers():
    one, other = (torch.Generator("cuda").manual_seed(3) for _ in range(2))
    assert one.device == torch.device("cuda", 0) and isinstance(one, torch.Generator) and isinstance(torch.default_generator, torch.Generator)
    first = torch.rand(5, device="cuda", generator=one)
    assert first.is_cuda and torch.equal(first, torch.rand(5, device="cuda", generator=other)) and not torch.equal(first, torch.rand(5, device="cuda", generator=one))
    assert torch.Generator().device.type == "cpu" and torch.randperm(4, generator=torch.Generator().manual_seed(1)).device.type == "cpu"
    again = one.clone_state()
    assert torch.equal(torch.rand(2, device="cuda", generator=one), torch.rand(2, device="cuda", generator=again))


@case
def the_state_of_a_generator_is_seed_and_offset():
    one = torch.Generator("cuda").manual_seed(7)
    assert one.get_state().numel() == 16 and one.get_state().view(torch.int64).tolist() == [7, 0] and one.get_offset() == 0
    torch.rand(3, device="cuda", generator=one)
    state = one.get_state()
    assert state.view(torch.int64)[0] == 7 and state.view(torch.int64)[1] > 0
    drawn = [torch.randn(5, device="cuda", generator=one) for _ in range(2)]
    one.set_state(state)
    assert all(torch.equal(first, torch.randn(5, device="cuda", generator=one)) for first in drawn) and not torch.equal(*drawn)
    state.view(torch.int64)[1] += 40  # As a library does that draws numbers in kernels of its own.
    one.set_state(state)
    assert one.get_offset() == state.view(torch.int64)[1] and one.initial_seed() == 7
    again = pickle.loads(pickle.dumps(one))
    assert again.device == one.device and torch.equal(again.get_state(), one.get_state())
    one.set_offset(8)
    assert one.get_state().view(torch.int64).tolist() == [7, 8]
    refusal(RuntimeError, "multiple of 4", lambda: one.set_offset(3))
    refusal(RuntimeError, "wrong size", lambda: one.set_state(torch.get_rng_state()))
    refusal(RuntimeError, "Expected a 'cuda' device type for generator but found 'cpu'", lambda: torch.rand(3, device="cuda", generator=torch.Generator()))
    other = torch.Generator("cuda:1")
    refusal(RuntimeError, "Expected a 'cuda:0' generator device but found 'cuda:1'", lambda: torch.randperm(4, device="cuda", generator=other))
    assert torch.rand(3, device="cuda", generator=other).is_cuda, "any other operator takes the numbers of any device"
    kept = torch.cuda.get_rng_state()
    assert kept.numel() == 16 and kept.device.type == "cpu"
    first = torch.nn.functional.dropout(x, 0.5)
    torch.cuda.set_rng_state(kept)
    assert torch.equal(first, torch.nn.functional.dropout(x, 0.5)), "operators that take no generator go on with that of the device"
    with torch.random.fork_rng(devices=[0]):
        inside = torch.rand(4, device="cuda")
    assert torch.equal(inside, torch.rand(4, device="cuda"))


@case
def pinned():
    plain = torch.arange(6.0).reshape(2, 3)
    held = plain.pin_memory()
    assert held.is_pinned() and not plain.is_pinned() and torch.equal(held, plain) and held.pin_memory() is held and held.device.type == "cpu"
    assert torch.equal(held.to("cuda", non_blocking=True).cpu(), plain)
    refusal(RuntimeError, "only dense CPU tensors can be pinned", lambda: x.pin_memory())
    assert all(made.is_pinned() for made in (torch.zeros(3, pin_memory=True), torch.empty_like(plain, pin_memory=True), plain.new_full((2,), 1.0, pin_memory=True)))
    assert torch.ones(2, pin_memory=True, requires_grad=True).requires_grad and not torch.zeros(3, pin_memory=False).is_pinned()
    refusal(RuntimeError, "nly dense CPU tensors can be pinned", lambda: torch.zeros(3, device="cuda", pin_memory=True))
    with torch.device("cuda"):
        assert torch.zeros(3).is_cuda and torch.zeros(3, device="cpu", pin_memory=True).is_pinned()
    data = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(plain), batch_size=1, pin_memory=True)
    assert all(row.is_pinned() for (row,) in data)


@case
def softmax_of_halves_in_float32():
    for kind, function in ((torch.float16, torch.softmax), (torch.bfloat16, torch.log_softmax)):
        half, weight = torch.randn(4, 5, device="cuda", dtype=kind, requires_grad=True), torch.randn(4, 5, device="cuda")
        wide = half.detach().cpu().float().requires_grad_()
        made = function(half, -1, dtype=torch.float32)
        assert made.is_cuda and made.dtype == torch.float32
        torch.testing.assert_close(made.cpu(), function(wide, -1))
        (made * weight).sum().backward()
        (function(wide, -1) * weight.cpu()).sum().backward()
        assert half.grad.dtype == kind
        torch.testing.assert_close(half.grad.cpu().float(), wide.grad, rtol=1e-2, atol=1e-2)


@case
def files():
    file = io.BytesIO()
    torch.save({"x": x, "row": x[1]}, file)
    file.seek(0)
    again = torch.load(file)
    assert again["x"].is_cuda and torch.equal(again["x"], x) and torch.equal(again["row"], x[1])
    file.seek(0)
    assert torch.load(file, map_location="cpu")["x"].device.type == "cpu"


@case
def autocast():
    with torch.autocast("cuda"):
        assert (x @ x.t()).dtype == torch.float16 and x.sum().dtype == torch.float32


@case
def double_backward():
    value = torch.randn(3, dtype=torch.float64, device="cuda", requires_grad=True)
    assert torch.autograd.gradgradcheck(lambda v: (v * v * v).sum(), (value,))


@case
def streams():
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        assert torch.cuda.current_stream() == stream
        torch.ones(3, device="cuda").record_stream(stream)
    event = stream.record_event()
    event.synchronize()
    assert event.query() and torch.cuda.current_stream() == torch.cuda.default_stream()


@case
def seeds():
    torch.manual_seed(3)
    first = torch.randn(4, device="cuda")
    torch.cuda.manual_seed(3)
    assert torch.equal(first, torch.randn(4, device="cuda"))


def as_on_the_cpu(module, value):
    """Compares what the module makes, and its gradients, on both devices."""
    found = []
    for device in ("cpu", "cuda"):
        module.zero_grad()
        own, there = module.to(device), value.detach().to(device).requires_grad_()
        made = own(there)
        made = made[0] if isinstance(made, tuple) else made
        made.square().sum().backward()
        found.append([made, there.grad, *(one.grad.clone() for one in own.parameters())])
    for cpu, cuda in zip(*found):
        assert cuda.is_cuda
        torch.testing.assert_close(cuda.cpu(), cpu.cpu(), rtol=1e-4, atol=1e-4)


@case
def recurrent_modules():
    torch.manual_seed(1)
    for kind in (torch.nn.LSTM, torch.nn.GRU, torch.nn.RNN):
        as_on_the_cpu(kind(4, 5, num_layers=2, bidirectional=True), torch.rand(3, 2, 4))
    as_on_the_cpu(torch.nn.LSTMCell(4, 5, bias=False), torch.rand(2, 4))
    as_on_the_cpu(torch.nn.GRUCell(4, 5, bias=False), torch.rand(2, 4))


@case
def depthwise_convolutions():
    as_on_the_cpu(torch.nn.Conv2d(4, 8, 3, padding=1, groups=4), torch.rand(2, 4, 6, 6))
    as_on_the_cpu(torch.nn.Conv3d(4, 4, 3, groups=4, bias=False), torch.rand(1, 4, 4, 4, 4))


@case
def an_exception_survives_the_tensors_that_it_frees():
    from torch.utils.checkpoint import checkpoint

    layers = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Dropout(0.5)).cuda()
    given = torch.ones(3, 4, device="cuda", requires_grad=True)
    checkpoint(layers, given, use_reentrant=False).sum().backward()  # Ends its second forward pass by an exception.
    assert given.grad is not None
    before = torch.cuda.memory_allocated()
    temporary = torch.empty(1000, device="cuda")
    assert torch.cuda.memory_allocated() >= before + 4000
    del temporary
    assert torch.cuda.memory_allocated() == torch.cuda.memory.memory_allocated() == before
    assert "Allocated memory" in torch.cuda.memory_summary()


@case
def operators_that_only_gpus_have():
    """Those of torch's build for CUDA; a build for the CPU takes others."""
    given, weight = torch.randn(3, 8, device="cuda", requires_grad=True), torch.ones(8, device="cuda", requires_grad=True)
    same = given.detach().cpu().requires_grad_()
    torch.nn.functional.rms_norm(given, [8], weight, 1e-5).square().sum().backward()
    torch.nn.functional.rms_norm(same, [8], weight.detach().cpu(), 1e-5).square().sum().backward()
    torch.testing.assert_close(given.grad.cpu(), same.grad)
    loss = torch.nn.functional.ctc_loss(torch.randn(5, 1, 4, device="cuda").log_softmax(2), torch.tensor([[1, 2]], device="cuda"), [5], [2])
    assert loss.is_cuda
    if torch.version.cuda:
        half = given.detach().half()
        assert torch.mm(half, half.t(), out_dtype=torch.float32).dtype == torch.float32
        refusal(NotImplementedError, "aten::_flash_attention_forward only as machine code for GPUs",
                lambda: torch.ops.aten._flash_attention_forward(half, half, half, None, None, 1, 1, 0.0, False, False))


@case
def norms_of_16_bit_floats_are_summed_in_float32():
    for norm, rows, weights in ((lambda x, w, b: torch.nn.functional.layer_norm(x, [64], w, b), (200, 64), 64),
                                (lambda x, w, b: torch.nn.functional.group_norm(x, 4, w, b), (40, 16, 20), 16)):
        given = [torch.randn(*shape, device="cuda", dtype=torch.bfloat16) for shape in (rows, (weights,), (weights,))]
        upstream = torch.randn(*rows, device="cuda", dtype=torch.bfloat16)
        narrow = [one.clone().requires_grad_() for one in given]
        exact = [one.double().requires_grad_() for one in given]
        norm(*narrow).backward(upstream)
        norm(*exact).backward(upstream.double())
        for one, other in zip(narrow, exact):
            assert one.grad.dtype == torch.bfloat16
            torch.testing.assert_close(one.grad.double(), other.grad, rtol=2**-7, atol=2e-2)


@case
def generators_of_devices():
    (only,) = torch.cuda.default_generators
    only.manual_seed(5)
    assert torch.equal(torch.rand(3, device="cuda").cpu(), torch.rand(3, generator=torch.Generator("cuda").manual_seed(5), device="cuda").cpu())
    assert torch.cuda.get_device_capability((0, 1)) == (8, 0), "an argument that is not a device means the current device, as in torch"


@case
def accelerator():
    assert torch.accelerator.is_available() and torch.accelerator.current_accelerator() == torch.device("cuda")
    assert torch.accelerator.device_count() == 1 and torch.accelerator.current_device_index() == 0
    torch.accelerator.synchronize()
    loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.arange(6.0)), batch_size=3, pin_memory=True)
    assert [(batch.is_pinned(), batch.cuda(non_blocking=True).sum().item()) for (batch,) in loader] == [(True, 3.0), (True, 12.0)]


@case
def optimizers_and_attention():
    module = torch.nn.Linear(4, 4).cuda()
    for kind in (torch.optim.SGD, torch.optim.Adam, torch.optim.AdamW):
        optimizer = kind(module.parameters(), lr=0.1)
        module(torch.ones(2, 4, device="cuda")).sum().backward()
        optimizer.step()
    query = torch.rand(1, 2, 4, 8, device="cuda", dtype=torch.float16)
    assert torch.nn.functional.scaled_dot_product_attention(query, query, query).is_cuda


@case
def refused():
    refusal(NotImplementedError, "CUDA graphs", lambda: torch.cuda.CUDAGraph())
    assert torch.cuda.CUDAGraph | None and not isinstance(x, torch.cuda.CUDAGraph)  # As in annotations.
    refusal(NotImplementedError, "is an allocation", lambda: torch.cuda.CUDAPluggableAllocator("a.so", "malloc", "free"))
    refusal(NotImplementedError, "NCCL", lambda: torch.distributed.init_process_group("nccl"))
    refusal(NotImplementedError, "another process", lambda: torch.multiprocessing.reductions.reduce_tensor(x))


print("failed", failed)
