#include "timing/mixes.hpp"

#include <algorithm>
#include <cmath>

namespace kiln::timing {
namespace {

constexpr double alike_enough = 0.005;  // of what the longest does: a cluster is as good as a mix
constexpr double holds = 0.01;          // of its time: so far a mix may be off
constexpr int checks = 2;               // that must hold, one after the other
constexpr std::size_t few_rows = 16;    // so few all run

double size_of(const std::vector<double>& v) {
  double sum = 0;
  for (const double x : v) sum += std::abs(x);
  return sum;
}

double product(const std::vector<double>& x, const std::vector<double>& y) {
  double sum = 0;
  for (std::size_t k = 0; k < x.size(); ++k) sum += x[k] * y[k];
  return sum;
}

// Columns that are multiples of each other say the same: of these one remains, as large as all of them.
std::vector<std::vector<double>> merged(const std::vector<std::vector<double>>& rows) {
  std::map<std::vector<double>, double> columns;  // scaled to 1, and their size
  for (std::size_t c = 0; c < rows.front().size(); ++c) {
    std::vector<double> column;
    double largest = 0;
    for (const auto& row : rows) column.push_back(row[c]), largest = std::max(largest, row[c]);
    if (largest == 0) continue;
    for (double& x : column) x = double(float(x / largest));
    columns[column] += largest;
  }
  std::vector<std::vector<double>> out(rows.size());
  for (const auto& [column, size] : columns)
    for (std::size_t r = 0; r < rows.size(); ++r) out[r].push_back(column[r] * size);
  return out;
}

// Solves a symmetric system that is positive.
std::vector<double> solved(std::vector<std::vector<double>> a, std::vector<double> b) {
  const std::size_t n = b.size();
  for (std::size_t k = 0; k < n; ++k)
    for (std::size_t r = k + 1; r < n; ++r) {
      const double f = a[r][k] / a[k][k];
      for (std::size_t c = k; c < n; ++c) a[r][c] -= f * a[k][c];
      b[r] -= f * b[k];
    }
  for (std::size_t k = n; k-- > 0;) {
    for (std::size_t c = k + 1; c < n; ++c) b[k] -= a[k][c] * b[c];
    b[k] /= a[k][k];
  }
  return b;
}

}  // namespace

Mixes::Mixes(const Tallies& tallies, std::size_t most, bool checked)
    : tallies_(tallies), most_(most), checked_(checked) {
  std::map<Vector, std::size_t> known;
  const std::vector<Vector> rows = merged(tallies.rows);
  for (std::size_t k = 0; k < rows.size(); ++k) {
    const auto [at, is_new] = known.insert({rows[k], left_.size()});
    if (is_new) {
      left_.push_back(rows[k]), places_.push_back(tallies.places[k]), count_.push_back(0);
      longest_ = std::max(longest_, size_of(rows[k]));
    }
    ++count_[at->second], rows_[tallies.places[k]] = at->second;
  }
  coordinates_.resize(left_.size());
}

bool Mixes::has_run(std::size_t row) const { return std::find(ran_.begin(), ran_.end(), row) != ran_.end(); }

// Of those that have not run.
std::optional<std::size_t> Mixes::least_alike() const {
  std::optional<std::size_t> best;
  double most = -1;
  for (std::size_t r = 0; r < left_.size(); ++r)
    if (const double size = size_of(left_[r]); size > most && !has_run(r)) best = r, most = size;
  return best;
}

std::optional<std::uint32_t> Mixes::next() const {
  if (ran_.empty()) return places_.front();
  const std::optional<std::size_t> other = least_alike();
  if (!other) return std::nullopt;
  const bool runs_all = checked_ && left_.size() <= few_rows;
  if (runs_all) return places_[*other];
  if (ran_.size() < most_ && size_of(left_[*other]) > alike_enough * longest_) return places_[*other];
  if (!checked_ || held_ >= checks || ran_.size() >= 2 * most_) return std::nullopt;
  // The longest, which decides how long the grid takes, then the one that is least alike.
  std::size_t longest = *other;
  if (held_ == 0)
    for (std::size_t r = 0; r < left_.size(); ++r)
      if (!has_run(r) && cycles_of(r) > cycles_of(longest)) longest = r;
  return places_[longest];
}

void Mixes::add(std::uint32_t place, const Work& work) {
  const auto found = rows_.find(place);
  if (found == rows_.end() || has_run(found->second)) return;
  const std::size_t row = found->second;
  const double size = size_of(left_[row]);
  const bool is_mix = !ran_.empty() && size <= alike_enough * longest_;
  if (is_mix) {
    const bool held = std::abs(cycles_of(row) - work.cycles) <= holds * work.cycles;
    held_ = held ? held_ + 1 : 0;
  }
  ran_.push_back(row), at_.push_back(place), works_.push_back(work);
  if (is_mix) return;
  // A direction more.
  Vector direction = left_[row];
  const double length = std::sqrt(product(direction, direction));
  for (double& x : direction) x /= length;
  for (std::size_t r = 0; r < left_.size(); ++r) {
    const double along = product(left_[r], direction);
    coordinates_[r].push_back(along);
    for (std::size_t k = 0; k < direction.size(); ++k) left_[r][k] -= along * direction[k];
  }
}

// Of those that ran, by least squares: how much of each makes that.
Mixes::Vector Mixes::shares(const Vector& wanted) const {
  const std::size_t n = wanted.size();
  std::vector<Vector> a(n, Vector(n));
  double size = 0;
  for (const std::size_t r : ran_)
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < n; ++j) a[i][j] += coordinates_[r][i] * coordinates_[r][j];
  for (std::size_t i = 0; i < n; ++i) size = std::max(size, a[i][i]);
  for (std::size_t i = 0; i < n; ++i) a[i][i] += 1e-12 * size;
  const Vector y = solved(std::move(a), wanted);
  Vector out;
  for (const std::size_t r : ran_) out.push_back(product(coordinates_[r], y));
  return out;
}

double Mixes::cycles_of(std::size_t row) const { return of(places_[row]).cycles; }

Work Mixes::sum(const Vector& shares) const {
  Work out;
  for (std::size_t k = 0; k < shares.size(); ++k) {
    out.cycles += shares[k] * works_[k].cycles, out.tensor += shares[k] * works_[k].tensor;
    out.operations += shares[k] * works_[k].operations, out.loaded += shares[k] * works_[k].loaded;
  }
  return out;
}

Work Mixes::of(std::uint32_t place) const {
  const std::size_t row = row_of(place);
  for (std::size_t k = 0; k < ran_.size(); ++k)
    if (ran_[k] == row) return works_[k];
  Work out = sum(shares(coordinates_[row]));
  double least = works_.front().cycles;  // no cluster takes less than the shortest that was seen, but for its part
  for (const Work& w : works_) least = std::min(least, w.cycles);
  out.cycles = std::max(out.cycles, least);
  for (double* x : {&out.tensor, &out.operations, &out.loaded}) *x = std::max(0.0, *x);
  return out;
}

Mixes::Vector Mixes::mean_shares() const {
  const double all = double(tallies_.places.size());
  Vector out(ran_.size()), sum(coordinates_.front().size());
  for (std::size_t r = 0; r < left_.size(); ++r) {
    const auto found = std::find(ran_.begin(), ran_.end(), r);
    if (found != ran_.end())
      out[std::size_t(found - ran_.begin())] += count_[r] / all;
    else
      for (std::size_t k = 0; k < sum.size(); ++k) sum[k] += coordinates_[r][k] * count_[r] / all;
  }
  const Vector others = shares(sum);
  for (std::size_t k = 0; k < out.size(); ++k) out[k] += others[k];
  return out;
}

std::map<std::uint32_t, double> Mixes::mean() const {
  const Vector shares = mean_shares();
  std::map<std::uint32_t, double> out;
  for (std::size_t k = 0; k < shares.size(); ++k) out[at_[k]] = shares[k];
  return out;
}

Work Mixes::mean_work() const { return sum(mean_shares()); }

double Mixes::multiplying() const {
  double sum = 0;
  for (const bool m : tallies_.multiplies) sum += m;
  return sum / double(tallies_.multiplies.size());
}

}  // namespace kiln::timing
