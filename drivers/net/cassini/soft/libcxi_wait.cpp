// SPDX-License-Identifier: BSD-3-Clause
// libcxi's wait objects, each an eventfd.
#include <cerrno>
#include <memory>

#include <sys/eventfd.h>
#include <unistd.h>

#include "drivers/net/cassini/soft/libcxi_functions.hpp"
#include "drivers/net/cassini/soft/libcxi_objects.hpp"

namespace plnet::cassini {

void soft::WaitObject::wake() {
  // one write for all events until clear()
  if (told.exchange(true, std::memory_order_acq_rel)) return;
  constexpr std::uint64_t kOne = 1;
  (void)!write(fd, &kOne, sizeof kOne);
}

// In this order: an event between the two operations needs no write, because the caller looks at
// the queues afterwards. In the other order a write between the two would be read away with `told`
// still set, and no later event would wake the reader. An exchange, not a store: a store may become
// visible only after the caller has looked at the queues, and an event in between would wake
// nobody.
void soft::WaitObject::clear() {
  std::uint64_t count = 0;
  (void)!read(fd, &count, sizeof count);
  (void)told.exchange(false, std::memory_order_acq_rel);
}

namespace libcxi {

int cxil_alloc_wait_obj(Lni* lni, WaitObject** wait) {
  if (lni == nullptr || wait == nullptr) return -EINVAL;
  auto made = std::make_unique<soft::WaitObject>();
  made->fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  if (made->fd < 0) return -errno;
  *wait = made.release();
  return 0;
}

int cxil_destroy_wait_obj(WaitObject* wait) {
  if (wait == nullptr) return -EINVAL;
  auto* const object = static_cast<soft::WaitObject*>(wait);
  if (object->queues > 0) return -EBUSY;
  (void)close(object->fd);
  delete object;
  return 0;
}

int cxil_get_wait_obj_fd(WaitObject* wait) {
  return wait == nullptr ? -EINVAL : static_cast<soft::WaitObject*>(wait)->fd;
}

void cxil_clear_wait_obj(WaitObject* wait) {
  if (wait != nullptr) static_cast<soft::WaitObject*>(wait)->clear();
}

}  // namespace libcxi

}  // namespace plnet::cassini
