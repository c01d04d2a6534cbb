#include "harness/contract/launch_header.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>

#include "ptx/diag/refuse.hpp"

namespace kiln::harness {
namespace {

using launch::Contract;
using launch::Launch;
using Text = std::back_insert_iterator<std::string>;

void write_bytes(Text out, const std::vector<std::uint8_t>& bytes) {
  constexpr std::size_t per_line = 24;
  fmt::format_to(out, "/// The kernel as ptxas made it.\nalignas(16) inline constexpr unsigned char cubin[{}] = {{", bytes.size());
  for (std::size_t i = 0; i < bytes.size(); ++i)
    fmt::format_to(out, "{}{:#04x},", i % per_line == 0 ? "\n    " : "", bytes[i]);
  fmt::format_to(out, "\n}};\n\n");
}

void write_buffers(Text out, const Contract& c) {
  fmt::format_to(out, "/// Device addresses, and what they must have room for.\nstruct Buffers {{\n");
  for (const launch::Buffer& b : c.buffers)
    fmt::format_to(out, "  CUdeviceptr {}{{}};  // {} [{}]\n", b.name, isa::spelling(b.dtype), fmt::join(b.shape, ", "));
  fmt::format_to(out, "}};\n");
  for (const launch::Buffer& b : c.buffers)
    fmt::format_to(out, "inline constexpr unsigned long long {}_bytes = {};\n", b.name, b.size());
  fmt::format_to(out, "\n");
}

template <class Array>
std::string listed(const Array& values, int from, int to) {
  return fmt::format("{}", fmt::join(values.begin() + from, values.begin() + to, ", "));
}

void write_tensor_map(Text out, const std::string& name, const launch::TensorMap& m) {
  const auto type = isa::tensor_map_type(m.dtype, m.is_padded());
  if (!type || m.im2col)
    diag::refuse("tensor map {}: a header has no code for {} yet", name,
                 m.im2col ? "im2col" : fmt::format("{} in it", isa::spelling(m.dtype)));
  fmt::format_to(out,
                 "  CUresult encode_{0}(CUtensorMap* map, const Buffers& buffers) const {{\n"
                 "    const cuuint64_t dims[]{{{1}}}, strides[]{{{2}}};  // elements; bytes\n"
                 "    const cuuint32_t box[]{{{3}}}, steps[]{{{4}}};\n"
                 "    return cuTensorMapEncodeTiled(map, CUtensorMapDataType({5}), {6}, reinterpret_cast<void*>(buffers.{7} + {8}),\n"
                 "                                  dims, strides, box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE,\n"
                 "                                  CUtensorMapSwizzle({9}), CU_TENSOR_MAP_L2_PROMOTION_NONE,\n"
                 "                                  CUtensorMapFloatOOBfill({10}));\n"
                 "  }}\n",
                 name, listed(m.dims, 0, m.rank), m.rank > 1 ? listed(m.strides, 1, m.rank) : "0",
                 listed(m.box, 0, m.rank), listed(m.element_strides, 0, m.rank), int(*type), m.rank, m.buffer, m.offset,
                 isa::tensor_map_code(m.swizzle), int(m.oob == launch::OutOfBounds::nan));
}

// Statements that declare `name` with the value of a parameter, or of a field of one.
struct Declaration {
  Text out;
  std::string name;

  void operator()(const launch::TensorMapParam& p) const {
    fmt::format_to(out, "    CUtensorMap {0};\n    if (const CUresult status = encode_{1}(&{0}, buffers)) return status;\n",
                   name, p.tensor_map);
  }
  void operator()(const launch::PointerParam& p) const {
    fmt::format_to(out, "    CUdeviceptr {} = buffers.{} + {};\n", name, p.buffer, p.offset);
  }
  void operator()(const launch::ScalarParam& p) const {
    fmt::format_to(out, "    std::uint{}_t {} = {:#x};\n", isa::bits(p.type), name, p.bits);
  }
  void operator()(const launch::BytesParam& p) const {
    fmt::format_to(out, "    unsigned char {}[]{{{:#04x}}};\n", name, fmt::join(p.bytes, ", "));
  }
  // Fields are copied to where the kernel reads them: a contract may put them where no C++ struct would have them.
  void operator()(const launch::StructParam& p) const {
    fmt::format_to(out, "    unsigned char {}[{}]{{}};\n", name, p.size);
    for (std::size_t i = 0; i < p.fields.size(); ++i) {
      const std::string field = fmt::format("{}_{}", name, i);
      std::visit(Declaration{out, field}, p.fields[i].value.value);
      fmt::format_to(out, "    std::memcpy({0} + {1}, &{2}, sizeof {2});\n", name, p.fields[i].at, field);
    }
  }
};

void write_launch(Text out, const Launch& l) {
  fmt::format_to(out,
                 "  /// Starts the kernel; the buffers must live until the stream has come past it.\n"
                 "  CUresult launch(const Buffers& buffers, CUstream stream = nullptr) const {{\n");
  std::vector<std::string> names;
  for (std::size_t i = 0; i < l.params.size(); ++i) {
    const std::string name = fmt::format("p{}", i);
    std::visit(Declaration{out, name}, l.params[i].value);
    names.push_back("&" + name);
  }
  fmt::format_to(out,
                 "    void* parameters[]{{{}}};\n"
                 "    CUlaunchAttribute cluster{{}};\n"
                 "    cluster.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;\n"
                 "    cluster.value.clusterDim.x = {}, cluster.value.clusterDim.y = {}, cluster.value.clusterDim.z = {};\n"
                 "    CUlaunchConfig config{{}};\n"
                 "    config.gridDimX = {}, config.gridDimY = {}, config.gridDimZ = {};\n"
                 "    config.blockDimX = {}, config.blockDimY = {}, config.blockDimZ = {};\n"
                 "    config.sharedMemBytes = dynamic_shared_bytes, config.hStream = stream;\n"
                 "    config.attrs = &cluster, config.numAttrs = {};\n"
                 "    return cuLaunchKernelEx(&config, function_, parameters, nullptr);\n"
                 "  }}\n",
                 fmt::join(names, ", "), l.cluster.x, l.cluster.y, l.cluster.z, l.grid.x, l.grid.y, l.grid.z, l.block.x,
                 l.block.y, l.block.z, l.cluster.volume() > 1 ? 1 : 0);
}

void write_kernel(Text out, const HeaderJob& job, const Contract& c) {
  fmt::format_to(out,
                 "/// The kernel in the current context. Every function answers the driver's status.\n"
                 "class Kernel {{\n public:\n"
                 "  Kernel() = default;\n  Kernel(const Kernel&) = delete;\n  ~Kernel() {{ unload(); }}\n\n"
                 "  CUresult load() {{\n"
                 "    if (const CUresult status = cuModuleLoadData(&module_, cubin)) return status;\n"
                 "    if (const CUresult status = cuModuleGetFunction(&function_, module_, \"{}\")) return status;\n"
                 "    return cuFuncSetAttribute(function_, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,\n"
                 "                              dynamic_shared_bytes);\n"
                 "  }}\n"
                 "  void unload() {{\n    if (module_) cuModuleUnload(module_);\n    module_ = nullptr;\n  }}\n",
                 job.entry);
  write_launch(out, c.launches.front());
  fmt::format_to(out, "\n private:\n");
  for (const auto& [name, map] : c.tensor_maps) write_tensor_map(out, name, map);
  fmt::format_to(out, "  CUmodule module_ = nullptr;\n  CUfunction function_ = nullptr;\n}};\n\n");
}

// What a caller brings: all buffers but those that only the kernel uses.
bool is_operand(const Contract& c, const launch::Buffer& b) {
  using Kind = launch::Init::Kind;
  const bool is_output = std::any_of(c.expectations.begin(), c.expectations.end(),
                                     [&](const launch::Expectation& e) { return e.output == b.name; });
  return is_output || (b.init.kind != Kind::poison && b.init.kind != Kind::zeros);
}

constexpr std::uint64_t workspace_alignment = 256;
std::uint64_t placed(std::uint64_t bytes) {
  return (bytes + workspace_alignment - 1) / workspace_alignment * workspace_alignment;
}

std::uint64_t workspace_bytes(const Contract& c) {
  std::uint64_t bytes = 0;
  for (const launch::Buffer& b : c.buffers) bytes += is_operand(c, b) ? 0 : placed(b.size());
  return bytes;
}

std::vector<std::string> operands_of(const Contract& c) {
  std::vector<std::string> names;
  for (const launch::Buffer& b : c.buffers)
    if (is_operand(c, b)) names.push_back(b.name);
  return names;
}

// One shape's branch of the call.
void write_branch(Text out, const GemmHeaderPart& part, std::size_t index) {
  fmt::format_to(out, "    if (m == {} && n == {} && k == {}) {{\n      {}::Buffers buffers;\n", part.m, part.n, part.k,
                 part.job.name);
  std::uint64_t offset = 0;
  for (const launch::Buffer& b : part.contract.buffers) {
    if (is_operand(part.contract, b)) {
      fmt::format_to(out, "      buffers.{0} = {0};\n", b.name);
    } else {
      fmt::format_to(out, "      buffers.{} = workspace_ + {};\n", b.name, offset);
      offset += placed(b.size());
    }
  }
  fmt::format_to(out, "      return kernel_{}_.launch(buffers, stream);\n    }}\n", index);
}

void write_gemm_class(Text out, const std::string& type, const std::vector<GemmHeaderPart>& parts) {
  std::uint64_t workspace = 0;
  for (const GemmHeaderPart& p : parts) workspace = std::max(workspace, workspace_bytes(p.contract));
  fmt::format_to(out,
                 "namespace kiln_kernels::gemm::{} {{\n\n"
                 "/// D[m, n] = A[m, k] * B[n, k]^T for the shapes above, in the current context.{}\n"
                 "class Gemm {{\n public:\n  Gemm() = default;\n  Gemm(const Gemm&) = delete;\n  ~Gemm() {{ unload(); }}\n\n"
                 "  /// Loads every kernel. Every function answers the driver's status.\n  CUresult load() {{\n",
                 type, workspace ? "\n/// One launch at a time: kernels that split K share a workspace." : "");
  for (std::size_t i = 0; i < parts.size(); ++i)
    fmt::format_to(out, "    if (const CUresult status = kernel_{}_.load()) return status;\n", i);
  if (workspace)
    fmt::format_to(out,
                   "    if (const CUresult status = cuMemAlloc(&workspace_, {0})) return status;\n"
                   "    return cuMemsetD8(workspace_, 0, {0});  // counters begin at 0, and end there\n",
                   workspace);
  else
    fmt::format_to(out, "    return CUDA_SUCCESS;\n");
  fmt::format_to(out, "  }}\n  void unload() {{\n");
  for (std::size_t i = 0; i < parts.size(); ++i) fmt::format_to(out, "    kernel_{}_.unload();\n", i);
  if (workspace) fmt::format_to(out, "    if (workspace_) cuMemFree(workspace_);\n    workspace_ = 0;\n");
  fmt::format_to(out,
                 "  }}\n\n  /// Starts the kernel of a shape; CUDA_ERROR_NOT_FOUND where there is none.\n"
                 "  CUresult operator()(unsigned long long m, unsigned long long n, unsigned long long k,\n"
                 "                      CUdeviceptr {}, CUstream stream = nullptr) const {{\n",
                 fmt::join(operands_of(parts.front().contract), ", CUdeviceptr "));
  for (std::size_t i = 0; i < parts.size(); ++i) write_branch(out, parts[i], i);
  fmt::format_to(out, "    return CUDA_ERROR_NOT_FOUND;\n  }}\n\n private:\n");
  for (std::size_t i = 0; i < parts.size(); ++i)
    fmt::format_to(out, "  {}::Kernel kernel_{}_;\n", parts[i].job.name, i);
  if (workspace) fmt::format_to(out, "  CUdeviceptr workspace_ = 0;\n");
  fmt::format_to(out, "}};\n\n}}  // namespace kiln_kernels::gemm::{}\n", type);
}

}  // namespace

std::string write_gemm_header(const std::string& type, const std::vector<GemmHeaderPart>& parts) {
  std::string text;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    GemmHeaderPart part = parts[i];
    for (std::size_t j = 0; j < i; ++j)
      if (parts[j].m == part.m && parts[j].n == part.n && parts[j].k == part.k)
        diag::refuse("the shape {}x{}x{} is there twice", part.m, part.n, part.k);
    part.job.name = fmt::format("gemm::{}::{}", type, part.job.name);
    text += write_launch_header(part.job, part.contract) + "\n";
  }
  write_gemm_class(Text(text), type, parts);
  return text;
}

std::string write_launch_header(const HeaderJob& job, const Contract& contract) {
  if (contract.launches.size() != 1)
    diag::refuse("a header starts one launch; the contract has {}", contract.launches.size());
  std::string text;
  const Text out(text);
  fmt::format_to(out,
                 "// {}: made by Kiln. Include it, load() the kernel in a context of a GPU of that architecture, launch() it with the\n"
                 "// addresses of its buffers, and link the driver (-lcuda).\n"
                 "#pragma once\n\n#include <cuda.h>\n\n#include <cstdint>\n#include <cstring>\n\nnamespace kiln_kernels::{} {{\n\n"
                 "inline constexpr unsigned dynamic_shared_bytes = {};\n\n",
                 job.origin, job.name, contract.launches.front().dynamic_smem);
  write_buffers(out, contract);
  write_bytes(out, job.cubin);
  write_kernel(out, job, contract);
  fmt::format_to(out, "}}  // namespace kiln_kernels::{}\n", job.name);
  return text;
}

}  // namespace kiln::harness
