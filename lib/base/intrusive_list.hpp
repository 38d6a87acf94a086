// SPDX-License-Identifier: BSD-3-Clause
// A doubly linked list through its elements: no allocation, and an element leaves in O(1) without
// knowing its list.
#pragma once

#include "lib/base/check.hpp"

namespace plnet {

// The base of elements of a list; an element is in at most one list per Tag. Copying an element
// does not copy its position.
template <class Tag = void>
class ListNode {
 public:
  ListNode() = default;
  ~ListNode() { PLNET_DEBUG_CHECK(!linked(), "destroyed while in a list"); }
  ListNode(const ListNode&) {}
  // NOLINTNEXTLINE(bugprone-unhandled-self-assignment): assigns nothing at all
  ListNode& operator=(const ListNode&) { return *this; }

  [[nodiscard]] bool linked() const { return next_ != nullptr; }
  void unlink() {
    PLNET_CHECK(linked(), "not in a list");
    previous_->next_ = next_;
    next_->previous_ = previous_;
    next_ = previous_ = nullptr;
  }

 private:
  template <class, class>
  friend class IntrusiveList;

  ListNode* next_ = nullptr;
  ListNode* previous_ = nullptr;
};

// Does not own its elements; they must not move while linked.
template <class T, class Tag = void>
class IntrusiveList {
 public:
  IntrusiveList() { head_.next_ = head_.previous_ = &head_; }
  ~IntrusiveList() {
    while (!empty())
      head_.next_->unlink();
    head_.next_ = head_.previous_ = nullptr;
  }
  IntrusiveList(const IntrusiveList&) = delete;
  IntrusiveList& operator=(const IntrusiveList&) = delete;

  [[nodiscard]] bool empty() const { return head_.next_ == &head_; }
  [[nodiscard]] T* front() { return empty() ? nullptr : element(head_.next_); }
  [[nodiscard]] const T* front() const { return empty() ? nullptr : element(head_.next_); }

  void push_back(T& object) { insert(object, *head_.previous_, head_); }
  void push_front(T& object) { insert(object, head_, *head_.next_); }
  // nullptr if empty.
  T* pop_front() {
    T* object = front();
    if (object != nullptr) node(*object).unlink();
    return object;
  }
  // Appends all elements of `other`, in order; O(1).
  void splice_back(IntrusiveList& other) {
    if (other.empty()) return;
    Node* first = other.head_.next_;
    Node* last = other.head_.previous_;
    first->previous_ = head_.previous_;
    head_.previous_->next_ = first;
    last->next_ = &head_;
    head_.previous_ = last;
    other.head_.next_ = other.head_.previous_ = &other.head_;
  }

  // The body may unlink the element that it is called with, no other.
  template <class Visit>
  void for_each(Visit&& visit) {
    for (Node* at = head_.next_; at != &head_;) {
      Node* next = at->next_;
      visit(*element(at));
      at = next;
    }
  }
  template <class Test>
  [[nodiscard]] bool any_of(Test&& test) const {
    for (const Node* at = head_.next_; at != &head_; at = at->next_) {
      if (test(static_cast<const T&>(*at))) return true;
    }
    return false;
  }

 private:
  using Node = ListNode<Tag>;

  static Node& node(T& object) { return object; }
  static T* element(Node* at) { return static_cast<T*>(at); }
  static void insert(T& object, Node& before, Node& after) {
    Node& at = node(object);
    PLNET_CHECK(!at.linked(), "already in a list");
    at.previous_ = &before;
    at.next_ = &after;
    before.next_ = &at;
    after.previous_ = &at;
  }

  Node head_;
};

}  // namespace plnet
