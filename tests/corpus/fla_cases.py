"""flash-linear-attention's Triton kernels, forward and backward: its operations run over tensors of the host, and each
kernel that one of them launches is compiled as it was launched. Checked without a launch."""
import inspect

import foreign_torch

foreign_torch.pretend()
import torch

import triton_record

BATCH, LENGTH, HEADS, WIDTH = 1, 128, 2, 64
WIDE = (BATCH, LENGTH, HEADS, WIDTH)
NARROW = (BATCH, LENGTH, HEADS)
# What the operations call their tensors. A gate is a logarithm of a decay, so it is not above 0.
SHAPES = {"s": (BATCH, LENGTH, HEADS, 32), "u": (HEADS, WIDTH), "lamb": (HEADS, WIDTH), "beta": NARROW,
          "beta_atk": NARROW, "g_atk": NARROW, "delta": NARROW, "eta": NARROW, "readout": NARROW, "log_alpha": NARROW,
          "log_mu": NARROW, "q_norm_weight": (WIDTH,), "k_norm_weight": (WIDTH,), "level_scales": (*NARROW, 8),
          "g_cmp": NARROW, "g_slc": NARROW, "g_swa": NARROW, "query": (BATCH, LENGTH, WIDTH),
          "residuals": (3, BATCH, LENGTH, WIDTH), "rms_weight": (WIDTH,), "x": (BATCH, LENGTH, WIDTH)}
GATES = {"g", "gk", "gv", "w", "g_atk", "log_alpha", "log_mu", "delta"}
NUMBERS = {"layer_idx": 1, "num_layers": 4, "q_norm_eps": 1e-6, "k_norm_eps": 1e-6}
# Operations whose gate is one number a head, by a part of their name.
SCALAR_GATES = ("gated_delta", "gdn", "simple_gla", "comba", "cyfa", "mesa", "log_linear", "forgetting", "parallel_attn",
                "path_attn")
GIVEN = {"gla": {"gk"}, "gated_delta": {"g", "beta"}, "gdn": {"g", "beta"}, "gsa": {"g"}, "simple_gla": {"g"},
         "delta_rule": {"beta"}, "comba": {"beta"}, "momentum": {"p", "beta"}, "nsa": {"g_cmp", "g_slc", "g_swa"},
         "path_attn": {"g"}, "parallel_attn": {"g"}}


def tensor(operation, name):
    shape = SHAPES.get(name, WIDE)
    if name in ("g", "gk") and any(word in operation for word in SCALAR_GATES):
        shape = NARROW
    if operation == "fused_recurrent_hgrn":
        shape = (BATCH, LENGTH, WIDTH)
    if operation == "parallel_nsa" and name == "q":
        shape = (BATCH, LENGTH, 16 * HEADS, WIDTH)
    values = torch.rand(shape) - (1 if name in GATES else 0)
    return values.to(torch.float32 if name in GATES and name != "w" else torch.bfloat16).requires_grad_()


def arguments(operation, function):
    """What the operation must be given, and what makes it take its own way."""
    wanted = set().union(*(names for word, names in GIVEN.items() if word in operation))
    made = {}
    for name, parameter in inspect.signature(function).parameters.items():
        if name in NUMBERS:
            made[name] = NUMBERS[name]
        elif parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY) and (
                parameter.default is parameter.empty or name in wanted):
            made[name] = tensor(operation, name)
    if "output_final_state" in inspect.signature(function).parameters:
        made["output_final_state"] = True
    return made


def run(operation, function):
    out = function(**arguments(operation, function))
    tensors = [each for each in (out if isinstance(out, tuple) else (out,)) if isinstance(each, torch.Tensor)]
    torch.autograd.backward([each for each in tensors if each.requires_grad],
                            [torch.ones_like(each) for each in tensors if each.requires_grad])


def recorded():
    """Operations by name, and the kernels of each."""
    import fla.ops
    known = set()
    for operation in fla.ops.__all__:
        yield from triton_record.kernels(operation, lambda: run(operation, getattr(fla.ops, operation)), known)


def cases():
    return triton_record.compiled("fla", recorded())
