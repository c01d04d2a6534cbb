// Compares what tcgen05.mma reads through its descriptors with the tiles that tensor copies left there, without reading
// any value. README.md of ptx/tile says what is an error and what cannot be judged.
#pragma once

#include <map>
#include <set>
#include <tuple>
#include <vector>

#include "ptx/tile/accumulation.hpp"
#include "ptx/tile/right.hpp"
#include "sim/core/observer.hpp"

namespace kiln::sim {

struct Box;
struct Cta;

class TileJudge final : public Observer {
 public:
  void start(Cluster&, std::uint32_t launch) override;
  void enter(Cluster&) override;
  void access(const Agent&, const ir::Operation&, const Range&, AccessKind, Proxy, AsyncId) override;
  void transfer(AsyncId, const Transfer&) override;
  void multiply(AsyncId, const Agent&, const MmaTask&) override;

 private:
  using Judged = tile::Beginning;

  tile::CopiedTiles& tiles_of(std::uint32_t cta);
  std::optional<Judged> judge_operand(const MmaTask&, const tile::SharedOperand&, const tile::CopiedTiles&, char name);
  void advance(const MmaTask&, const Cta&, const Judged& a, const Judged& b);
  void report(rules::Rule, const MmaTask&, const std::string& got, std::vector<diag::Note> notes);

  // What has been seen of one cluster.
  struct OfCluster {
    std::vector<tile::CopiedTiles> tiles{};                                           // by rank
    std::map<std::tuple<std::uint32_t, std::uint32_t>, tile::Accumulation> chains{};  // by CTA and accumulator
  };

  Cluster* cluster_ = nullptr;
  std::map<const Cluster*, OfCluster> clusters_;
  OfCluster* now_ = nullptr;
  AsyncId loading_ = 0;  // the tensor copy whose accesses follow
  const Box* box_ = nullptr;
  tile::RightOperands right_;
  std::set<std::tuple<rules::Rule, const ir::Operation*>> reported_;
};

}  // namespace kiln::sim
