// kiln decode: what the fields of a descriptor, an address, a mask or a kind word say, and which rules they break.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>

#include "ptx/diag/error.hpp"
#include "ptx/isa/descriptor_text.hpp"
#include "ptx/isa/kind_word.hpp"
#include "tools/command/decoded.hpp"
#include "tools/command/form_words.hpp"
#include "tools/command/json.hpp"
#include "tools/command/report/console.hpp"
#include "tools/command/report/numbers.hpp"
#include "tools/command/subcommands.hpp"

namespace kiln::command {
namespace {

constexpr const char* decode_examples =
    "  kiln decode idesc 0x08200490 --kind f16 --cta-group 1     an instruction descriptor, judged\n"
    "  kiln decode idesc \"M=128 N=256 D=f32 A=bf16 B=bf16\"       the word of a printed one\n"
    "  kiln decode sdesc 0x4000404000010000 --kind f16 --major K  a shared-memory matrix descriptor\n"
    "  kiln decode taddr 0x00200040                              a tensor-memory address\n"
    "  kiln decode zero-mask 0x0003028100000000 --m 64 --n 128   which columns of a .ws MMA see zeros\n"
    "  kiln decode kind-word 0x0C3 --target sm_100a              the flags between a compiler's passes\n"
    "\n"
    "Only what the options say is judged: M, N and the sparse bit of an instruction descriptor need --cta-group or "
    "--ws.";

struct DecodeArguments {
  std::string what{}, value{}, kind{}, major{}, scale_vec{}, target{}, layout = "consistent", collector = "0";
  int cta_group = 0, m = 0, n = 0, max_shift = -1;
  bool sparse = false, ws = false, a_in_tmem = false, block_scale = false, json = false;
};

isa::MmaKind parse_kind(const std::string& name) {
  for (isa::MmaKind k : isa::mma_kinds)
    if (isa::spelling(k) == "kind::" + name) return k;
  throw diag::InputError(
      fmt::format("--kind: must be f16, tf32, f8f6f4, i8, mxf8f6f4, mxf4 or mxf4nvf4; got '{}'", name));
}

isa::ScaleVector parse_scale_vector(const std::string& name) {
  using isa::ScaleVector;
  if (name.empty()) return ScaleVector::none;
  for (ScaleVector v : {ScaleVector::x1, ScaleVector::x2, ScaleVector::x4, ScaleVector::block16, ScaleVector::block32})
    if (isa::spelling(v) == name || isa::spelling(v) == "scale_vec::" + name) return v;
  throw diag::InputError(fmt::format("--scale-vec: must be 1X, 2X, 4X, block16 or block32; got '{}'", name));
}

isa::Target parse_target(const std::string& name) {
  if (const auto target = isa::parse_target(name)) return *target;
  throw diag::InputError(fmt::format("--target: must be like sm_100a; got '{}'", name));
}

std::uint32_t word32(const std::string& value, const std::string& what) {
  const std::uint64_t word = whole_number(value, what);
  if (word >> 32) throw diag::InputError(fmt::format("{}: must fit 32 bits; got {}", what, value));
  return std::uint32_t(word);
}

// A descriptor is given as a number, or as the text that it prints as.
bool is_printed_text(const std::string& value) { return value.find_first_of("= ") != std::string::npos; }

template <class Descriptor>
auto word_of(const isa::Reading<Descriptor>& read) {
  if (!read.value)
    throw diag::InputError(
        fmt::format("VALUE: '{}' is no field of this descriptor, or has a value that it cannot hold", read.wrong));
  return read.value->word();
}

Decoded decode_idesc(const DecodeArguments& a) {
  MmaContext context;
  context.form.kind = parse_kind(a.kind.empty() ? "f16" : a.kind);
  context.form.group = isa::CtaGroup(a.cta_group);
  context.form.sparse = a.sparse;
  context.form.ws = a.ws;
  context.form.a_in_tmem = a.a_in_tmem;
  context.form.scale_vector = parse_scale_vector(a.scale_vec);
  if (!a.target.empty()) context.target = parse_target(a.target);
  return decode_instruction_descriptor(is_printed_text(a.value)
                                           ? word_of(isa::read_instruction_descriptor(a.value, context.form.kind))
                                           : word32(a.value, "VALUE"),
                                       context);
}

Decoded decode_sdesc(const DecodeArguments& a) {
  OperandContext context;
  if (!a.kind.empty()) context.kind = parse_kind(a.kind);
  if (!a.major.empty()) context.major = a.major == "K" ? isa::Major::K : isa::Major::MN;
  return decode_shared_descriptor(
      is_printed_text(a.value) ? word_of(isa::read_shared_descriptor(a.value)) : whole_number(a.value, "VALUE"),
      context);
}

Decoded decode_taddr(const DecodeArguments& a) { return decode_tensor_address(word32(a.value, "VALUE")); }

Decoded decode_mask(const DecodeArguments& a) {
  MaskContext context{a.m, a.n, a.sparse, {}};
  if (a.n && !a.m) throw diag::InputError("--n: needs --m");
  if (a.max_shift >= 0) context.allowed_shift = a.max_shift;
  return decode_zero_mask(whole_number(a.value, "VALUE"), context);
}

Decoded decode_kind_word(const DecodeArguments& a) {
  const isa::KindWordLayout& layout = a.layout == "published" ? isa::published_kind_word : isa::consistent_kind_word;
  if (a.block_scale && layout.block_scale.width)
    throw diag::InputError(fmt::format("--block-scale: the {} layout has a bit for it", layout.name));
  const std::uint32_t word = word32(a.value, "VALUE"), collector = word32(a.collector, "--collector");
  auto form = isa::decode_kind_word(word, a.block_scale, layout);
  if (!form)
    throw diag::InputError(
        fmt::format("VALUE: {} has bits or codes that the {} layout does not define; see "
                    "`kiln explain kind-word`",
                    a.value, layout.name));
  form = isa::with_collector_word(*form, collector);
  if (!form) throw diag::InputError(fmt::format("--collector: must be in [0, 7]; got {}", a.collector));
  Decoded out = decode_form(*form, parse_target(a.target.empty() ? "sm_100a" : a.target));
  nlohmann::ordered_json head = {{"word", fmt::format("{:#05x}", word)}, {"layout", layout.name}};
  head.update(out.fields);
  out.fields = std::move(head);
  return out;
}

/// What can be decoded, and the options that it has beside --json.
struct Subject {
  const char* name;
  Decoded (*decode)(const DecodeArguments&);
  std::vector<std::string> options;
};

const std::array<Subject, 5>& subjects() {
  static const std::array<Subject, 5> all{{
      {"idesc", decode_idesc, {"--kind", "--cta-group", "--sparse", "--ws", "--a-in-tmem", "--scale-vec", "--target"}},
      {"sdesc", decode_sdesc, {"--kind", "--major"}},
      {"taddr", decode_taddr, {}},
      {"zero-mask", decode_mask, {"--m", "--n", "--sparse", "--max-shift"}},
      {"kind-word", decode_kind_word, {"--layout", "--collector", "--block-scale", "--target"}},
  }};
  return all;
}

void refuse_other_options(const CLI::App& sub, const Subject& subject) {
  for (const CLI::Option* o : sub.get_options()) {
    const std::string name = o->get_name();
    const auto& own = subject.options;
    if (!name.starts_with("--") || o->count() == 0 || name == "--json") continue;
    if (std::find(own.begin(), own.end(), name) == own.end())
      throw diag::InputError(fmt::format("{}: {} has no such option", name, subject.name));
  }
}

int decode(const CLI::App& sub, const DecodeArguments& a) {
  for (const Subject& s : subjects()) {
    if (a.what != s.name) continue;
    refuse_other_options(sub, s);
    const Decoded d = s.decode(a);
    print(a.json ? versioned(json(d)) : text(d));
    return d.exit_code();
  }
  throw diag::InternalError("a subject of kiln decode without a function");
}

void add_options(CLI::App* sub, DecodeArguments& a) {
  sub->add_option("--kind", a.kind, "idesc, sdesc: of the MMA [idesc: f16]")->type_name("KIND");
  sub->add_option("--cta-group", a.cta_group, "idesc: 1 or 2")->check(one_of({"1", "2"}))->type_name("N");
  sub->add_flag("--sparse", a.sparse, "idesc, zero-mask: of a tcgen05.mma.sp");
  sub->add_flag("--ws", a.ws, "idesc: of a tcgen05.mma.ws");
  sub->add_flag("--a-in-tmem", a.a_in_tmem, "idesc: A comes from tensor memory");
  sub->add_option("--scale-vec", a.scale_vec, "idesc: 1X, 2X, 4X, block16 or block32")->type_name("SIZE");
  sub->add_option("--target", a.target, "idesc, kind-word: such as sm_103a [kind-word: sm_100a]")->type_name("TARGET");
  sub->add_option("--major", a.major, "sdesc: K or MN")->check(one_of({"K", "MN"}))->type_name("MAJOR");
  sub->add_option("--m", a.m, "zero-mask: rows of the MMA")->type_name("M");
  sub->add_option("--n", a.n, "zero-mask: columns of the MMA, to draw the mask")->type_name("N");
  sub->add_option("--max-shift", a.max_shift, "zero-mask: what the instruction descriptor allows: 0, 8, 16 or 32")
      ->check(one_of({"0", "8", "16", "32"}))
      ->type_name("N");
  sub->add_option("--layout", a.layout, "kind-word: consistent or published [consistent]")
      ->check(one_of({"consistent", "published"}))
      ->type_name("LAYOUT");
  sub->add_option("--collector", a.collector, "kind-word: the collector word beside it [0]")->type_name("WORD");
  sub->add_flag("--block-scale", a.block_scale, "kind-word: of a block-scaled intrinsic");
  sub->add_flag("--json", a.json, "print it as JSON");
}

}  // namespace

void add_decode(const Builder& builder) {
  CLI::App* sub =
      builder.add("decode", "Show and judge the fields of a descriptor, an address or a mask", decode_examples);
  auto a = std::make_shared<DecodeArguments>();
  std::vector<std::string> names;
  for (const Subject& s : subjects()) names.push_back(s.name);
  sub->add_option("WHAT", a->what, "idesc, sdesc, taddr, zero-mask or kind-word")->required()->check(one_of(names));
  sub->add_option("VALUE", a->value, "a number, decimal or 0x...; for idesc and sdesc also their printed text")
      ->required();
  add_options(sub, *a);
  sub->callback([a, sub, &action = builder.action] { action = [a, sub] { return decode(*sub, *a); }; });
}

}  // namespace kiln::command
