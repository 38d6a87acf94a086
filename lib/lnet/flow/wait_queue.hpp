// SPDX-License-Identifier: BSD-3-Clause
// Messages of one kind that wait for the same thing, in the order in which they came.
#pragma once

#include <utility>

#include "lib/base/check.hpp"
#include "lib/base/intrusive_list.hpp"
#include "lib/lnet/flow/parcel.hpp"

namespace plnet::lnet {

// T: Message or Receive. unlink() removes a message at any position.
template <class T>
class WaitQueue {
 public:
  [[nodiscard]] bool empty() const { return list_.empty(); }
  [[nodiscard]] T* front() { return static_cast<T*>(list_.front()); }
  [[nodiscard]] const T* front() const { return static_cast<const T*>(list_.front()); }

  void push_back(T& waiting) { list_.push_back(waiting); }
  // Null: the queue is empty.
  T* pop_front() { return static_cast<T*>(list_.pop_front()); }
  // Appends all messages of `other` in their order.
  void take_all(WaitQueue& other) {
    PLNET_CHECK(&other != this, "messages move to another queue");
    list_.splice_back(other.list_);
  }

  // The visit may remove the visited message from the queue, and no other.
  template <class Visit>
  void for_each(Visit&& visit) {
    list_.for_each([&](Parcel& parcel) { visit(static_cast<T&>(parcel)); });
  }

 private:
  IntrusiveList<Parcel> list_;
};

}  // namespace plnet::lnet
