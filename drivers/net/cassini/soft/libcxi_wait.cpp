// SPDX-License-Identifier: BSD-3-Clause
// libcxi's wait objects: an eventfd each.
#include <cerrno>
#include <memory>

#include <sys/eventfd.h>
#include <unistd.h>

#include "drivers/net/cassini/soft/libcxi_functions.hpp"
#include "drivers/net/cassini/soft/libcxi_objects.hpp"

namespace plnet::cassini {

void soft::WaitObject::wake() {
  if (told.exchange(true, std::memory_order_acq_rel)) return;  // one call for all until clear()
  constexpr std::uint64_t kOne = 1;
  (void)!write(fd, &kOne, sizeof kOne);
}

// In this order: what is told between the two needs no write, because whoever clears looks at the
// queues afterwards. The other way round a write between the two would be read away with `told`
// left set, and nobody would be woken any more. An exchange, not a store: that may become visible
// only after the look at the queues, and an event between them would wake nobody.
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
