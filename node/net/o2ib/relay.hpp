// SPDX-License-Identifier: BSD-3-Clause
// Events of queue pairs for an LND that is made after them. An interface is usable if both its
// device and its link are up.
#pragma once

#include "lib/o2iblnd/verbs_relay.hpp"

namespace plnet::node {

class O2ibRelay final : public o2iblnd::VerbsEvents {
 public:
  void attach(o2iblnd::VerbsEvents& user) {
    user_ = &user;
    relay_.attach(user);
  }
  void set_link(bool up) {
    link_up_ = up;
    tell();
  }

  void on_completions(std::span<const o2iblnd::WorkCompletion> burst) override {
    relay_.on_completions(burst);
  }
  void on_connect_request(o2iblnd::QueuePairId request, const o2iblnd::Ipv4Endpoint& from,
                          const o2iblnd::Ipv4Endpoint& to,
                          std::span<const std::byte> data) override {
    relay_.on_connect_request(request, from, to, data);
  }
  void on_established(o2iblnd::QueuePairId pair, std::span<const std::byte> data) override {
    relay_.on_established(pair, data);
  }
  void on_rejected(o2iblnd::QueuePairId pair, o2iblnd::RejectKind kind,
                   std::span<const std::byte> data) override {
    relay_.on_rejected(pair, kind, data);
  }
  void on_disconnected(o2iblnd::QueuePairId pair, Errc cause) override {
    relay_.on_disconnected(pair, cause);
  }
  void on_drained(o2iblnd::QueuePairId pair) override { relay_.on_drained(pair); }
  void on_device(bool usable, Errc cause) override {
    device_usable_ = usable;
    cause_ = cause;
    tell();
  }

 private:
  void tell() {
    if (user_ != nullptr) user_->on_device(device_usable_ && link_up_, cause_);
  }

  o2iblnd::VerbsRelay relay_;
  o2iblnd::VerbsEvents* user_ = nullptr;
  bool device_usable_ = true;
  bool link_up_ = true;
  Errc cause_ = Errc::kNetworkDown;
};

}  // namespace plnet::node
