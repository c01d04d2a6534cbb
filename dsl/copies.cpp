#include "dsl/copies.hpp"

#include "dsl/operands.hpp"

namespace kiln::dsl {

using ir::Operand;

void Copies::copy_boxes(const TilePieces& pieces, const U32& shared, const Operand& map, const U32& inner,
                        const U32& outer, const Mbarrier* full, Here at) {
  const auto plus = [&](const U32& v, int by) { return use(*rec_, apply("add", v, by, at), at); };
  for (int block = 0; block < pieces.blocks; ++block)
    for (int piece = 0; piece < pieces.row_pieces; ++piece) {
      const Operand box = Operand::address(plus(shared, block * pieces.block_bytes + piece * pieces.piece_bytes));
      Operand tensor = Operand::address(map);
      tensor.items.push_back(Operand::vector(
          {plus(inner, block * pieces.box_inner), plus(outer, piece * pieces.box_outer)}));
      if (full)
        rec_->emit("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes",
                   {box, tensor, address_of(*rec_, full->address, at)}, at);
      else
        rec_->emit("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group", {tensor, box}, at);
    }
}

void Copies::commit_stores(Here at) { rec_->emit("cp.async.bulk.commit_group", {}, at); }

void Copies::wait_stores_read(int pending, Here at) {
  rec_->emit("cp.async.bulk.wait_group.read", {Operand::number(pending)}, at);
}

void Copies::expect_tx(const Mbarrier& b, std::int64_t bytes, Here at) {
  rec_->require(rules::mbarrier_tx(bytes), at);
  rec_->emit("mbarrier.arrive.expect_tx.shared::cta.b64",
             {sink(), address_of(*rec_, b.address, at), Operand::number(bytes)}, at);
}

void Copies::arrive(const Mbarrier& b, Here at) {
  if (b.released) *b.released = true;
  rec_->emit("mbarrier.arrive.shared::cta.b64", {sink(), address_of(*rec_, b.address, at)}, at);
}

}  // namespace kiln::dsl
