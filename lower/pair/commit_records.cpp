#include "lower/pair/commit_records.hpp"

#include "lower/variables.hpp"

namespace kiln::lower {

void declare_records(Builder& b, const Plan& p) {
  b.shared(ScalarType::b8, 16, variable::records, 2 * p.rings.records * record_bytes);
}

void make_records(Builder& b, const Plan& p) {
  const Register records = b.b32("mov.b32", variable::records);
  for (std::uint32_t i = 0; i < 2 * p.rings.records; ++i) {
    b.op("mbarrier.init.shared::cta.b64", at(records, i * record_bytes), 2);
    b.op("st.shared.b32", at(records, i * record_bytes + record_mask), 0);
  }
}

Register take_record(Builder& b, const Plan& p) {
  const Register out = b.b32("mov.b32", variable::record_ticket);
  b.op("atom.relaxed.cta.shared::cta.add.u32", out, at(out), 1);
  const Register odd = b.b32("mov.u32", "%cluster_ctarank");
  b.op("and.b32", odd, odd, 1);
  b.op("and.b32", out, out, p.rings.records - 1);
  b.op("mad.lo.u32", out, odd, p.rings.records, out);
  return out;
}

}  // namespace kiln::lower
