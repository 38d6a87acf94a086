// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/net/mlx/adapter.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <system_error>

#include <arpa/inet.h>
#include <fcntl.h>
#include <unistd.h>

#include "drivers/net/mlx/connection.hpp"
#include "lib/base/check.hpp"

namespace plnet::mlx {
namespace {

// The vendor of rdma_rxe. Its ibv_wr_set_inline_data() leaves the inline flag out and its
// ibv_wr_set_sge_list() adds up the first length only, up to rdma-core 44 at least: requests of two
// pieces would fail, or send wrong bytes.
constexpr std::uint32_t kSoftwareVendor = 0xffffff;

// librdmacm keeps the context of a device that was removed until it looks for another device, for
// ever if that was the last one (rdma-core 44 to 64). The removal of a device that cannot be
// separated from its users, such as one of rdma_rxe, waits until its descriptors are closed: they
// become descriptors of nothing, which librdmacm closes one day.
void close_in_place(int descriptor) {
  const int nothing = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  if (nothing < 0) return;
  (void)::dup3(nothing, descriptor, O_CLOEXEC);
  (void)::close(nothing);
}

}  // namespace

Outcome<std::unique_ptr<Adapter>> Adapter::open(std::uint32_t address, const ArenaTable& arenas,
                                                std::shared_ptr<EventDesk> desk) {
  std::unique_ptr<Adapter> made(new Adapter(arenas, std::move(desk)));
  if (auto done = made->bind(address); !done) return std::unexpected(std::move(done.error()));
  if (auto done = made->find_limits(); !done) return std::unexpected(std::move(done.error()));
  if (auto done = made->memory_.enter(*made->domain_); !done)
    return std::unexpected(std::move(done.error()));
  if (auto done = made->desk_->enter(*made); !done) return std::unexpected(std::move(done.error()));
  return made;
}

Adapter::~Adapter() {
  desk_->leave(*this);
  close();
}

void Adapter::close() {
  memory_.leave();
  if (domain_ != nullptr) (void)ibv_dealloc_pd(domain_);
  domain_ = nullptr;
  if (id_ == nullptr) return;
  // While the identifier keeps the context.
  if (id_->verbs != nullptr && desk_->contexts().remove(id_->verbs) && is_gone()) {
    close_in_place(id_->verbs->cmd_fd);
    close_in_place(id_->verbs->async_fd);
  }
  (void)rdma_destroy_id(id_);
  id_ = nullptr;
}

bool Adapter::enter() {
  users_.fetch_add(1);
  if (!gone_.load()) return true;
  leave();
  return false;
}

bool Adapter::release_removed() {
  if (!gone_.load() || users_.load() != 0) return false;
  close();
  return true;
}

Outcome<void> Adapter::bind(std::uint32_t address) {
  PLNET_CHECK(id_ == nullptr, "an adapter binds once");
  if (rdma_create_id(desk_->channel(), &id_, nullptr, RDMA_PS_TCP) != 0)
    return verbs_failure("rdma_create_id", errno);
  sockaddr_in local{};
  local.sin_family = AF_INET;
  local.sin_addr.s_addr = htonl(address);
  if (rdma_bind_addr(id_, reinterpret_cast<sockaddr*>(&local)) != 0)
    return verbs_failure("rdma_bind_addr", errno);
  if (id_->verbs == nullptr)
    return failure(Errc::kNotFound, "no RDMA device has this address; `rdma link` lists devices");
  desk_->contexts().add(context());
  name_ = ibv_get_device_name(context()->device);
  port_ = id_->port_num;
  if (!set_nonblocking(id_->verbs->async_fd)) return verbs_failure("fcntl", errno);
  domain_ = ibv_alloc_pd(id_->verbs);
  if (domain_ == nullptr) return verbs_failure("ibv_alloc_pd", errno);
  return {};
}

Outcome<void> Adapter::find_limits() {
  ibv_device_attr device{};
  if (const int failed = ibv_query_device(context(), &device); failed != 0)
    return verbs_failure("ibv_query_device", failed);
  limits_ = {.work_requests_max = static_cast<unsigned>(std::max(device.max_qp_wr, 0)),
             .gather_max = static_cast<unsigned>(std::clamp(device.max_sge, 0, 1 << 16)),
             .inline_bytes_max = kInlineBytes};
  writes_requests_ = device.vendor_id != kSoftwareVendor;
  completions_max_ = static_cast<unsigned>(std::max(device.max_cqe, 0));
  ibv_port_attr port_state{};
  if (const int failed = ibv_query_port(context(), port(), &port_state); failed != 0)
    return verbs_failure("ibv_query_port", failed);
  usable_.store(port_state.state == IBV_PORT_ACTIVE, std::memory_order_release);
  return {};
}

int Adapter::numa_node() const {
  const std::string path = std::string(context()->device->ibdev_path) + "/device/numa_node";
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return kAnyNumaNode;
  std::array<char, 16> text{};
  const ssize_t bytes = ::read(file, text.data(), text.size());
  (void)::close(file);
  int node = kAnyNumaNode;
  if (bytes > 0) (void)std::from_chars(text.data(), text.data() + bytes, node);
  return node;
}

unsigned Adapter::read_events(std::span<const std::atomic<Adapter*>> all) {
  constexpr unsigned kAtATime = 16;
  ibv_async_event event{};
  unsigned count = 0;
  while (count < kAtATime && ibv_get_async_event(context(), &event) == 0) {
    for (const std::atomic<Adapter*>& entered : all) {
      Adapter* const each = entered.load(std::memory_order_acquire);
      if (each == nullptr || each->context() != context()) continue;
      if (each == this || is_of_port(event)) {
        each->on_event(event);
      } else {
        each->changes_.fetch_add(1, std::memory_order_release);  // its users may own the queue pair
      }
    }
    ibv_ack_async_event(&event);
    ++count;
  }
  return count;
}

// All other events concern one queue pair.
bool Adapter::is_of_port(const ibv_async_event& event) {
  return event.event_type == IBV_EVENT_DEVICE_FATAL || event.event_type == IBV_EVENT_PORT_ERR ||
         event.event_type == IBV_EVENT_PORT_ACTIVE;
}

void Adapter::on_event(const ibv_async_event& event) {
  switch (event.event_type) {
    case IBV_EVENT_DEVICE_FATAL: return note_removal();
    case IBV_EVENT_PORT_ERR:
      if (event.element.port_num == port()) set_usable(false);
      return;
    case IBV_EVENT_PORT_ACTIVE:
      if (event.element.port_num == port()) set_usable(true);
      return;
    case IBV_EVENT_COMM_EST:
      static_cast<Connection*>(event.element.qp->qp_context)->overtaken.store(true);
      changes_.fetch_add(1, std::memory_order_release);
      return;
    case IBV_EVENT_QP_FATAL:
    case IBV_EVENT_QP_REQ_ERR:
    case IBV_EVENT_QP_ACCESS_ERR:
      static_cast<Connection*>(event.element.qp->qp_context)->broken.store(true);
      changes_.fetch_add(1, std::memory_order_release);
      return;
    default: return;
  }
}

void Adapter::set_usable(bool usable) {
  if (usable && is_gone()) return;
  if (usable_.exchange(usable, std::memory_order_acq_rel) != usable)
    changes_.fetch_add(1, std::memory_order_release);
}

}  // namespace plnet::mlx
