// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/net/fault/verbs.hpp"

#include <algorithm>

namespace plnet::drivers {

using o2iblnd::Ipv4Endpoint;
using o2iblnd::QueuePairId;
using o2iblnd::WorkCompletion;

unsigned FaultVerbsDriver::poll(Instant now) {
  now_ = now;
  unsigned work = 0;
  if (stalled_until_ != Instant::min() && now >= stalled_until_) {
    stalled_until_ = Instant::min();
    ++work;  // another turn: a refused caller may have asked before this poll
  }
  while (count_ > 0 && now >= held_[first_].due) {
    const WorkCompletion completion = held_[first_].completion;
    first_ = (first_ + 1) % kHeldWorkMax;
    --count_;
    up_.on_completions({&completion, 1});
    ++work;
  }
  return work;
}

Instant FaultVerbsDriver::next_deadline() const {
  const Instant held = count_ > 0 ? held_[first_].due : Instant::max();
  // Nothing else may wake refused callers: no completion is due for a request that was not posted.
  return stalled_until_ == Instant::min() ? held : std::min(held, stalled_until_);
}

bool FaultVerbsDriver::post_chain(QueuePairId queue_pair,
                                  std::span<const o2iblnd::WorkRequest> chain) {
  if (now_ < stalled_until_) return false;
  const FaultRule* const rule = judge_.draw(Direction::kTx, {.stream = queue_pair.index}, now_);
  if (rule == nullptr) return lower_->post_chain(queue_pair, chain);
  if (rule->fault == Fault::kStall) {
    stalled_until_ = now_ + rule->delay;
    return false;
  }
  // Reset: the chain is posted and flushed, as when the link breaks.
  const bool posted = lower_->post_chain(queue_pair, chain);
  lower_->to_error(queue_pair);
  return posted;
}

void FaultVerbsDriver::push(const WorkCompletion& completion, Instant due) {
  PLNET_CHECK(count_ < kHeldWorkMax, "the caller has made room");
  held_[(first_ + count_) % kHeldWorkMax] = {completion, due};
  ++count_;
}

// In order: behind held completions, or at once.
void FaultVerbsDriver::deliver(WorkCompletion completion) {
  if (count_ == kHeldWorkMax) deliver_all_held();
  if (count_ > 0) return push(completion, now_);
  up_.on_completions({&completion, 1});
}

void FaultVerbsDriver::deliver_all_held() {
  while (count_ > 0) {
    const WorkCompletion completion = held_[first_].completion;
    first_ = (first_ + 1) % kHeldWorkMax;
    --count_;
    up_.on_completions({&completion, 1});
  }
}

void FaultVerbsDriver::on_completions(std::span<const WorkCompletion> burst) {
  for (WorkCompletion completion : burst) {
    // Completions that the real driver had before the failure; behind a failure none succeeds.
    if (failed(completion.queue_pair) && completion.status)
      completion.status = std::unexpected(Errc::kAborted);
    // A flushed request belongs to a connection that has broken already.
    const FaultRule* const rule =
        completion.status
            ? judge_.draw(Direction::kRx, {.stream = completion.queue_pair.index}, now_)
            : nullptr;
    if (rule == nullptr) {
      deliver(completion);
      continue;
    }
    switch (rule->fault) {
      case Fault::kDelay:
        if (count_ == kHeldWorkMax) deliver_all_held();
        push(completion, now_ + rule->delay);
        break;
      case Fault::kFail:
        if (failed_count_ == kFailedPairsMax) {
          judge_.skip(*rule);
          deliver(completion);
          break;
        }
        failed_[failed_count_++] = completion.queue_pair;
        completion.status = std::unexpected(rule->error);
        lower_->to_error(completion.queue_pair);
        deliver(completion);
        break;
      default:  // reset: this completion succeeded
        lower_->to_error(completion.queue_pair);
        deliver(completion);
        break;
    }
  }
}

bool FaultVerbsDriver::failed(QueuePairId queue_pair) const {
  const auto known = std::span(failed_).first(failed_count_);
  return std::ranges::find(known, queue_pair) != known.end();
}

// The end of a queue pair must not overtake its completions.
void FaultVerbsDriver::on_disconnected(QueuePairId queue_pair, Errc cause) {
  deliver_all_held();
  up_.on_disconnected(queue_pair, cause);
}

void FaultVerbsDriver::on_drained(QueuePairId queue_pair) {
  deliver_all_held();
  const std::span<QueuePairId> known = std::span(failed_).first(failed_count_);
  if (const auto found = std::ranges::find(known, queue_pair); found != known.end())
    *found = failed_[--failed_count_];
  up_.on_drained(queue_pair);
}

void FaultVerbsDriver::on_device(bool usable, Errc cause) {
  up_.on_device(usable, cause);
}

void FaultVerbsDriver::on_connect_request(QueuePairId request, const Ipv4Endpoint& from,
                                          const Ipv4Endpoint& to, std::span<const std::byte> data) {
  up_.on_connect_request(request, from, to, data);
}

void FaultVerbsDriver::on_established(QueuePairId queue_pair,
                                      std::span<const std::byte> accept_data) {
  up_.on_established(queue_pair, accept_data);
}

void FaultVerbsDriver::on_rejected(QueuePairId queue_pair, o2iblnd::RejectKind kind,
                                   std::span<const std::byte> data) {
  deliver_all_held();
  up_.on_rejected(queue_pair, kind, data);
}

std::size_t FaultVerbsDriver::post_receives(QueuePairId queue_pair,
                                            std::span<const o2iblnd::ReceiveRequest> burst) {
  return lower_->post_receives(queue_pair, burst);
}

Result<QueuePairId> FaultVerbsDriver::connect(const Ipv4Endpoint& local, const Ipv4Endpoint& remote,
                                              const o2iblnd::QueuePairSize& size,
                                              const o2iblnd::ConnectParameters& parameters,
                                              std::span<const std::byte> data) {
  return lower_->connect(local, remote, size, parameters, data);
}

Result<void> FaultVerbsDriver::listen(const Ipv4Endpoint& local) {
  return lower_->listen(local);
}
void FaultVerbsDriver::stop_listening(const Ipv4Endpoint& local) {
  lower_->stop_listening(local);
}

Result<void> FaultVerbsDriver::prepare(QueuePairId request, const o2iblnd::QueuePairSize& size) {
  return lower_->prepare(request, size);
}

Result<void> FaultVerbsDriver::accept(QueuePairId request,
                                      const o2iblnd::ConnectParameters& parameters,
                                      std::span<const std::byte> data) {
  return lower_->accept(request, parameters, data);
}

void FaultVerbsDriver::reject(QueuePairId request, std::span<const std::byte> data) {
  lower_->reject(request, data);
}

void FaultVerbsDriver::to_error(QueuePairId queue_pair) {
  lower_->to_error(queue_pair);
}

}  // namespace plnet::drivers
