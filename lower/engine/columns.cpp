#include "lower/engine/columns.hpp"

#include "lower/engine/home.hpp"
#include "lower/variables.hpp"

namespace kiln::lower {
namespace {

const char* scope(const Plan& p) { return p.is_pair ? "cluster" : "cta"; }

// The columns that are taken; of a pair, in either CTA.
Register find_taken(Builder& b, const Plan& p, Register word) {
  if (!p.is_pair) return b.b32("mov.b32", word);
  const Register out = b.b32("shr.u32", word, 16);
  b.op("or.b32", out, out, word);
  b.op("and.b32", out, out, bits(0xffff));
  return out;
}

}  // namespace

void take_columns(Builder& b, const Plan& p, Register columns, Register to) {
  Home home(b, p);
  home.find();
  const Register units = b.b32("shr.u32", columns, 5), mask = b.b32("shl.b32", 1, units);
  b.op("sub.u32", mask, mask, 1);
  const JumpTarget look = b.label("look"), fit = b.label("fit"), take = b.label("take");
  b.place(look);
  const Register word = b.b32(home.ordered(dotted({"ld.relaxed", scope(p)}), "b32"), home.word(Word::columns));
  const Register taken = find_taken(b, p, word), first = b.b32("mov.b32", 0);
  b.place(fit);
  const Register wanted = b.b32("shl.b32", mask, first), found = b.b32("and.b32", wanted, taken);
  b.jump_if(b.pred("setp.eq.u32", found, 0), take);
  b.op("add.u32", first, first, 1);
  b.jump_if(b.pred("setp.le.u32", b.b32("add.u32", first, units), p.columns / 32), fit);
  b.jump(look);
  b.place(take);
  if (p.is_pair) b.op("or.b32", wanted, wanted, b.b32("shl.b32", wanted, 16));
  b.op("or.b32", wanted, wanted, word);
  b.op(home.ordered(dotted({"atom.acquire", scope(p)}), "cas.b32"), found, home.word(Word::columns), word, wanted);
  b.jump_if(b.pred("setp.ne.u32", found, word), look);
  b.op("shl.b32", to, first, 5);
}

void free_columns(Builder& b, const Plan& p, Register mask) {
  const Register rank = b.reg(ScalarType::b32), word = b.reg(ScalarType::b32);
  if (p.is_pair) {
    b.op("mov.u32", rank, "%cluster_ctarank");
    b.op("and.b32", word, rank, 1);
    b.op("shl.b32", word, word, 4);
    b.op("shl.b32", mask, mask, word);
  }
  b.op("not.b32", mask, mask);
  if (p.home == Place::global) {
    Home home(b, p);
    home.find();
    return b.op("atom.release.cta.global.and.b32", rank, home.word(Word::columns), mask);
  }
  b.op("mov.b32", word, variable::columns);
  if (p.is_pair) {
    b.op("and.b32", rank, rank, bits(0xfffffffe));
    b.op("mapa.shared::cluster.u32", word, word, rank);
  }
  b.op(dotted({"atom.release", scope(p), p.is_pair ? "shared::cluster" : "shared::cta", "and.b32"}), rank, at(word),
       mask);
}

}  // namespace kiln::lower
