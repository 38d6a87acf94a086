// SPDX-License-Identifier: BSD-3-Clause
#include "lib/socklnd/completions.hpp"

#include "lib/base/check.hpp"

namespace plnet::socklnd {

namespace {

// Transmit::lnd_state of a message that has ended; transmit_queue.hpp has the state before that.
constexpr unsigned kHealthShift = 8;
constexpr unsigned kFailedShift = 16;
constexpr unsigned kUnsentShift = 17;

}  // namespace

void Completions::end(lnet::Transmit& transmit, Result<void> status, Health health, Left left) {
  PLNET_DEBUG_CHECK(messages_ > 0, "only a lent message ends");
  PLNET_DEBUG_CHECK((transmit.lnd_state & kEnded) == 0, "a message ends once");
  if (!status) environment_.count(SockLndCounters::Id::kFailed);
  const auto failed = static_cast<std::uintptr_t>(!status);
  const auto unsent = static_cast<std::uintptr_t>(left == Left::kNothing);
  const auto code = status ? 0U : static_cast<unsigned>(status.error());
  transmit.lnd_state = kEnded | unsent << kUnsentShift | failed << kFailedShift |
                       static_cast<std::uintptr_t>(health) << kHealthShift | code;
  ended_.push(transmit);
}

void Completions::end_all(TransmitQueue& queue, Errc cause, Health health, Left left) {
  while (lnet::Transmit* const transmit = queue.pop())
    end(*transmit, std::unexpected(cause), health, left);
}

void Completions::report() {
  while (!ended_.empty()) {
    std::size_t count = 0;
    while (count < reported_.size() && !ended_.empty()) {
      lnet::Transmit* const transmit = ended_.pop();
      const std::uintptr_t how = transmit->lnd_state;
      PLNET_DEBUG_CHECK((how & kEnded) != 0, "only messages that have ended are reported");
      lnet::Completion& completion = reported_[count++];  // fields not set here keep their default
      completion.transmit = transmit;
      completion.health = static_cast<Health>(how >> kHealthShift & 0xff);
      completion.unsent = (how >> kUnsentShift & 1) != 0;
      completion.status = {};
      if ((how >> kFailedShift & 1) != 0) {
        completion.status = std::unexpected(static_cast<Errc>(how & 0xff));
      }
    }
    PLNET_CHECK(count <= messages_, "no message ends twice");
    messages_ -= count;
    environment_.core.on_sent(std::span(reported_).first(count));
  }
}

}  // namespace plnet::socklnd
