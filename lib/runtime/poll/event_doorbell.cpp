// SPDX-License-Identifier: BSD-3-Clause
#include "lib/runtime/poll/event_doorbell.hpp"

#include <cerrno>
#include <cstdint>

#include <linux/membarrier.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lib/base/check.hpp"

namespace plnet::runtime {

namespace {

#if defined(__SANITIZE_THREAD__)
constexpr bool kThreadSanitizer = true;
#elif defined(__has_feature)
constexpr bool kThreadSanitizer = __has_feature(thread_sanitizer);
#else
constexpr bool kThreadSanitizer = false;
#endif

long membarrier(int command) {
  return ::syscall(SYS_membarrier, command, 0U, 0);
}

// Registers this process for such fences. Registering again changes nothing, so every doorbell does
// it. Kernels before 4.14 and some container policies refuse; then each side fences.
Doorbell::FencedBy fences() {
  if (kThreadSanitizer) return Doorbell::FencedBy::kEachSide;  // it does not know membarrier
  return membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) == 0 ? Doorbell::FencedBy::kSleeper
                                                                    : Doorbell::FencedBy::kEachSide;
}

}  // namespace

EventDoorbell::EventDoorbell()
    : Doorbell(fences()), descriptor_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {}

EventDoorbell::~EventDoorbell() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

Outcome<void> EventDoorbell::ready() const {
  if (descriptor_ >= 0) return {};
  return failure(Errc::kNoMemory,
                 "doorbell: no eventfd; the limit on open files (ulimit -n) is probably reached");
}

void EventDoorbell::clear() {
  std::uint64_t rings = 0;
  const ssize_t size = ::read(descriptor_, &rings, sizeof rings);
  PLNET_CHECK(size == sizeof rings || errno == EAGAIN, "an eventfd is read whole or is empty");
}

void EventDoorbell::wake() {
  const std::uint64_t one = 1;
  // EAGAIN: 2^64 - 2 rings are pending, so the sleeper wakes anyway.
  const ssize_t size = ::write(descriptor_, &one, sizeof one);
  PLNET_CHECK(size == sizeof one || errno == EAGAIN, "an eventfd accepts every ring");
}

// Interrupts each CPU that runs a thread of this process; a thread that does not run passed a fence
// when it was switched out. Costs the sleeper microseconds (16 on a virtual machine). The kernel
// allocates a CPU mask for it, so it may fail after registration (ENOMEM).
bool EventDoorbell::heavy_fence() {
  return membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED) == 0;
}

}  // namespace plnet::runtime
