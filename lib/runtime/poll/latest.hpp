// SPDX-License-Identifier: BSD-3-Clause
// The newest version of a value that one thread publishes occasionally and one other thread reads.
// Neither waits for the other; the next version frees one that was never read.
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

  // Writer. Frees at most one older version.
  void publish(std::unique_ptr<const T> value) {
    const std::unique_ptr<const T> unseen(
        fresh_.exchange(value.release(), std::memory_order_acq_rel));
  }
  // Reader. Null before the first version; valid until the reader's next call.
  [[nodiscard]] const T* read() {
    if (const T* const fresh = fresh_.exchange(nullptr, std::memory_order_acq_rel))
      seen_.reset(fresh);
    return seen_.get();
  }

 private:
  std::atomic<const T*> fresh_{nullptr};  // not read yet; owned by the thread that exchanges it out
  std::unique_ptr<const T> seen_;         // owned by the reader
};

}  // namespace plnet::runtime
