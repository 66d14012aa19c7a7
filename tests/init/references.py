"""What kernels of tests/init/kernels should compute: one function for each, whose text becomes scripts/ref_NAME.py."""
import numpy as np


def layernorm_forward_kernel(inp, weight, bias):
    mean = inp.mean(-1)
    away = inp - mean[:, None]
    rstd = 1 / np.sqrt((away ** 2).mean(-1) + 1e-5)
    return {"out": away * rstd[:, None] * weight + bias, "mean": mean, "rstd": rstd}


def gelu_forward_kernel(inp):
    return 0.5 * inp * (1 + np.tanh(0.7978845608 * (inp + 0.044715 * inp ** 3)))


def encoder_forward_kernel(inp, wte, wpe):
    return wte[inp] + wpe


def crossentropy_forward_kernel(probs, targets):
    return -np.log(np.take_along_axis(probs, targets[..., None], -1)[..., 0])


def adamw_kernel(params, grads, m, v, lr, beta1, beta2, correction1, correction2, eps, decay):
    m = beta1 * m + (1 - beta1) * grads
    v = beta2 * v + (1 - beta2) * grads ** 2
    return {"params": params - lr * (m / correction1 / (np.sqrt(abs(v) / correction2) + eps) + decay * params), "m": m, "v": v}


def matmul_bias_kernel(inp, weight, bias):
    return inp @ weight.T + bias


def residual_add(inp1, inp2):
    return inp1 + inp2


def softmax_kernel_256(in_):
    weights = np.exp(in_ - in_.max(-1, keepdims=True))
    return weights / weights.sum(-1, keepdims=True)


def softmax_kernel_128(in_):
    weights = np.exp(in_ - in_.max(-1, keepdims=True))
    return weights / weights.sum(-1, keepdims=True)


def rmsnorm_vec4(x, gain, eps):
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + eps) * gain


def vectorAdd(A, B):
    return A + B


def reduce6(g_idata):
    sums = np.add.reduceat(g_idata, np.arange(0, len(g_idata), 256))
    return sums.astype(np.int32) if sums.dtype.kind == "i" else sums


def partial_sums(values):
    return np.add.reduceat(values, np.arange(0, len(values), 128))


def transposeNoBankConflicts(idata):
    return idata.T


def MatrixMulCUDA(A, B):
    return A @ B


def histogram256(data, bins):
    return (bins + np.bincount(data, minlength=256)) % 2 ** 32


def convolutionRows(src, imageW, imageH, c_Kernel):
    wide = np.pad(src, ((0, 0), (4, 4)))
    return sum(wide[:, k:k + imageW] * c_Kernel[8 - k] for k in range(9))


def integrate(pos, vel, forces, dt):
    pos, vel = pos.copy(), vel.copy()
    vel[:, :3] += dt * forces[:, :3]
    pos[:, :3] += dt * vel[:, :3]
    return {"pos": pos, "vel": vel}


def binary_kernel_Add(lambda_, in_):
    return lambda_ + in_


def binary_kernel_Mul(lambda_, in_):
    return lambda_ * in_


def binary_kernel_Max(lambda_, in_):
    return np.where(lambda_ > in_, lambda_, in_)


def stencil7(a0, anext, c0, c1):
    out, a = anext.copy(), a0
    near = a[1:-1, 1:-1, :-2] + a[1:-1, 1:-1, 2:] + a[1:-1, :-2, 1:-1] + a[1:-1, 2:, 1:-1] + a[:-2, 1:-1, 1:-1] + a[2:, 1:-1, 1:-1]
    out[1:-1, 1:-1, 1:-1] = c1 * near - c0 * a[1:-1, 1:-1, 1:-1]
    return out


def heat_step(from_, alpha):
    wide = np.pad(from_, 1, mode="edge")
    return from_ + alpha * (wide[1:-1, :-2] + wide[1:-1, 2:] + wide[:-2, 1:-1] + wide[2:, 1:-1] - 4 * from_)


def maxpool2x2(in_):
    c, h, w = in_.shape
    return np.fmax.reduce(in_[:, :h // 2 * 2, :w // 2 * 2].reshape(c, h // 2, 2, w // 2, 2), (2, 4))


def rgb_to_gray(rgb):
    return (rgb @ np.array([77, 151, 28])) >> 8


def gather_rows(src, index):
    return src[index]


def scatter_add(from_, index, into):
    out = into.copy()
    np.add.at(out, index, from_)
    return out


def bitonic_sort(keys):
    return np.sort(keys.reshape(-1, 256), -1).reshape(keys.shape)


def saxpy(a, x, y):
    return a * x + y


def dot(x, y, result):
    return result + x @ y


def batched_gemm(A, B):
    return A @ B


def conv2d_forward(input, weight, bias):
    windows = np.lib.stride_tricks.sliding_window_view(input, weight.shape[2:], (2, 3))
    return np.einsum("nchwrs,kcrs->nkhw", windows, weight) + bias[:, None, None]


def dequantize_q4(x):
    scale = (x[:, :1] + 256 * x[:, 1:2]).astype(np.uint16).view(np.float16).astype(float)
    return (np.concatenate([x[:, 2:] & 15, x[:, 2:] >> 4], 1) - 8) * scale


def residual_packed(a, b):
    return a + b


def embed_packed(tokens, table):
    return table[tokens]


def rotary_kernel(positions, query, cos_sin_cache):
    half = query.shape[-1] // 2
    rows = cos_sin_cache[positions][:, None, :]
    cos, sin, x, y = rows[..., :half], rows[..., half:2 * half], query[..., :half], query[..., half:2 * half]
    return np.concatenate([x * cos - y * sin, y * cos + x * sin, query[..., 2 * half:]], -1)


def unary_kernel_op_relu(x):
    return np.fmax(x, 0)


def take_rows(src, index):
    return src[index]


def count_up(x):
    return (x.astype(np.int64) + 1) % 2 ** 32


def strided_norm(input, weight, epsilon):
    return input / np.sqrt((input ** 2).mean(-1, keepdims=True) + epsilon) * weight


def act_and_mul(input, d):
    both = input.reshape(-1, 2, d)
    return both[:, 0] / (1 + np.exp(-both[:, 0])) * both[:, 1]


def to_grey(colours):
    return (colours[..., 0] + 2 * colours[..., 1] + colours[..., 2]) // 4


def filter_with_taps(in_, taps, width, height, radius):
    y, x = np.arange(height)[:, None], np.arange(width)[None]
    out = 0
    for dy in range(-radius, radius + 1):
        for dx in range(-radius, radius + 1):
            tap = taps[(dy + radius) * (2 * radius + 1) + dx + radius]
            out = out + tap * in_[np.clip(y + dy, 0, height - 1), np.clip(x + dx, 0, width - 1)]
    return out


def class_loss(logits, target):
    most = logits.max(-1)
    return np.log(np.exp(logits - most[:, None]).sum(-1)) + most - logits[np.arange(len(logits)), target]


def scaled_add(scale, x, y):
    return scale * x + y


def block_counts(in_, n):
    out = np.zeros(((n + 127) // 128, 64), np.int64)
    np.add.at(out, (np.arange(n) // 128, in_ % 64), 1)
    return out


def online_attention(q, k, v, scale):
    scores = q @ np.swapaxes(k, -1, -2) * scale
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return weights / weights.sum(-1, keepdims=True) @ v


def rotary_pair_kernel(positions, query, key, cache, rot_dim, num_heads, num_kv_heads, head_size):
    turned = {}
    for name, rows, heads in (("query", query, num_heads), ("key", key, num_kv_heads)):
        out = rows.copy()
        of_heads, half = out.reshape(len(positions), heads, head_size), rot_dim // 2
        table = cache[positions]
        cosines, sines = table[:, None, :half], table[:, None, half:2 * half]
        x, y = of_heads[..., :half].copy(), of_heads[..., half:2 * half].copy()
        of_heads[..., :half], of_heads[..., half:2 * half] = x * cosines - y * sines, y * cosines + x * sines
        turned[name] = out
    return turned


def window_max(in_, step):
    windows = np.lib.stride_tricks.sliding_window_view(in_, (2, 2), axis=(-2, -1))
    return np.fmax.reduce(windows[..., ::step, ::step, :, :], (-2, -1))


def transpose_steps(in_):
    return in_.T


def add_by_bin(bin, weight, sums):
    return sums + np.bincount(bin, weights=weight, minlength=len(sums))


def choose(mask, a, b):
    return np.where(mask, a, b)


def add_halves(a, b):
    return a + b


def spmv_csr_warps(begin, column, value, x):
    return np.array([np.dot(value[a:b], x[column[a:b]]) for a, b in zip(begin[:-1], begin[1:])])


def ragged_mean(tokens, offsets):
    return np.array([tokens[a:b].mean(0) if b > a else np.zeros(tokens.shape[1]) for a, b in zip(offsets[:-1], offsets[1:])])


def conv_transposed(input, weight, bias, step, pad, out_h, out_w):
    n, channels_in, h, w = input.shape
    _, channels_out, k, _ = weight.shape
    full = np.zeros((n, channels_out, max((h - 1) * step + k, out_h + pad), max((w - 1) * step + k, out_w + pad)))
    for row in range(h):
        for col in range(w):
            part = np.einsum("nc,cokl->nokl", input[:, :, row, col], weight)
            full[:, :, row * step:row * step + k, col * step:col * step + k] += part
    return full[:, :, pad:pad + out_h, pad:pad + out_w] + bias[None, :, None, None]


def channel_sums(grad, x, mean):
    return (grad * (x - mean[None, :, None])).sum((0, 2)), grad.sum((0, 2))


def store_keys(key, cache, slots):
    out = cache.copy()
    out[slots] = key
    return out
