// SPDX-License-Identifier: BSD-3-Clause
// A driver needs the receiver of its events, an LND needs its driver: the relay between them lets
// the driver be made first.
#pragma once

#include "lib/base/check.hpp"
#include "lib/o2iblnd/queue_pair.hpp"

namespace plnet::o2iblnd {

class VerbsRelay final : public VerbsEvents {
 public:
  void attach(VerbsEvents& user) {
    PLNET_CHECK(user_ == nullptr, "a driver has one user");
    user_ = &user;
  }

  void on_completions(std::span<const WorkCompletion> burst) override {
    user().on_completions(burst);
  }
  void on_connect_request(QueuePairId request, const Ipv4Endpoint& from, const Ipv4Endpoint& to,
                          std::span<const std::byte> data) override {
    user().on_connect_request(request, from, to, data);
  }
  void on_established(QueuePairId queue_pair, std::span<const std::byte> accept_data) override {
    user().on_established(queue_pair, accept_data);
  }
  void on_rejected(QueuePairId queue_pair, RejectKind kind,
                   std::span<const std::byte> data) override {
    user().on_rejected(queue_pair, kind, data);
  }
  void on_disconnected(QueuePairId queue_pair, Errc cause) override {
    user().on_disconnected(queue_pair, cause);
  }
  void on_drained(QueuePairId queue_pair) override { user().on_drained(queue_pair); }
  void on_device(bool usable, Errc cause) override {
    if (user_ != nullptr) user_->on_device(usable, cause);
  }

 private:
  [[nodiscard]] VerbsEvents& user() {
    PLNET_CHECK(user_ != nullptr, "a driver is polled after its user is attached");
    return *user_;
  }

  VerbsEvents* user_ = nullptr;
};

}  // namespace plnet::o2iblnd
