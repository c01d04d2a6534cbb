"""FlashInfer's kernels for SM100 that stand in files of their own: compiled as they are, checked without a launch."""
import functools
import re
import subprocess

import recorder
from case import Case
from flashinfer_cases import BUILD, DATA, HEADERS, only

# A name of ours, the file, and which of its entries.
FILES = [("vsa_head64", "cake_vsa/cake_vsa_head64_native.cu", 0), ("vsa_blk128", "cake_vsa/cake_vsa_blk128_compact.cu", 0),
         ("vsa_persistent_roles", "cake_vsa/cake_vsa_blk64_persistent_ws_m64n256.cu", 0),
         ("vsa_bsr", "cake_vsa/cake_vsa_ultrasparse_bsr.cu", 0),
         ("mla_db01", "cake_trtllm_mla_blackwell/cake_trtllm_mla_blackwell_db015a53334184a3005e_kernel.cu", 0),
         ("mla_88179", "cake_trtllm_mla_blackwell/cake_trtllm_mla_blackwell_88179fe5ff3ecd4952de_kernel.cu", 0),
         ("msa_637c", "blackwell_msa/cake_blackwell_msa_637c7e445617b377499f_kernel.cu", 0),
         ("msa_2106", "blackwell_msa/cake_blackwell_msa_2106a70ac73ce33550ff_kernel.cu", 0),
         ("msa_decode_nvfp4", "msa_decode_nvfp4_specialized.cu", 0),
         ("kda_chain", "kda/cake_flashkda_bf16_bt16_chain_m64_s7.cu", 0),
         ("kda_persistent", "kda/cake_flashkda_bf16_persistent_m128.cu", 0),
         ("kda_fused", "kda/flashkda_generated_bf16_fused_m64_5eb5b5da39.cu", 0),
         ("out_proj_a", "cake_minimax_h3_out_proj_sm100a.cu", 0), ("out_proj_b", "cake_minimax_h3_out_proj_sm100a.cu", 1),
         ("fc1_swiglu_a", "cake_minimax_h3_fc1_swiglu_sm100a.cu", 0),
         ("fc1_swiglu_b", "cake_minimax_h3_fc1_swiglu_sm100a.cu", 1), ("moe_fp8", "alphamoe_sm100.cu", 0),
         ("moe_nvfp4", "alphamoe_nvfp4_sm100.cu", 0),
         ("router_gemm", "cake_router_gemm/cake_router_gemm_m10_k7168_device.cu", 0),
         ("bmm", "cake_bf16_bmm/cake_bf16_bmm_49bbceba1010338dc287_kernel.cu", 0)]


@functools.lru_cache(None)
def compiled(file):
    import tvm_ffi
    BUILD.mkdir(parents=True, exist_ok=True)
    out = BUILD / (file.replace("/", "_") + ".ptx")
    include = [f"-I{DATA / place}" for place in HEADERS]
    done = subprocess.run([recorder.CUDA / "bin" / "nvcc", "-std=c++17", "-w", "-O2", "-DENABLE_BF16",
                           "--expt-relaxed-constexpr", *include, f"-I{tvm_ffi.libinfo.find_include_path()}", "-gencode",
                           "arch=compute_100a,code=compute_100a", "-ptx", "-o", out, DATA / "csrc" / file],
                          capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(done.stderr[-2000:])
    return out.read_text()


def make(name, file, which):
    def case():
        ptx = compiled(file)
        entries = re.findall(r"\.entry\s+([\w$]+)", ptx)
        entries = [each for each in entries if "tcgen05." in only(ptx, each)] or entries
        return Case(f"flashinfer_{name}", "FlashInfer", only(ptx, entries[which]), entries[which], None, 0, [], {})
    case.__name__ = f"flashinfer_{name}"
    return case


CASES = [make(*each) for each in FILES]
