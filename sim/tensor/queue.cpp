#include "sim/tensor/queue.hpp"

namespace kiln::sim {

namespace {

void start_tensor_op(Cta& cta) {
  TensorQueue& q = cta.tensor;
  q.busy = true;
  Cta* self = &cta;
  cta.cluster->later(
      8, 120, q.waiting.front().operation,
      [self] {
        TensorQueue& queue = self->tensor;
        TensorOp op = std::move(queue.waiting.front());
        queue.waiting.pop_front();
        op.action();
        ++queue.completed;
        if (self->cluster->grid.observer) self->cluster->grid.observer->complete(op.id);
        queue.busy = false;
        for (std::size_t k = 0; k < queue.commits.size();) {
          if (queue.commits[k].after > queue.completed) {
            ++k;
            continue;
          }
          self->cluster->later(1, 40, queue.commits[k].operation, std::move(queue.commits[k].action),
                               queue.commits[k].name);
          queue.commits.erase(queue.commits.begin() + std::ptrdiff_t(k));
        }
        if (!queue.waiting.empty()) start_tensor_op(*self);
      },
      q.waiting.front().name);
}

}  // namespace

void issue_tensor_op(Cta& cta, TensorOp op) {
  TensorQueue& q = cta.tensor;
  q.last_of_thread[op.thread] = ++q.issued;
  op.name = cta.cluster->next_name();
  q.waiting.push_back(std::move(op));
  if (!q.busy) start_tensor_op(cta);
}

void issue_commit(Cta& cta, u32 thread, const ir::Operation* operation, std::function<void()> action) {
  TensorQueue& q = cta.tensor;
  const u64 after = q.last_of_thread[thread], name = cta.cluster->next_name();
  if (after <= q.completed)
    cta.cluster->later(1, 40, operation, std::move(action), name);
  else
    q.commits.push_back({after, operation, std::move(action), name});
}

}  // namespace kiln::sim
