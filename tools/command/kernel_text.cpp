#include "tools/command/kernel_text.hpp"

#include <filesystem>

#include "harness/pipeline/pipeline.hpp"
#include "ptx/diag/refuse.hpp"
#include "tools/command/kernel_arguments.hpp"

namespace kiln::command {

bool names_kernel(const std::string& word) {
  const bool is_path = word == "-" || word.find_first_of("./") != std::string::npos;
  return !is_path && (find_entry(word) || !std::filesystem::exists(word));
}

void add_kernel_to_judge(CLI::App& sub, KernelToJudge& kernel, const Builder& builder) {
  if (!add_kernel_sizes(sub, kernel.choice, builder)) {
    sub.footer(sub.get_footer() + "\n`" + sub.get_name() + " KERNEL --help` adds the sizes of that kernel.");
    return;
  }
  sub.add_option("--target", kernel.choice.target, "architecture to build for [the kernel's first]")
      ->type_name("sm_NNN");
  sub.add_flag("--problem", kernel.problem,
               "for the launch of the kernel's problem of these sizes, not for every launch");
}

verifier::LaunchFacts launch_facts(const dsl::Kernel& kernel) {
  verifier::LaunchFacts out;
  out.block = {kernel.block.x, kernel.block.y, kernel.block.z};
  out.dynamic_shared = kernel.dynamic_smem;
  for (std::uint32_t i = 0; i < kernel.parameters.size(); ++i)
    if (const dsl::ParameterInfo& p = kernel.parameters[i]; p.is_tensor_map && !p.is_bare_map) out.boxes[i] = p.map;
  for (const Here& fence : kernel.fences) out.fences.emplace(fence.file, fence.line);
  out.option = "--problem";
  return out;
}

KernelText kernel_text(KernelToJudge kernel, const std::string& name) {
  kernel.choice.name = name;
  kernel.choice.settle();
  const dsl::Entry& entry = kernel.choice.entry();
  const dsl::Sizes sizes = kernel.choice.chosen_sizes();
  KernelText text;
  try {
    dsl::Kernel built = entry.build(kernel.choice.chosen_target(), sizes);
    text.facts = launch_facts(built);
    if (kernel.problem) text.problem = entry.problem(built, sizes);
    diag::Sink sink;
    text.source = harness::emit_verified(std::move(built.module), name + ".ptx", sink);
    if (!text.source) text.findings = std::move(sink);
  } catch (const diag::Rejected& rejected) {
    text.findings = rejected.findings();
  }
  return text;
}

}  // namespace kiln::command
