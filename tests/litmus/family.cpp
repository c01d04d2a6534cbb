#include "tests/litmus/family.hpp"

#include <fmt/format.h>

#include <array>

namespace kiln::test {
namespace {

using Events = std::vector<Event>;

struct Side {
  Strength strength = Strength::weak;
  Reach reach = Reach::gpu;
};

constexpr std::array reaches{Reach::cta, Reach::cluster, Reach::gpu, Reach::sys};

std::string_view word(Reach r) {
  constexpr std::string_view words[] = {"cta", "cluster", "gpu", "sys"};
  return words[int(r)];
}

std::string word(const Side& s) {
  constexpr std::string_view words[] = {"weak", "rlx", "acq", "rel", "acq_rel", "sc"};
  const std::string strength(words[int(s.strength)]);
  return s.strength == Strength::weak ? strength : strength + "." + std::string(word(s.reach));
}

Event write(int place, const Side& s, int value = 1) {
  return {.act = Act::write, .place = place, .strength = s.strength, .reach = s.reach, .value = value};
}
Event read(int place, const Side& s) {
  return {.act = Act::read, .place = place, .strength = s.strength, .reach = s.reach};
}
Event await(int place, const Side& s, int value = 1) {
  Event e = read(place, s);
  e.until = value;
  return e;
}
Event only_if(int place, const Side& s, int value) {
  Event e = read(place, s);
  e.only_if = value;
  return e;
}
Event update(int place, const Side& s) {
  return {.act = Act::update, .place = place, .strength = s.strength, .reach = s.reach};
}
Event fence(const Side& s) { return {.act = Act::fence, .strength = s.strength, .reach = s.reach}; }
Event proxy_fence(Space s = Space::any) { return {.act = Act::proxy_fence, .space = s}; }
Event simple(Act a) { return {.act = a}; }
Event copy(Act a, int to, int from, int mbarrier = -1) {
  return {.act = a, .place = to, .source = from, .mbarrier = mbarrier};
}
Event cluster_arrive(Strength s) { return {.act = Act::cluster_arrive, .strength = s, .reach = Reach::cluster}; }

Events operator+(Events a, const Events& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

constexpr Side weak{};
Side rlx(Reach r) { return {Strength::relaxed, r}; }
Side acq(Reach r) { return {Strength::acquire, r}; }
Side rel(Reach r) { return {Strength::release, r}; }

constexpr Location global{}, shared{Space::shared, 0}, shared_far{Space::shared, 1}, bar{Space::mbarrier, 0},
    bar_far{Space::mbarrier, 1};

// Where the threads of a test stand.
struct Placement {
  std::string name;
  std::vector<Spot> spots;
  bool is_one_cluster = false;
};

const Placement lane{"lane", {{0, 0, 0}, {0, 0, 1}}}, warp{"warp", {{0, 0, 0}, {0, 1, 0}}},
    cluster{"cluster", {{0, 0, 0}, {1, 0, 0}}, true}, grid{"grid", {{0, 0, 0}, {1, 0, 0}}};
const std::vector<Placement> pairs{lane, warp, cluster, grid};
const std::vector<Placement> in_cta{lane, warp};
const std::vector<Placement> in_cluster{lane, warp, cluster};
const std::vector<Placement> triples{
    {"abc", {{0, 0, 0}, {0, 1, 0}, {0, 2, 0}}},
    {"ab|c", {{0, 0, 0}, {0, 1, 0}, {1, 0, 0}}},
    {"a|bc", {{0, 0, 0}, {1, 0, 0}, {1, 1, 0}}},
    {"a|b|c", {{0, 0, 0}, {1, 0, 0}, {2, 0, 0}}},
    {"cluster ab|c", {{0, 0, 0}, {0, 1, 0}, {1, 0, 0}}, true},
    {"cluster a|bc", {{0, 0, 0}, {1, 0, 0}, {1, 1, 0}}, true},
};
const std::vector<Placement> quadruples{
    {"abcd", {{0, 0, 0}, {0, 1, 0}, {0, 2, 0}, {0, 3, 0}}},
    {"ab|cd", {{0, 0, 0}, {0, 1, 0}, {1, 0, 0}, {1, 1, 0}}},
    {"ac|bd", {{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {1, 1, 0}}},
    {"cluster ac|bd", {{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {1, 1, 0}}, true},
};

class Family {
 public:
  std::vector<FamilyTest> all() {
    message_passing();
    message_passing_by_atomics();
    message_passing_in_shared_memory();
    message_passing_by_barriers();
    message_passing_by_mbarriers();
    asynchronous_loads();
    proxies();
    coherence();
    two_locations();
    chains();
    independent_reads();
    ownership();
    weak_outcomes();
    return std::move(tests_);
  }

 private:
  void add(const std::string& shape, const std::string& detail, const std::vector<Placement>& places,
           const std::vector<Location>& locations, const std::vector<Events>& threads) {
    for (const Placement& p : places) {
      Program program;
      program.is_one_cluster = p.is_one_cluster;
      program.locations = locations;
      for (std::size_t t = 0; t < threads.size(); ++t) program.threads.push_back({p.spots.at(t), threads[t]});
      tests_.push_back({shape, detail, p.name, program});
    }
  }

  // MP: data, then a flag. Location 0 is the data, 1 the flag.
  void mp(const std::string& detail, const std::vector<Placement>& places, const std::vector<Location>& locations,
          const Events& publish, const Events& acquire) {
    add("MP", detail, places, locations, {Events{write(0, weak)} + publish, acquire + Events{read(0, weak)}});
  }

  void message_passing() {
    const std::vector<Location> l{global, global};
    mp("weak flag", pairs, l, {write(1, weak)}, {await(1, weak)});
    for (const Reach r : reaches) {
      for (const Side& w : {rlx(r), rel(r)})
        for (const Side& a : {rlx(r), acq(r)})
          mp(fmt::format("{} {}", word(w), word(a)), pairs, l, {write(1, w)}, {await(1, a)});
      for (const Strength s : {Strength::acq_rel, Strength::sc}) {
        const Side f{s, r};
        mp(fmt::format("fence.{} both", word(f)), pairs, l, {fence(f), write(1, rlx(Reach::sys))},
           {await(1, rlx(Reach::sys)), fence(f)});
      }
      mp(fmt::format("fence.acq_rel.{} first, acq.gpu", word(r)), pairs, l,
         {fence({Strength::acq_rel, r}), write(1, rlx(Reach::gpu))}, {await(1, acq(Reach::gpu))});
      mp(fmt::format("rel.gpu, fence.acq_rel.{} second", word(r)), pairs, l, {write(1, rel(Reach::gpu))},
         {await(1, rlx(Reach::gpu)), fence({Strength::acq_rel, r})});
      mp(fmt::format("fence.acq_rel.gpu both, rlx.{}", word(r)), pairs, l,
         {fence({Strength::acq_rel, Reach::gpu}), write(1, rlx(r))},
         {await(1, rlx(r)), fence({Strength::acq_rel, Reach::gpu})});
    }
    mp("rel.cta acq.gpu", pairs, l, {write(1, rel(Reach::cta))}, {await(1, acq(Reach::gpu))});
    mp("rel.gpu acq.cta", pairs, l, {write(1, rel(Reach::gpu))}, {await(1, acq(Reach::cta))});
    mp("rel.cluster acq.sys", pairs, l, {write(1, rel(Reach::cluster))}, {await(1, acq(Reach::sys))});
    mp("fence.acq_rel.gpu first only", pairs, l, {fence({Strength::acq_rel, Reach::gpu}), write(1, rlx(Reach::gpu))},
       {await(1, rlx(Reach::gpu))});
    mp("fence.acq_rel.gpu second only", pairs, l, {write(1, rlx(Reach::gpu))},
       {await(1, rlx(Reach::gpu)), fence({Strength::acq_rel, Reach::gpu})});
    mp("fence.acq_rel.gpu after the flag", pairs, l,
       {write(1, rlx(Reach::gpu)), fence({Strength::acq_rel, Reach::gpu})}, {await(1, acq(Reach::gpu))});
    mp("rel.gpu, then rlx.gpu", pairs, l, {write(1, rel(Reach::gpu)), write(1, rlx(Reach::gpu), 2)},
       {await(1, acq(Reach::gpu), 2)});
    mp("rel.gpu acq.gpu, data before and after", pairs, {global, global},
       {write(1, rel(Reach::gpu)), write(0, weak, 2)}, {await(1, acq(Reach::gpu))});
    mp("acquired if it was read", pairs, l, {write(1, rel(Reach::gpu))}, {only_if(1, acq(Reach::gpu), 1)});
    mp("acquired if it was not read", pairs, l, {write(1, rel(Reach::gpu))}, {only_if(1, acq(Reach::gpu), 0)});
  }

  void message_passing_by_atomics() {
    const std::vector<Location> l{global, global};
    for (const Reach r : {Reach::cta, Reach::cluster, Reach::gpu}) {
      mp(fmt::format("atom rel.{} acq", word(r)), pairs, l, {update(1, rel(r))}, {await(1, acq(r))});
      mp(fmt::format("atom acq_rel.{} acq", word(r)), pairs, l, {update(1, {Strength::acq_rel, r})},
         {await(1, acq(r))});
      mp(fmt::format("atom rlx.{} acq", word(r)), pairs, l, {update(1, rlx(r))}, {await(1, acq(r))});
      mp(fmt::format("fence.acq_rel.{}, atom rlx", word(r)), pairs, l,
         {fence({Strength::acq_rel, r}), update(1, rlx(r))}, {await(1, acq(r))});
    }
    // A third thread counts in between: observation order goes through its update.
    for (const auto& [name, w, u] : {std::tuple{"rel.gpu, atom rlx.gpu", rel(Reach::gpu), rlx(Reach::gpu)},
                                     std::tuple{"rel.gpu, atom rlx.cta", rel(Reach::gpu), rlx(Reach::cta)},
                                     std::tuple{"rlx.gpu, atom rel.gpu", rlx(Reach::gpu), rel(Reach::gpu)}})
      add("MP+RMW", name, triples, l,
          {{write(0, weak), update(1, w)}, {update(1, u)}, {await(1, acq(Reach::gpu), 2), read(0, weak)}});
  }

  void message_passing_in_shared_memory() {
    for (const auto& [where, data, flag] :
         {std::tuple{"of A", shared, shared}, std::tuple{"of B", shared_far, shared_far},
          std::tuple{"of A, flag of B", shared, shared_far}}) {
      const bool is_far = flag.cta || data.cta;
      const std::vector<Placement> places = is_far ? std::vector{cluster} : in_cluster;
      const std::vector<Location> l{data, flag};
      const auto detail = [where = where](const std::string& s) { return fmt::format("shared {}: {}", where, s); };
      mp(detail("weak flag"), places, l, {write(1, weak)}, {await(1, weak)});
      for (const Reach r : {Reach::cta, Reach::cluster, Reach::gpu}) {
        mp(detail(fmt::format("rel.{} acq", word(r))), places, l, {write(1, rel(r))}, {await(1, acq(r))});
        mp(detail(fmt::format("rlx.{} rlx", word(r))), places, l, {write(1, rlx(r))}, {await(1, rlx(r))});
        mp(detail(fmt::format("fence.acq_rel.{} both", word(r))), places, l,
           {fence({Strength::acq_rel, r}), write(1, rlx(Reach::cluster))},
           {await(1, rlx(Reach::cluster)), fence({Strength::acq_rel, r})});
        mp(detail(fmt::format("atom rel.{} acq", word(r))), places, l, {update(1, rel(r))}, {await(1, acq(r))});
      }
    }
    mp("shared data, global flag: rel.gpu acq", in_cluster, {shared, global}, {write(1, rel(Reach::gpu))},
       {await(1, acq(Reach::gpu))});
    mp("global data, shared flag: rel.cluster acq", in_cluster, {global, shared}, {write(1, rel(Reach::cluster))},
       {await(1, acq(Reach::cluster))});
  }

  void message_passing_by_barriers() {
    for (const auto& [where, data] : {std::pair{"global", global}, std::pair{"shared", shared}}) {
      const auto& places = data.space == Space::global ? pairs : in_cluster;
      const std::vector<Location> l{data};
      const auto barrier = [&, where = where](const std::string& name, const Events& a, const Events& b) {
        mp(fmt::format("{}: {}", where, name), places, l, a, b);
      };
      barrier("nothing", {}, {});
      barrier("bar.sync", {simple(Act::meet)}, {simple(Act::meet)});
      barrier("bar.warp.sync", {simple(Act::meet_warp)}, {simple(Act::meet_warp)});
      for (const Strength s : {Strength::release, Strength::relaxed}) {
        const std::string name = s == Strength::release ? "release" : "relaxed";
        const Events cross{cluster_arrive(s), simple(Act::cluster_wait)};
        barrier("barrier.cluster " + name, cross, cross);
        for (const Reach r : {Reach::cta, Reach::cluster}) {
          const Events fenced = Events{fence({Strength::acq_rel, r})} + cross;
          barrier(fmt::format("fence.acq_rel.{}, barrier.cluster {}", word(r), name), fenced, fenced);
        }
      }
      const Events late{cluster_arrive(Strength::release), write(0, weak, 2), simple(Act::cluster_wait)};
      barrier("written after barrier.cluster.arrive", late,
              {cluster_arrive(Strength::release), simple(Act::cluster_wait)});
      barrier("read before barrier.cluster.wait", {cluster_arrive(Strength::release), simple(Act::cluster_wait)},
              {cluster_arrive(Strength::release), read(0, weak), simple(Act::cluster_wait)});
      barrier("bar.sync in the CTA, then a flag of it", {simple(Act::meet)}, {simple(Act::meet), read(0, weak)});
    }
  }

  void message_passing_by_mbarriers() {
    for (const Placement& p : in_cluster) {
      const bool is_far = p.is_one_cluster;
      const Location signal = is_far ? bar_far : bar;
      for (const auto& [where, data] : {std::pair{"shared", is_far ? shared_far : shared}, std::pair{"global", global}})
        for (const Side& a : {rel(Reach::cta), rel(Reach::cluster), rlx(Reach::cta), rlx(Reach::cluster)})
          for (const Side& w : {acq(Reach::cta), acq(Reach::cluster), rlx(Reach::cluster)}) {
            const std::string detail = fmt::format("{}, mbarrier: {} {}", where, word(a), word(w));
            mp(detail, {p}, {data, signal}, {update(1, a)}, {await(1, w)});
            if (a.strength == Strength::relaxed)
              mp("fence.acq_rel.cluster, " + detail, {p}, {data, signal},
                 {fence({Strength::acq_rel, Reach::cluster}), update(1, a)}, {await(1, w)});
          }
    }
    mp("shared, mbarrier: waited for too late", in_cta, {shared, bar}, {update(1, rel(Reach::cta))}, {});
    mp("shared, mbarrier: arrived too early", in_cta, {shared, bar}, {update(1, rel(Reach::cta)), write(0, weak, 2)},
       {await(1, acq(Reach::cta))});
    for (const int complete : {1, 0})
      mp(fmt::format("shared, mbarrier: read if a peek finds it {}", complete ? "complete" : "incomplete"), in_cta,
         {shared, bar}, {update(1, rel(Reach::cta))}, {only_if(1, acq(Reach::cta), complete)});
    add("MP", "two arrive on one mbarrier", {triples[0]}, {shared, shared, bar},
        {{write(0, weak), update(2, rel(Reach::cta))},
         {write(1, weak), update(2, rel(Reach::cta))},
         {await(2, acq(Reach::cta)), read(0, weak), read(1, weak)}});
    add("MP", "two arrive on one mbarrier, one relaxed", {triples[0]}, {shared, shared, bar},
        {{write(0, weak), update(2, rel(Reach::cta))},
         {write(1, weak), update(2, rlx(Reach::cta))},
         {await(2, acq(Reach::cta)), read(0, weak), read(1, weak)}});
  }

  // A copies into shared memory, B reads it. Location 0 is shared, 1 the global source.
  void asynchronous_loads() {
    const std::vector<Location> l{shared, global, bar};
    const Side arrive = rel(Reach::cta), wait = acq(Reach::cta);
    const Event bulk = copy(Act::load_bulk, 0, 1, 2), plain = copy(Act::load_async, 0, 1);
    const auto load = [&](const std::string& name, const Events& a, const Events& b) {
      add("MP", name, in_cta, l, {a, b});
    };
    load("bulk load: waited for", {bulk}, {await(2, wait), read(0, weak)});
    load("bulk load: waited for by A alone", {bulk, await(2, wait)}, {read(0, weak)});
    load("bulk load: A waits, bar.sync", {bulk, await(2, wait), simple(Act::meet)}, {simple(Act::meet), read(0, weak)});
    load("bulk load: bar.sync, not waited for", {bulk, simple(Act::meet), await(2, wait)},
         {simple(Act::meet), read(0, weak)});
    load("bulk load: relaxed wait", {bulk, await(2, wait)}, {await(2, rlx(Reach::cta)), read(0, weak)});
    load("bulk load: overwritten while it writes", {bulk, await(2, wait)}, {write(0, weak)});
    load("bulk load: overwritten when it is done", {bulk}, {await(2, wait), write(0, weak)});
    load("bulk load: source overwritten while it reads", {bulk, await(2, wait)}, {write(1, weak)});
    load("bulk load: source overwritten when it is done", {bulk}, {await(2, wait), write(1, weak)});
    load("bulk load: another thread's store, waited for", {bulk, await(2, wait)},
         {write(1, weak), await(2, wait), read(0, weak)});
    load("cp.async: wait, bar.sync", {plain, simple(Act::loads_done), simple(Act::meet)},
         {simple(Act::meet), read(0, weak)});
    load("cp.async: bar.sync, wait", {plain, simple(Act::meet), simple(Act::loads_done)},
         {simple(Act::meet), read(0, weak)});
    load("cp.async: wait, not met", {plain, simple(Act::loads_done)}, {read(0, weak)});
    load("cp.async: overwritten by its thread", {plain, write(0, weak), simple(Act::loads_done), simple(Act::meet)},
         {simple(Act::meet), read(0, weak)});
    load("cp.async: arrives on an mbarrier", {plain, copy(Act::loads_arrive, -1, -1, 2)},
         {await(2, wait), read(0, weak)});
    load("cp.async: another arrival on the mbarrier", {plain, update(2, arrive), simple(Act::loads_done)},
         {await(2, wait), read(0, weak)});
    load("cp.async: source written by B before bar.sync", {simple(Act::meet), plain, simple(Act::loads_done)},
         {write(1, weak), simple(Act::meet)});
    load("cp.async: source written by B after bar.sync", {plain, simple(Act::meet), simple(Act::loads_done)},
         {simple(Act::meet), write(1, weak)});
  }

  // A writes, B copies what it wrote (location 0) to location 1; or B reads, A overwrites by a copy.
  void proxies() {
    const Side arrive = rel(Reach::cta), wait = acq(Reach::cta);
    struct Signal {
      std::string name;
      Event a, b;
    };
    const std::vector<Signal> signals{{"bar.sync", simple(Act::meet), simple(Act::meet)},
                                      {"mbarrier", update(2, arrive), await(2, wait)},
                                      {"flag", write(3, rel(Reach::cta)), await(3, acq(Reach::cta))}};
    const auto fenced = [](bool is_there, Space s) { return is_there ? Events{proxy_fence(s)} : Events{}; };
    for (const Signal& s : signals)
      for (const auto& [where, first, second] :
           {std::tuple{"no proxy fence", false, false}, std::tuple{"proxy fence by A", true, false},
            std::tuple{"proxy fence by B", false, true}})
        for (const auto& [name, space] : {std::pair{"", Space::any}, std::pair{" of shared", Space::shared},
                                          std::pair{" of global", Space::global}}) {
          if (!first && !second && space != Space::any) continue;
          const std::string detail = fmt::format("{}, {}{}", s.name, where, name);
          const Events publish = fenced(first, space) + Events{s.a}, acquire = Events{s.b} + fenced(second, space);
          add("MP", "bulk store of a store: " + detail, in_cta, {shared, global, bar, shared},
              {Events{write(0, weak)} + publish,
               acquire + Events{copy(Act::store_bulk, 1, 0), simple(Act::stores_done)}});
          add("MP", "bulk load of a store: " + detail, in_cta, {global, shared, bar, shared, bar},
              {Events{write(0, weak)} + publish, acquire + Events{copy(Act::load_bulk, 1, 0, 4), await(4, wait)}});
          add("WAR", "bulk load over a read: " + detail, in_cta, {shared, global, bar, shared, bar},
              {Events{read(0, weak)} + publish, acquire + Events{copy(Act::load_bulk, 0, 1, 4), await(4, wait)}});
        }
    // The store's own thread.
    const std::vector<Location> l{shared, global, bar};
    const Events stored{copy(Act::store_bulk, 1, 0)};
    add("MP", "bulk store: proxy fence before the write", in_cta, l,
        {{proxy_fence(), write(0, weak), simple(Act::meet)},
         Events{simple(Act::meet)} + stored + Events{simple(Act::stores_done)}});
    add("MP", "bulk store: read when it is complete", in_cta, l,
        {stored + Events{simple(Act::stores_done), simple(Act::meet)}, {simple(Act::meet), read(1, weak)}});
    add("MP", "bulk store: read when its source is read", in_cta, l,
        {stored + Events{simple(Act::stores_read), simple(Act::meet), simple(Act::stores_done)},
         {simple(Act::meet), read(1, weak)}});
    add("MP", "bulk store: source overwritten when it is read", in_cta, l,
        {stored + Events{simple(Act::stores_read), simple(Act::meet), simple(Act::stores_done)},
         {simple(Act::meet), write(0, weak)}});
    add("MP", "bulk store: source overwritten before that", in_cta, l,
        {stored + Events{simple(Act::meet), simple(Act::stores_done)}, {simple(Act::meet), write(0, weak)}});
    add("MP", "bulk store: flag when it is complete", pairs, {shared, global, global},
        {stored + Events{simple(Act::stores_done), write(2, rel(Reach::gpu))},
         {await(2, acq(Reach::gpu)), read(1, weak)}});
    add("MP", "bulk store: flag when its source is read", pairs, {shared, global, global},
        {stored + Events{simple(Act::stores_read), write(2, rel(Reach::gpu)), simple(Act::stores_done)},
         {await(2, acq(Reach::gpu)), read(1, weak)}});
  }

  // One location, no synchronisation: do the accesses race with one another?
  void coherence() {
    for (const auto& [where, x] : {std::pair{"global", global}, std::pair{"shared", shared}}) {
      const auto& places = x.space == Space::global ? pairs : in_cluster;
      const auto one = [&, where = where, x = x](const std::string& shape, const std::string& detail, const Events& a,
                                                 const Events& b) {
        add(shape, fmt::format("{}: {}", where, detail), places, {x}, {a, b});
      };
      std::vector<Side> sides{weak};
      for (const Reach r : reaches) sides.push_back(rlx(r));
      for (const Side& s : sides) {
        one("CoRR", word(s), {write(0, s)}, {read(0, s), read(0, s)});
        one("CoWW", word(s), {write(0, s), write(0, s, 2)}, {write(0, s, 3)});
        one("CoRW", word(s), {read(0, s), write(0, s)}, {write(0, s, 2)});
        one("CoWR", word(s), {write(0, s), read(0, s)}, {write(0, s, 2)});
      }
      for (const Reach r : {Reach::cta, Reach::gpu}) {
        one("CoRR", fmt::format("one read weak, others rlx.{}", word(r)), {write(0, rlx(r))},
            {read(0, rlx(r)), read(0, weak)});
        one("CoWW", fmt::format("atom and rlx.{}", word(r)), {update(0, rlx(r))}, {write(0, rlx(r), 2)});
        one("CoWW", fmt::format("atoms rlx.{}", word(r)), {update(0, rlx(r)), update(0, rlx(r))}, {update(0, rlx(r))});
        one("CoWR", fmt::format("atom rlx.{} and a weak read", word(r)), {update(0, rlx(r))}, {read(0, weak)});
      }
      one("CoWR", "rel.gpu and acq.cta", {write(0, rel(Reach::gpu))}, {read(0, acq(Reach::cta))});
      one("CoRR", "reads alone", {read(0, weak)}, {read(0, weak), read(0, weak)});
    }
  }

  void two_locations() {
    for (const auto& [where, x] : {std::pair{"global", global}, std::pair{"shared", shared}}) {
      const auto& places = x.space == Space::global ? pairs : in_cluster;
      const auto two = [&, where = where, x = x](const std::string& shape, const std::string& detail, const Events& a,
                                                 const Events& b) {
        add(shape, fmt::format("{}: {}", where, detail), places, {x, x}, {a, b});
      };
      std::vector<Side> sides{weak};
      for (const Reach r : {Reach::cta, Reach::cluster, Reach::gpu}) sides.push_back(rlx(r));
      for (const Side& s : sides) {
        two("SB", word(s), {write(0, s), read(1, s)}, {write(1, s), read(0, s)});
        two("LB", word(s), {read(0, s), write(1, s)}, {read(1, s), write(0, s)});
        two("S", word(s), {write(0, s, 2), write(1, s)}, {read(1, s), write(0, s)});
        two("R", word(s), {write(0, s), write(1, s)}, {write(1, s, 2), read(0, s)});
        two("2+2W", word(s), {write(0, s), write(1, s, 2)}, {write(1, s), write(0, s, 2)});
      }
      const Side sc{Strength::sc, Reach::gpu};
      two("SB", "weak, fence.sc.gpu", {write(0, weak), fence(sc), read(1, weak)},
          {write(1, weak), fence(sc), read(0, weak)});
      two("S", "rel.gpu acq.gpu, the other weak", {write(0, weak, 2), write(1, rel(Reach::gpu))},
          {await(1, acq(Reach::gpu)), write(0, weak)});
      two("R", "rlx.gpu, the other weak", {write(0, weak), write(1, rlx(Reach::gpu))},
          {write(1, rlx(Reach::gpu), 2), read(0, weak)});
      two("LB", "acq.gpu rel.gpu", {read(0, acq(Reach::gpu)), write(1, rel(Reach::gpu))},
          {read(1, acq(Reach::gpu)), write(0, rel(Reach::gpu))});
    }
  }

  // WRC and ISA2: what one thread has learnt it hands on. Location 0 is the data.
  void chains() {
    const std::vector<Location> l{global, global, global};
    for (const Reach first : {Reach::cta, Reach::cluster, Reach::gpu})
      for (const Reach second : {Reach::cta, Reach::cluster, Reach::gpu})
        add("ISA2", fmt::format("rel.{}, then rel.{}", word(first), word(second)), triples, l,
            {{write(0, weak), write(1, rel(first))},
             {await(1, acq(first)), write(2, rel(second))},
             {await(2, acq(second)), read(0, weak)}});
    const Side gpu_fence{Strength::acq_rel, Reach::gpu};
    add("ISA2", "fences", triples, l,
        {{write(0, weak), fence(gpu_fence), write(1, rlx(Reach::gpu))},
         {await(1, rlx(Reach::gpu)), fence(gpu_fence), write(2, rlx(Reach::gpu))},
         {await(2, rlx(Reach::gpu)), fence(gpu_fence), read(0, weak)}});
    add("ISA2", "the second relaxed", triples, l,
        {{write(0, weak), write(1, rel(Reach::gpu))},
         {await(1, rlx(Reach::gpu)), write(2, rel(Reach::gpu))},
         {await(2, acq(Reach::gpu)), read(0, weak)}});
    add("ISA2", "the second hands on relaxed", triples, l,
        {{write(0, weak), write(1, rel(Reach::gpu))},
         {await(1, acq(Reach::gpu)), write(2, rlx(Reach::gpu))},
         {await(2, acq(Reach::gpu)), read(0, weak)}});
    add("WRC", "weak data, rel.gpu", triples, {global, global},
        {{write(0, weak)}, {read(0, weak), write(1, rel(Reach::gpu))}, {await(1, acq(Reach::gpu)), read(0, weak)}});
    for (const Reach r : {Reach::cta, Reach::cluster, Reach::gpu})
      add("WRC", fmt::format("all rlx.{}", word(r)), triples, {global, global},
          {{write(0, rlx(r))}, {await(0, rlx(r)), write(1, rel(r))}, {await(1, acq(r)), read(0, rlx(r))}});
  }

  void independent_reads() {
    for (const Side& s : {weak, rlx(Reach::cta), rlx(Reach::cluster), rlx(Reach::gpu)})
      add("IRIW", word(s), quadruples, {global, global},
          {{write(0, s)}, {write(1, s)}, {read(0, s), read(1, s)}, {read(1, s), read(0, s)}});
    add("IRIW", "acq.gpu", quadruples, {global, global},
        {{write(0, rel(Reach::gpu))},
         {write(1, rel(Reach::gpu))},
         {read(0, acq(Reach::gpu)), read(1, acq(Reach::gpu))},
         {read(1, acq(Reach::gpu)), read(0, acq(Reach::gpu))}});
  }

  // Observation order: what has been read by a strong read may be touched weakly afterwards.
  void ownership() {
    for (const Reach r : {Reach::cta, Reach::gpu}) {
      add("CoRR", fmt::format("global: weak read of what was observed rlx.{}", word(r)), pairs, {global},
          {{write(0, rlx(r))}, {await(0, rlx(r)), read(0, weak)}});
      add("CoRW", fmt::format("global: weak write over what was observed rlx.{}", word(r)), pairs, {global},
          {{write(0, rlx(r))}, {await(0, rlx(r)), write(0, weak, 2)}});
    }
  }

  // Who finds its flag unset writes the data: a race if both may find that. Sequentially consistent orders, which are
  // all that a simulation has, let only one.
  void weak_outcomes() {
    const Side gpu = rlx(Reach::gpu);
    const std::vector<Location> l{global, global, global};
    const auto dekker = [&](const std::string& name, const std::vector<Placement>& places, const Events& between) {
      add("SB", name, places, l,
          {Events{write(0, gpu)} + between + Events{only_if(1, gpu, 0), write(2, weak)},
           Events{write(1, gpu)} + between + Events{only_if(0, gpu, 0), write(2, weak, 2)}});
    };
    dekker("exclusion: fence.sc.gpu", pairs, {fence({Strength::sc, Reach::gpu})});
    dekker("exclusion: fence.sc.cta", {warp}, {fence({Strength::sc, Reach::cta})});
    dekker("exclusion: fence.acq_rel.gpu", {grid}, {fence({Strength::acq_rel, Reach::gpu})});
    dekker("exclusion: rlx", {grid}, {});
    const auto readers = [&](const std::string& name, const std::vector<Placement>& places, const Events& between) {
      const Side acquire = acq(Reach::gpu);
      add("IRIW", name, places, l,
          {{write(0, gpu)},
           {write(1, gpu)},
           Events{only_if(0, acquire, 1)} + between + Events{only_if(1, acquire, 0), write(2, weak)},
           Events{only_if(1, acquire, 1)} + between + Events{only_if(0, acquire, 0), write(2, weak, 2)}});
    };
    readers("exclusion: fence.sc.gpu", quadruples, {fence({Strength::sc, Reach::gpu})});
    readers("exclusion: acq.gpu", {quadruples[1]}, {});
  }

  std::vector<FamilyTest> tests_{};
};

}  // namespace

std::vector<FamilyTest> family() { return Family().all(); }

}  // namespace kiln::test
