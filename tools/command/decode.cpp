// kiln decode: the bit fields of descriptors and tensor-memory addresses.
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "ptx/diag/error.hpp"
#include "ptx/isa/instruction_descriptor.hpp"
#include "ptx/isa/shared_descriptor.hpp"
#include "ptx/isa/tmem.hpp"
#include "tools/command/console.hpp"
#include "tools/command/numbers.hpp"
#include "tools/command/subcommands.hpp"

namespace kiln::command {
namespace {

using Json = nlohmann::ordered_json;
using isa::MmaKind;

constexpr const char* examples =
    "  kiln decode idesc 0x08200490 --kind f16    an instruction descriptor\n"
    "  kiln decode sdesc 0x4000404000010000       a shared-memory matrix descriptor\n"
    "  kiln decode taddr 0x00200040               a tensor-memory address";

struct Arguments {
  std::string what{}, value{}, kind = "f16";
  bool json = false;
};

MmaKind parse_kind(const std::string& name) {
  for (MmaKind k :
       {MmaKind::f16, MmaKind::tf32, MmaKind::f8f6f4, MmaKind::i8, MmaKind::mxf8f6f4, MmaKind::mxf4, MmaKind::mxf4nvf4})
    if (isa::spelling(k) == "kind::" + name) return k;
  throw diag::InputError(
      fmt::format("--kind: must be f16, tf32, f8f6f4, i8, mxf8f6f4, mxf4 or mxf4nvf4; got '{}'", name));
}

std::string type_name(isa::ScalarType type, unsigned code) {
  return type == isa::ScalarType::none ? fmt::format("code {}, no type of this kind", code)
                                       : std::string(spelling(type));
}

std::string major_name(isa::Major major) { return major == isa::Major::K ? "K" : "MN"; }

Json decode_instruction(std::uint32_t word, MmaKind kind) {
  const isa::InstructionDescriptorFields f = isa::unpack(word, kind);
  Json j = {{"kind", std::string(spelling(kind)).substr(6)}, {"M", f.m}, {"N", f.n}};
  j["A"] = type_name(isa::operand_type(kind, f.a_type), f.a_type);
  j["B"] = type_name(isa::operand_type(kind, f.b_type), f.b_type);
  j["A_major"] = major_name(f.a_major);
  j["B_major"] = major_name(f.b_major);
  j["negate_A"] = f.negate_a;
  j["negate_B"] = f.negate_b;
  j["sparse"] = f.sparse;
  j["sparsity_selector"] = f.selector;
  if (isa::is_block_scaled(kind)) {
    j["D"] = "f32";
    j["scale_format"] = f.scale_format ? "ue8m0" : "ue4m3";
    j["SFA_id"] = f.sfa_id;
    j["SFB_id"] = f.sfb_id;
    j["K96"] = f.k96;
  } else {
    j["D"] = type_name(isa::d_type(f.d_type), f.d_type);
    j["saturate"] = f.saturate;
    j["max_shift"] = f.max_shift;
  }
  j["reserved_bits_set"] = fmt::format("{:#x}", f.reserved);
  return j;
}

Json decode_shared(std::uint64_t word) {
  const isa::SharedDescriptorFields f = isa::unpack_shared(word);
  const auto swizzle = isa::descriptor_swizzle(f.swizzle_code);
  return {{"start_address", fmt::format("{:#x}", f.start)},
          {"leading_byte_offset", f.leading},
          {"leading_is_absolute", f.leading_is_absolute},
          {"stride_byte_offset", f.stride},
          {"version", f.version},
          {"base_offset", f.base_offset},
          {"swizzle", swizzle ? std::string(spelling(*swizzle)) : fmt::format("code {}, no swizzle", f.swizzle_code)},
          {"reserved_bits_set", fmt::format("{:#x}", f.reserved)}};
}

Json decode_address(std::uint32_t word) {
  const isa::TmemAddress a = isa::unpack_tmem(word);
  return {{"lane", a.lane},
          {"column", a.column},
          {"warps", fmt::format("of index {} modulo 4", a.lane / isa::tmem_lanes_per_warp)},
          {"other_bits_set", fmt::format("{:#x}", word & ~isa::pack(a))}};
}

std::uint32_t word32(const Arguments& a) {
  const std::uint64_t value = whole_number(a.value, "VALUE");
  if (value >> 32) throw diag::InputError(fmt::format("VALUE: {} has 32 bits; got {}", a.what, a.value));
  return std::uint32_t(value);
}

int decode(const Arguments& a) {
  const Json j = a.what == "sdesc"   ? decode_shared(whole_number(a.value, "VALUE"))
                 : a.what == "idesc" ? decode_instruction(word32(a), parse_kind(a.kind))
                                     : decode_address(word32(a));
  if (a.json) return print(j.dump(2) + "\n"), Exit::clean;
  std::string out;
  for (const auto& item : j.items())
    out += fmt::format("{:<20} {}\n", item.key(),
                       item.value().is_string() ? item.value().get<std::string>() : item.value().dump());
  print(out);
  return Exit::clean;
}

}  // namespace

void add_decode(const Builder& builder) {
  CLI::App* sub = builder.add("decode", "Show the fields of a descriptor or a tensor-memory address", examples);
  auto a = std::make_shared<Arguments>();
  sub->add_option("WHAT", a->what, "idesc, sdesc or taddr")->required()->check(one_of({"idesc", "sdesc", "taddr"}));
  sub->add_option("VALUE", a->value, "a number, decimal or 0x...")->required();
  sub->add_option("--kind", a->kind, "of the MMA, for idesc [f16]")->type_name("KIND");
  sub->add_flag("--json", a->json, "print them as JSON");
  sub->callback([a, &action = builder.action] { action = [a] { return decode(*a); }; });
}

}  // namespace kiln::command
