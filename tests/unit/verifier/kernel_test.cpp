// A whole kernel as nvcc writes it: nothing to say about it, and one finding for each thing that is broken in it.
#include <chrono>
#include <random>

#include "tests/unit/verifier/checked.hpp"

namespace verifier_kernel {

using namespace kiln;
using test::check_text;
using test::replaced;
using test::slugs;

namespace {

const std::string& kernel() {
  static const std::string text = test::read_data("ptx/gemm_bf16.ptx");
  return text;
}

std::string without_line(std::string text, const std::string& part, int occurrence = 1) {
  std::size_t at = 0;
  for (int i = 0; i < occurrence; ++i) at = text.find(part, i ? at + 1 : 0);
  REQUIRE(at != std::string::npos);
  const std::size_t begin = text.rfind('\n', at) + 1;
  return text.erase(begin, text.find('\n', at) + 1 - begin);
}

}  // namespace

TEST_CASE("a good kernel is clean") {
  const auto sink = check_text(kernel());
  CHECK_MESSAGE(sink.all().empty(), diag::render_text(sink));
}

TEST_CASE("what is broken in it is found") {
  const std::string dealloc = "tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r3, ";
  CHECK(slugs(check_text(without_line(kernel(), dealloc))) == "tcgen05-alloc-leak ");
  CHECK(slugs(check_text(replaced(kernel(), dealloc + "%r323", dealloc + "128"))) == "tcgen05-dealloc-size ");
  CHECK(slugs(check_text(without_line(kernel(), "mbarrier.init", 9))) == "mbarrier-uninitialised ");
  CHECK(slugs(check_text(without_line(kernel(), "tcgen05.wait::ld"))) == "tcgen05-ld-wait ");
  CHECK(slugs(check_text(replaced(kernel(), ".target sm_100a", ".target sm_90a"))) == "target-tcgen05 ");
  CHECK(slugs(check_text(replaced(kernel(), ".kind::f16", ".kind::tf32"))).starts_with("tcgen05-mma-types "));
  // Descriptors: 4611756662049472512 is the upper half, with version 1 and the 128B swizzle.
  CHECK(slugs(check_text(replaced(kernel(), "4611756662049472512", "4611686293305294848")))
            .starts_with("tcgen05-sdesc-fixed "));
  CHECK(slugs(check_text(replaced(kernel(), "4611756662049472512", "6917599671263166464")))
            .starts_with("tcgen05-sdesc-swizzle "));
}

TEST_CASE("a pair of CTAs, operands that threads write and block scales are clean, and not without what orders them") {
  const std::string text = test::read_data("ptx/tcgen05_patterns_sm_100a.ptx");
  const auto sink = check_text(text);
  CHECK_MESSAGE(sink.all().empty(), diag::render_text(sink));
  CHECK(slugs(check_text(replaced(text, "fence.proxy.async.shared::cta;", ""))) ==
        "proxy-fence proxy-fence proxy-fence ");
  CHECK(slugs(check_text(replaced(text, ".reqnctapercluster 2", ".reqnctapercluster 3"))) == "tcgen05-cta-pair ");
  CHECK(slugs(check_text(replaced(text, "tcgen05.fence::after_thread_sync;", ""))) ==
        "tcgen05-fence-after tcgen05-fence-after tcgen05-fence-after ");
  CHECK(slugs(check_text(replaced(text, "tcgen05.mma.cta_group::1.kind::f16 [%r14], [%r56]",
                                  "tcgen05.mma.cta_group::1.kind::f16 [%r14], [%r14]"))) == "tcgen05-mma-overlap ");
}

TEST_CASE("every finding about it has a place, a sentence and a source") {
  for (const std::string& text :
       {replaced(kernel(), ".kind::f16", ".kind::tf32"), without_line(kernel(), "tcgen05.wait::ld")}) {
    const auto sink = check_text(text);
    for (const auto& d : sink.all()) {
      CHECK_FALSE(d.where.place.empty());
      CHECK(d.message.back() != '.');
      CHECK_FALSE(d.reference.empty());
    }
  }
}

TEST_CASE("checking is fast") {
  diag::Sink sink;
  const ir::Module module = parse::parse(std::make_shared<diag::Source>("t.ptx", kernel()), sink);
  const auto start = std::chrono::steady_clock::now();
  verifier::check(module, sink);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  MESSAGE("checked in ", took.count() * 1e3, " ms");
  CHECK(took.count() < 0.5);
}

TEST_CASE("the stamp is for modules without errors and without gaps") {
  const auto parsed = [](const std::string& text) {
    diag::Sink sink;
    return parse::parse(std::make_shared<diag::Source>("t.ptx", text), sink);
  };
  diag::Sink sink;
  CHECK(verifier::verify(parsed(kernel()), sink));
  CHECK(verifier::verify(parsed(without_line(kernel(), "tcgen05.wait::ld")), sink));  // portability alone
  CHECK_FALSE(verifier::verify(parsed(without_line(kernel(), "tcgen05.dealloc")), sink));
  CHECK_FALSE(verifier::verify(parsed(replaced(kernel(), "tcgen05.commit", "tcgen05.omit")), sink));
}

TEST_CASE("no mangled kernel brings it down") {
  std::mt19937 random(1);
  std::vector<std::string> lines;
  std::istringstream in(kernel());
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  for (int round = 0; round < 150; ++round) {
    std::vector<std::string> mangled = lines;
    for (int i = 0; i < 40; ++i) {
      const auto a = random() % mangled.size(), b = random() % mangled.size();
      switch (random() % 4) {
        case 0: mangled.erase(mangled.begin() + std::ptrdiff_t(a)); break;
        case 1: std::swap(mangled[a], mangled[b]); break;
        case 2: mangled[a] = mangled[b]; break;
        default:
          if (!mangled[a].empty()) mangled[a][random() % mangled[a].size()] = char(' ' + random() % 95);
      }
    }
    std::string text;
    for (const std::string& line : mangled) text += line + "\n";
    diag::render_text(check_text(text));
  }
}

}  // namespace verifier_kernel
