// Compares what tcgen05.mma reads through its descriptors with the tiles that tensor copies left there, without a look
// at any value. README.md says what is an error and what nobody can tell.
#pragma once

#include <map>
#include <set>
#include <tuple>
#include <vector>

#include "sim/tile/right.hpp"

namespace kiln::sim {

class TileJudge final : public Observer {
 public:
  void start(Cluster&, std::uint32_t launch) override;
  void access(const Agent&, const ir::Operation&, const Range&, AccessKind, Proxy, AsyncId) override;
  void transfer(AsyncId, const Transfer&) override;
  void multiply(AsyncId, const Agent&, const MmaTask&) override;

 private:
  // The MMAs that have added products of one pair of tiles to one accumulator.
  struct Chain {
    std::uint32_t a = 0, b = 0;  // numbers of the tiles
    Tile::At a_at{}, b_at{};     // where they are read, but for K
    struct Slice {
      rules::KSlices k{};
      const ir::Operation* operation = nullptr;
    };
    std::vector<Slice> slices{};
  };

  // An operand that is right.
  struct Judged {
    const Tile* tile = nullptr;  // that it begins in
    std::uint32_t number = 0;    // of the tile
    TileOperand::Start start{};
  };

  CopiedTiles& tiles_of(std::uint32_t cta);
  std::optional<Judged> judge_operand(const MmaTask&, const SharedOperand&, const CopiedTiles&, char name);
  void advance(const MmaTask&, const Cta&, const Judged& a, const Judged& b);
  void report_advance(const MmaTask&, const Judged& a, const Judged& b, rules::KSlices now, const Chain::Slice& other);
  void report(rules::Rule, const MmaTask&, const std::string& got, std::vector<diag::Note> notes);

  Cluster* cluster_ = nullptr;
  std::vector<CopiedTiles> tiles_;  // by rank
  AsyncId loading_ = 0;             // the tensor copy whose accesses follow
  const Box* box_ = nullptr;
  RightOperands right_;
  std::map<std::tuple<std::uint32_t, std::uint32_t>, Chain> chains_;  // by CTA and accumulator
  std::set<std::tuple<rules::Rule, const ir::Operation*>> reported_;
};

}  // namespace kiln::sim
