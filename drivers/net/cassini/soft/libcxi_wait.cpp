// SPDX-License-Identifier: BSD-3-Clause
// libcxi's wait objects: a pair of sockets each, since urgent data is what POLLPRI tells of.
#include <cerrno>
#include <memory>

#include <sys/socket.h>
#include <unistd.h>

#include "drivers/net/cassini/soft/libcxi_functions.hpp"
#include "drivers/net/cassini/soft/libcxi_objects.hpp"

namespace plnet::cassini {

void soft::WaitObject::wake() {
  if (told.exchange(true, std::memory_order_acq_rel)) return;  // one call for all until clear()
  constexpr char kByte = 0;
  (void)!send(other, &kByte, sizeof kByte, MSG_OOB | MSG_DONTWAIT | MSG_NOSIGNAL);
}

// In this order: a caller looks at the queues after it has cleared, so what is told between the two
// steps needs no signal. The other way round a signal between them would be read away while `told`
// stays set, and no later event would wake the caller. An exchange, not a store: a store may become
// visible only after the look at the queues, and an event between them would not wake the caller.
void soft::WaitObject::clear() {
  char bytes[8];
  (void)!recv(fd, bytes, 1, MSG_OOB | MSG_DONTWAIT);
  while (recv(fd, bytes, sizeof bytes, MSG_DONTWAIT) > 0) {
  }
  (void)told.exchange(false, std::memory_order_acq_rel);
}

namespace libcxi {

int cxil_alloc_wait_obj(Lni* lni, WaitObject** wait) {
  if (lni == nullptr || wait == nullptr) return -EINVAL;
  auto made = std::make_unique<soft::WaitObject>();
  int ends[2]{-1, -1};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) != 0) return -errno;
  made->fd = ends[0];
  made->other = ends[1];
  *wait = made.release();
  return 0;
}

int cxil_destroy_wait_obj(WaitObject* wait) {
  if (wait == nullptr) return -EINVAL;
  auto* const object = static_cast<soft::WaitObject*>(wait);
  if (object->queues > 0) return -EBUSY;
  (void)close(object->fd);
  (void)close(object->other);
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
