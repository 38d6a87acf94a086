// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/net/mlx/event_desk.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <system_error>

#include <fcntl.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "drivers/net/mlx/adapter.hpp"
#include "lib/base/check.hpp"

namespace plnet::mlx {
namespace {

CmEvent copy_of(const rdma_cm_event& event, const QueuePairId& connection) {
  CmEvent copy{
      .type = event.event, .id = event.id, .connection = connection, .status = event.status};
  const rdma_conn_param& parameters = event.param.conn;
  if (parameters.private_data == nullptr) return copy;
  copy.data_bytes = std::min<std::size_t>(parameters.private_data_len, copy.data.size());
  std::memcpy(copy.data.data(), parameters.private_data, copy.data_bytes);
  return copy;
}

}  // namespace

std::unexpected<Error> verbs_failure(const char* call, int number) {
  return failure(errc_of_errno(number),
                 std::string(call) + ": " + std::generic_category().message(number));
}

bool set_nonblocking(int descriptor) {
  const int flags = ::fcntl(descriptor, F_GETFL);
  return flags >= 0 && ::fcntl(descriptor, F_SETFL, flags | O_NONBLOCK) == 0;
}

Outcome<std::shared_ptr<EventDesk>> EventDesk::open() {
  std::shared_ptr<EventDesk> made(new EventDesk);
  made->channel_.reset(rdma_create_event_channel());
  if (!made->channel_) return verbs_failure("rdma_create_event_channel", errno);
  if (!set_nonblocking(made->channel_->fd)) return verbs_failure("fcntl", errno);
  made->waiting_on_ = ::epoll_create1(EPOLL_CLOEXEC);
  epoll_event wanted{.events = EPOLLIN, .data = {.ptr = nullptr}};
  if (made->waiting_on_ < 0 ||
      ::epoll_ctl(made->waiting_on_, EPOLL_CTL_ADD, made->channel_->fd, &wanted) != 0)
    return verbs_failure("epoll", errno);
  return made;
}

EventDesk::~EventDesk() {
  clear_left();
  if (waiting_on_ >= 0) (void)::close(waiting_on_);
}

Outcome<void> EventDesk::enter(Adapter& adapter) {
  if (!adapter.enter()) return failure(Errc::kNetworkDown, "the RDMA device was removed");
  const auto place = std::ranges::find_if(adapters_, [&adapter](std::atomic<Adapter*>& each) {
    Adapter* nobody = nullptr;
    return each.compare_exchange_strong(nobody, &adapter);
  });
  if (place == adapters_.end()) {
    adapter.leave();
    return failure(Errc::kNoSpace, "too many RDMA devices are open");
  }
  epoll_event wanted{.events = EPOLLIN, .data = {.ptr = &adapter}};
  const int failed = ::epoll_ctl(waiting_on_, EPOLL_CTL_ADD, adapter.context()->async_fd, &wanted);
  if (failed != 0 && errno != EEXIST) {  // the first adapter of a device registers it
    const int number = errno;
    place->store(nullptr);
    adapter.leave();
    return verbs_failure("epoll_ctl", number);
  }
  return {};
}

void EventDesk::leave(Adapter& adapter) {
  const auto place = std::ranges::find_if(
      adapters_, [&adapter](const std::atomic<Adapter*>& each) { return each.load() == &adapter; });
  if (place == adapters_.end()) return;
  place->store(nullptr);
  const int descriptor = adapter.context()->async_fd;
  (void)::epoll_ctl(waiting_on_, EPOLL_CTL_DEL, descriptor, nullptr);
  for (const std::atomic<Adapter*>& each : adapters_) {
    Adapter* const other = each.load();
    if (other == nullptr || other->context()->async_fd != descriptor) continue;
    epoll_event wanted{.events = EPOLLIN, .data = {.ptr = other}};
    (void)::epoll_ctl(waiting_on_, EPOLL_CTL_ADD, descriptor, &wanted);
  }
  adapter.leave();
}

// Before anything is read, so that no event of this look is for one of them.
void EventDesk::let_removed_go() {
  for (const std::atomic<Adapter*>& each : adapters_) {
    Adapter* const adapter = each.load(std::memory_order_acquire);
    if (adapter != nullptr && adapter->is_gone()) leave(*adapter);
  }
}

std::uint32_t EventDesk::enter() {
  for (std::uint32_t i = 0; i < kInboxesMax; ++i) {
    Desk& desk = desks_[i];
    State expected = State::kFree;
    if (!desk.state.compare_exchange_strong(expected, State::kEntering)) continue;
    if (desk.inbox == nullptr) desk.inbox = std::make_unique<EventInbox>();
    desk.state.store(State::kTaken, std::memory_order_release);
    std::uint32_t used = desks_used_.load();
    while (used < i + 1 && !desks_used_.compare_exchange_weak(used, i + 1)) {
    }
    return i + 1;
  }
  return 0;
}

void EventDesk::leave(std::uint32_t inbox) {
  if (inbox == 0) return;
  PLNET_CHECK(inbox <= kInboxesMax && desks_[inbox - 1].state.load() == State::kTaken,
              "a user leaves once");
  desks_[inbox - 1].state.store(State::kLeft, std::memory_order_release);
  some_left_.store(true, std::memory_order_release);
}

// Discards the events on their way to users that have left.
void EventDesk::clear_left() {
  if (!some_left_.exchange(false, std::memory_order_acq_rel)) return;
  for (std::uint32_t i = 0; i < desks_used_.load(); ++i) {
    Desk& desk = desks_[i];
    if (desk.state.load(std::memory_order_acquire) != State::kLeft) continue;
    for (CmEvent event; desk.inbox->take(event);)
      discard(event);
    if (stuck_ && stuck_->inbox == i + 1) {
      discard(stuck_->event);
      stuck_.reset();
    }
    desk.state.store(State::kFree, std::memory_order_release);
  }
}

void EventDesk::discard(const CmEvent& event) {
  if (event.type != RDMA_CM_EVENT_CONNECT_REQUEST) return;
  (void)rdma_reject(event.id, nullptr, 0);
  (void)rdma_destroy_id(event.id);
}

unsigned EventDesk::poll(Instant now) {
  if (now < look_at_) return 0;
  look_at_ = now + kInterval;
  clear_left();
  let_removed_go();
  if (stuck_) {
    const Stuck again = *stuck_;
    stuck_.reset();
    bring(again.inbox, again.event);
  }
  constexpr int kAtATime = 16;
  std::array<epoll_event, kAtATime> ready{};
  const int count = ::epoll_wait(waiting_on_, ready.data(), kAtATime, 0);
  unsigned events = 0;
  for (int i = 0; i < count; ++i) {
    auto* const adapter = static_cast<Adapter*>(ready[static_cast<std::size_t>(i)].data.ptr);
    events += adapter == nullptr ? read_cm_events() : adapter->read_events(adapters_);
  }
  return events;
}

unsigned EventDesk::read_cm_events() {
  constexpr unsigned kAtATime = 32;
  unsigned count = 0;
  rdma_cm_event* event = nullptr;
  while (count < kAtATime && !stuck_ && rdma_get_cm_event(channel_.get(), &event) == 0) {
    const bool asks = event->event == RDMA_CM_EVENT_CONNECT_REQUEST;
    if (event->event == RDMA_CM_EVENT_DEVICE_REMOVAL) note_removal(event->id->verbs);
    const IdWord word = IdWord::on(asks ? *event->listen_id : *event->id);
    const CmEvent copy = copy_of(*event, word.connection());
    (void)rdma_ack_cm_event(event);
    bring(word.inbox(), copy);
    ++count;
  }
  return count;
}

void EventDesk::bring(std::uint32_t inbox, const CmEvent& event) {
  const bool there = inbox > 0 && inbox <= kInboxesMax &&
                     desks_[inbox - 1].state.load(std::memory_order_acquire) == State::kTaken;
  if (!there) return discard(event);
  PLNET_CHECK(!stuck_.has_value(), "one event at a time waits for its inbox");
  if (!desks_[inbox - 1].inbox->put(event)) stuck_ = {.inbox = inbox, .event = event};
}

void EventDesk::note_removal(const ibv_context* device) {
  for (const std::atomic<Adapter*>& each : adapters_) {
    Adapter* const adapter = each.load(std::memory_order_acquire);
    if (adapter != nullptr && adapter->context() == device) adapter->note_removal();
  }
}

}  // namespace plnet::mlx
