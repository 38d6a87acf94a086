// SPDX-License-Identifier: BSD-3-Clause
// The newest version of something that one thread makes now and then and one other reads. Neither
// waits for the other; a version that nobody looked at is freed by the next.
#pragma once

#include <atomic>
#include <memory>

namespace plnet::runtime {

template <class T>
class Latest {
 public:
  Latest() = default;
  ~Latest() { delete fresh_.load(std::memory_order_acquire); }
  Latest(const Latest&) = delete;
  Latest& operator=(const Latest&) = delete;

  // The writer. Frees at most one older version.
  void publish(std::unique_ptr<const T> value) {
    const std::unique_ptr<const T> unseen(
        fresh_.exchange(value.release(), std::memory_order_acq_rel));
  }
  // The reader. Null before the first; stays valid until the reader asks again.
  [[nodiscard]] const T* read() {
    if (const T* const fresh = fresh_.exchange(nullptr, std::memory_order_acq_rel))
      seen_.reset(fresh);
    return seen_.get();
  }

 private:
  std::atomic<const T*> fresh_{nullptr};  // not seen yet; belongs to whom takes it out
  std::unique_ptr<const T> seen_;         // the reader's
};

}  // namespace plnet::runtime
