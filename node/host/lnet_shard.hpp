// SPDX-License-Identifier: BSD-3-Clause
// LNet's place on a poller: the start and end of a turn, and quiescence. Always in the poller's
// list; without a node it does nothing.
#pragma once

#include <algorithm>

#include "lib/lnet/node/node.hpp"
#include "lib/runtime/poll/poller.hpp"

namespace plnet::node {

class LnetShard final : public runtime::QuiescenceHook {
 public:
  explicit LnetShard(unsigned number) : opening_(*this), closing_(*this), number_(number) {}
  LnetShard(const LnetShard&) = delete;
  LnetShard& operator=(const LnetShard&) = delete;

  // On the shard's thread between turns, or on any thread before that one runs. Null: the node is
  // taken off.
  void set_node_owner(lnet::Node* node) {
    if (node == node_) return;  // an equal value is not written: other threads may read it
    if (node == nullptr) node_->offline(number_);
    node_ = node;
  }
  [[nodiscard]] lnet::Node* node_owner() const { return node_; }

  // opening() comes before all devices of the poller, closing() after them.
  [[nodiscard]] Pollable& opening() { return opening_; }
  [[nodiscard]] Pollable& closing() { return closing_; }

  void quiescent() override {
    if (node_ != nullptr) node_->quiescent(number_);
  }
  void online() override {
    if (node_ != nullptr) node_->online(number_);
  }
  void offline() override {
    if (node_ != nullptr) node_->offline(number_);
  }

 private:
  class Opening final : public Pollable {
   public:
    explicit Opening(LnetShard& place) : place_(place) {}
    unsigned poll(Instant now) override {
      if (place_.node_ != nullptr) place_.node_->shard(place_.number_).begin_turn(now);
      return 0;
    }
    [[nodiscard]] std::string_view name() const override { return "lnet turn"; }
    [[nodiscard]] bool woken_by_doorbell() const override { return true; }

   private:
    LnetShard& place_;
  };

  class Closing final : public Pollable {
   public:
    explicit Closing(LnetShard& place) : place_(place) {}
    unsigned poll(Instant now) override {
      lnet::Node* const node = place_.node_;
      if (node == nullptr) return 0;
      const unsigned work = node->shard(place_.number_).poll(now);
      return place_.number_ == 0 ? work + node->coordinate(now) : work;
    }
    [[nodiscard]] std::string_view name() const override { return "lnet"; }
    [[nodiscard]] bool woken_by_doorbell() const override { return true; }
    [[nodiscard]] Instant next_deadline() const override {
      lnet::Node* const node = place_.node_;
      if (node == nullptr) return Instant::max();
      const lnet::Shard& shard = node->shard(place_.number_);
      const Instant own = shard.next_deadline();
      if (place_.number_ != 0) return own;
      return std::min(own, node->next_coordination(shard.core().now));
    }

   private:
    LnetShard& place_;
  };

  Opening opening_;
  Closing closing_;
  const unsigned number_;
  lnet::Node* node_ = nullptr;
};

}  // namespace plnet::node
