// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/net/cassini/soft/wire_local.hpp"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/vfs.h>

#include "drivers/net/cassini/soft/codes.hpp"
#include "lib/base/check.hpp"

namespace plnet::cassini::soft {
namespace {

constexpr unsigned kPacketsPerTurn = 32;              // packets of one poll
constexpr std::uint64_t kLookNs = 1'000'000;          // interval of looking at the sockets
constexpr std::uint64_t kRedialNs = 10'000'000;       // pause between two connection attempts
constexpr std::uint64_t kGreetingNs = 1'000'000'000;  // until an incoming connection must be valid
constexpr int kBacklog = 64;
constexpr unsigned kAcceptedPerLook = 16;

using layout::LocalGreeting;
constexpr std::uint32_t kGreetingMagic = 0x57434c50;  // PLCW
constexpr std::uint32_t kGreetingVersion = 1;

std::string socket_name(NicAddress address) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string name = "/nic-";
  for (int shift = 16; shift >= 0; shift -= 4)
    name += kDigits[address >> shift & 0xfU];
  if (const unsigned share = share_of(address); share > 0) name += "." + std::to_string(share);
  return name;
}

bool is_nic(NicAddress address) {
  const NicAddress nic = nic_of(address);
  return nic != 0 && nic != kNicAddressAny && share_of(address) < kSharesMax;
}

bool set_path(sockaddr_un& to, const std::string& path) {
  to = {};
  to.sun_family = AF_UNIX;
  if (path.size() >= sizeof to.sun_path) return false;
  std::ranges::copy(path, std::begin(to.sun_path));
  return true;
}

const sockaddr* as_address(const sockaddr_un& address) {
  return reinterpret_cast<const sockaddr*>(&address);
}

LocalDescriptor new_socket() {
  return LocalDescriptor(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
}

LocalDescriptor new_ring_memory(std::size_t bytes) {
  LocalDescriptor memory(::memfd_create("plnet-cxi-ring", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!memory || ::ftruncate(memory.number(), static_cast<off_t>(bytes)) != 0) return {};
  constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
  if (::fcntl(memory.number(), F_ADD_SEALS, kSeals) != 0) return {};
  return memory;
}

// Memory that no one can shrink and whose pages are ordinary ones: no access to it can raise
// SIGBUS.
bool is_safe_memory(int descriptor, std::size_t bytes) {
  const int seals = ::fcntl(descriptor, F_GET_SEALS);
  if (seals < 0 || (static_cast<unsigned>(seals) & F_SEAL_SHRINK) == 0) return false;
  struct stat about{};
  struct statfs where{};
  if (::fstat(descriptor, &about) != 0 || ::fstatfs(descriptor, &where) != 0) return false;
  return std::cmp_greater_equal(about.st_size, bytes) && where.f_type == TMPFS_MAGIC;
}

bool send_greeting(int socket, std::span<std::byte> bytes, int memory) {
  iovec part{.iov_base = bytes.data(), .iov_len = bytes.size()};
  alignas(cmsghdr) std::array<std::byte, CMSG_SPACE(sizeof memory)> control{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  cmsghdr* const rights = CMSG_FIRSTHDR(&message);
  rights->cmsg_level = SOL_SOCKET;
  rights->cmsg_type = SCM_RIGHTS;
  rights->cmsg_len = CMSG_LEN(sizeof memory);
  std::memcpy(CMSG_DATA(rights), &memory, sizeof memory);
  return ::sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT) ==
         static_cast<ssize_t>(bytes.size());
}

// The memory of a message of exactly that length with one descriptor. The kernel drops further
// descriptors, since there is no room for them.
LocalDescriptor receive_greeting(int socket, std::span<std::byte> bytes) {
  iovec part{.iov_base = bytes.data(), .iov_len = bytes.size()};
  alignas(cmsghdr) std::array<std::byte, CMSG_SPACE(sizeof(int))> control{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = CMSG_LEN(sizeof(int));  // its padding would take a second one
  const ssize_t got = ::recvmsg(socket, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
  if (got < 0) return {};
  LocalDescriptor memory;
  const cmsghdr* const rights = CMSG_FIRSTHDR(&message);
  if (rights != nullptr && rights->cmsg_level == SOL_SOCKET && rights->cmsg_type == SCM_RIGHTS &&
      rights->cmsg_len >= CMSG_LEN(sizeof(int))) {
    int number = -1;
    std::memcpy(&number, CMSG_DATA(rights), sizeof number);
    memory = LocalDescriptor(number);
    // It may be anything. The end of a socket that lingers would keep us waiting.
    constexpr linger kNotAtAll{.l_onoff = 0, .l_linger = 0};
    (void)::setsockopt(number, SOL_SOCKET, SO_LINGER, &kNotAtAll, sizeof kNotAtAll);
  }
  const bool is_cut = (static_cast<unsigned>(message.msg_flags) & MSG_TRUNC) != 0;
  if (std::cmp_not_equal(got, bytes.size()) || is_cut) return {};
  return memory;
}

pid_t process_of(int socket) {
  ucred peer{};
  socklen_t bytes = sizeof peer;
  return ::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &bytes) == 0 ? peer.pid : -1;
}

// The network namespace of a process, as a lab gives each rank; 0: it cannot be seen.
ino_t network_of(const std::string& process) {
  struct stat network{};
  return ::stat(("/proc/" + process + "/ns/net").c_str(), &network) == 0 ? network.st_ino : 0;
}

// The namespace of the process that holds the lock and has written it there; 0: none yet.
ino_t network_in(int lock) {
  std::uint64_t network = 0;
  return ::pread(lock, &network, sizeof network, 0) == sizeof network ? network : 0;
}

bool is_hung_up(short events) {
  return (static_cast<unsigned>(events) & (POLLHUP | POLLERR | POLLRDHUP | POLLNVAL)) != 0;
}

}  // namespace

std::array<std::byte, WireLocal::kGreetingBytes> WireLocal::greeting(NicAddress own,
                                                                     std::size_t ring_bytes) {
  std::array<std::byte, kGreetingBytes> bytes{};
  LocalGreeting::Magic::set(bytes.data(), kGreetingMagic);
  LocalGreeting::Version::set(bytes.data(), kGreetingVersion);
  LocalGreeting::Address::set(bytes.data(), own);
  LocalGreeting::RingBytes::set(bytes.data(), ring_bytes);
  return bytes;
}

WireLocal::WireLocal(const WireLocalOptions& options) : options_(options), own_(options.address) {
  looked_at_.reserve(1 + std::size_t{2} * options.peers);
  connected_.reserve(options.peers);
  incoming_.reserve(options.peers);
  outgoing_.reserve(options.peers);
}

plnet::Outcome<std::unique_ptr<WireLocal>> WireLocal::open(const WireLocalOptions& options) {
  if (options.address == 0 || options.address >= kNicAddressAny)
    return failure(Errc::kOutOfRange, "cassini: a NIC address is 1 to 0xffffe");
  if (!std::has_single_bit(options.ring_bytes) || options.ring_bytes < kRingBytesMin ||
      options.ring_bytes > kRingBytesMax)
    return failure(Errc::kOutOfRange, "cassini: a ring has a power of two of bytes, from " +
                                          std::to_string(kRingBytesMin) + " to " +
                                          std::to_string(kRingBytesMax));
  auto wire = std::unique_ptr<WireLocal>(new WireLocal(options));
  if (auto done = wire->take_share(); !done) return std::unexpected(std::move(done.error()));
  if (auto done = wire->listen(); !done) return std::unexpected(std::move(done.error()));
  return wire;
}

// The first one that is free, if the processes of the others are in the same network namespace.
plnet::Outcome<void> WireLocal::take_share() {
  constexpr mode_t kOwner = 0600;
  const std::string first = options_.directory + socket_name(options_.address);
  const std::uint64_t network = network_of("self");
  for (unsigned share = 0; share < kSharesMax; ++share) {
    const NicAddress at = options_.address | share << kShareShift;
    const std::string path = options_.directory + socket_name(at) + ".lock";
    LocalDescriptor lock(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, kOwner));
    const bool is_free = lock && ::flock(lock.number(), LOCK_EX | LOCK_NB) == 0;
    if (!is_free && (!lock || errno != EWOULDBLOCK)) {
      const int number = errno;
      return failure(errc_of_errno(number),
                     "cassini: " + path + ": " + std::generic_category().message(number));
    }
    if (!is_free && network_in(lock.number()) != 0 && network_in(lock.number()) != network)
      return failure(Errc::kBusy,
                     "cassini: " + first + ": a process in another network namespace has this NIC");
    if (!is_free || lock_) continue;
    lock_ = std::move(lock);
    own_ = at;
    (void)!::pwrite(lock_.number(), &network, sizeof network, 0);
  }
  if (lock_) return pids_.open(first, share_of(own_));
  return failure(Errc::kBusy, "cassini: " + first + ": " + std::to_string(kSharesMax) +
                                  " processes have this NIC already");
}

// A share is believed to be one if its process is in the network namespace of the first share's.
bool WireLocal::is_of_nic(NicAddress at, int socket) const {
  if (share_of(at) == 0) return true;
  const LocalDescriptor first = new_socket();
  sockaddr_un there{};
  if (!first || !set_path(there, options_.directory + socket_name(nic_of(at))) ||
      ::connect(first.number(), as_address(there), sizeof there) != 0)
    return true;  // there is no first share
  const auto network = [](int of) { return network_of(std::to_string(process_of(of))); };
  return network(first.number()) == network(socket);
}

// The kernel gives the lock back at the end of a process, however it ends; its socket stays as a
// file on which nothing listens, and the next owner of the lock replaces it.
plnet::Outcome<void> WireLocal::listen() {
  const std::string path = options_.directory + socket_name(own_);
  const auto error = [&path](const char* what) {
    const int number = errno;
    return failure(errc_of_errno(number), "cassini: " + path + ": " + what + ": " +
                                              std::generic_category().message(number));
  };
  sockaddr_un own{};
  if (!set_path(own, path))
    return failure(Errc::kTooBig, "cassini: " + path + ": the path of a socket has at most " +
                                      std::to_string(sizeof own.sun_path - 1) + " characters");
  listener_ = new_socket();
  if (!listener_) return error("socket");
  (void)::unlink(path.c_str());
  if (::bind(listener_.number(), as_address(own), sizeof own) != 0) return error("bind");
  path_ = path;
  if (::listen(listener_.number(), kBacklog) != 0) return error("listen");
  return {};
}

WireLocal::~WireLocal() {
  if (!path_.empty()) (void)::unlink(path_.c_str());
}

NicAddress WireLocal::route(NicAddress to, unsigned vni, unsigned pid) {
  auto share = pids_of_all_.known_share(to, vni, pid, now_ns_);
  if (!share)
    share = pids_of_all_.look_up_share(options_.directory + socket_name(to), to, vni, pid, now_ns_);
  return to | *share << kShareShift;
}

bool WireLocal::send(NicAddress to, std::span<const std::byte> header,
                     std::span<const std::byte> payload) {
  using Id = LocalWireCounters::Id;
  PLNET_CHECK(header.size() + payload.size() <= kPacketBytes, "a packet fits into the wire");
  Outgoing* const peer = outgoing_to(to);
  if (peer != nullptr) peer->is_used = true;
  if (peer == nullptr || !peer->socket) {
    if (peer != nullptr && peer->busy) {
      stats_.add(Id::kFull);
      return false;
    }
    stats_.add(Id::kUnreachable);
    return true;
  }
  switch (peer->ring.put(header, payload)) {
    case LocalRingWriter::Put::kDone: stats_.add(Id::kSent); return true;
    case LocalRingWriter::Put::kFull: stats_.add(Id::kFull); return false;
    case LocalRingWriter::Put::kBroken: break;
  }
  hang_up(*peer, Id::kBroken);
  stats_.add(Id::kUnreachable);
  return true;
}

WireLocal::Outgoing* WireLocal::outgoing_to(NicAddress to) {
  const auto known = outgoing_.find(to);
  if (known != outgoing_.end() && known->second->socket) return known->second.get();
  if (known != outgoing_.end()) {
    if (now_ns_ >= known->second->dial_at_ns) dial(to, *known->second);
    return known->second.get();
  }
  if (!make_place()) return nullptr;
  Outgoing& added = *outgoing_.emplace(to, std::make_unique<Outgoing>()).first->second;
  dial(to, added);
  return &added;
}

bool WireLocal::make_place() {
  if (outgoing_.size() < options_.peers) return true;
  auto unused =
      std::ranges::find_if(outgoing_, [](const auto& one) { return !one.second->socket; });
  if (unused == outgoing_.end())
    unused = std::ranges::find_if(outgoing_, [](const auto& one) { return !one.second->is_used; });
  if (unused == outgoing_.end()) return false;
  outgoing_.erase(unused);
  return true;
}

void WireLocal::dial(NicAddress to, Outgoing& peer) {
  peer.dial_at_ns = now_ns_ + kRedialNs;
  peer.busy = false;
  sockaddr_un there{};
  LocalDescriptor socket = new_socket();
  if (!socket || !set_path(there, options_.directory + socket_name(to))) return;
  if (::connect(socket.number(), as_address(there), sizeof there) != 0) {
    peer.busy = errno == EAGAIN;  // its backlog is full
    return;
  }
  if (!is_of_nic(to, socket.number())) return;
  peer.process = process_of(socket.number());
  const auto same = std::ranges::count_if(outgoing_, [&](const auto& one) {
    return one.second->socket && one.second->process == peer.process;
  });
  if (std::cmp_greater_equal(same, options_.peers_per_process)) return;
  const std::size_t bytes = kLocalRingHeaderBytes + options_.ring_bytes;
  const LocalDescriptor shared = new_ring_memory(bytes);
  if (!shared) return;
  LocalMapping memory(shared.number(), bytes);
  if (!memory) return;
  auto words = greeting(own_, options_.ring_bytes);
  if (!send_greeting(socket.number(), words, shared.number())) return;
  peer.socket = std::move(socket);
  peer.memory = std::move(memory);
  peer.ring = LocalRingWriter(peer.memory.memory(), options_.ring_bytes);
  stats_.add(LocalWireCounters::Id::kConnected);
}

void WireLocal::hang_up(Outgoing& peer, LocalWireCounters::Id why) {
  peer.socket = {};
  peer.memory = {};
  peer.dial_at_ns = now_ns_ + kRedialNs;
  stats_.add(why);
}

unsigned WireLocal::poll(std::uint64_t now_ns, WireEvents& events) {
  now_ns_ = now_ns;
  if (!is_link_told_) {
    is_link_told_ = true;
    events.on_link(true, options_.address);
  }
  if (now_ns >= look_at_ns_) {
    look_at_ns_ = now_ns + kLookNs;
    look();
  }
  unsigned done = 0;
  const std::size_t count = incoming_.size();
  for (std::size_t i = 0; i < count; ++i)
    done += take_in(*incoming_[(first_ + i) % count], events);
  if (count > 0) first_ = (first_ + 1) % count;
  return done;
}

// A bounded part of each ring, so that no NIC keeps another from its turn.
unsigned WireLocal::take_in(Incoming& peer, WireEvents& events) {
  if (!peer.is_proven || peer.is_done) return 0;
  unsigned done = 0;
  while (done < kPacketsPerTurn) {
    std::span<const std::byte> packet;
    const auto got = peer.ring.look(kPacketBytes, packet);
    if (got == LocalRingReader::Got::kBroken) {
      stats_.add(LocalWireCounters::Id::kBroken);
      peer.is_done = true;
      break;
    }
    // An empty packet counts, too.
    const std::size_t used = packet.size() + kLocalRecordHeaderBytes;
    if (got == LocalRingReader::Got::kEmpty || (peer.is_ended && peer.left < used)) {
      peer.is_done = peer.is_ended;
      break;
    }
    if (peer.is_ended) peer.left -= used;
    ++done;
    stats_.add(LocalWireCounters::Id::kReceived);
    events.on_packet(peer.address, packet);
    peer.ring.pop();
  }
  return done;
}

// Cold: once a millisecond, one system call if nothing has changed.
void WireLocal::look() {
  auto& sockets = looked_at_;
  auto& outgoing = connected_;
  sockets.clear();
  outgoing.clear();
  sockets.push_back({.fd = listener_.number(), .events = POLLIN, .revents = 0});
  for (const auto& peer : incoming_)
    sockets.push_back({.fd = peer->socket.number(), .events = POLLIN | POLLRDHUP, .revents = 0});
  for (const auto& [address, peer] : outgoing_) {
    if (!peer->socket) continue;
    outgoing.push_back(peer.get());
    sockets.push_back({.fd = peer->socket.number(), .events = POLLRDHUP, .revents = 0});
  }
  if (::poll(sockets.data(), sockets.size(), 0) < 0) return;
  const std::size_t count = incoming_.size();
  for (std::size_t i = 0; i < outgoing.size(); ++i) {
    if (is_hung_up(sockets[1 + count + i].revents))
      hang_up(*outgoing[i], LocalWireCounters::Id::kEnded);
  }
  for (std::size_t i = 0; i < count; ++i)
    check_incoming(*incoming_[i], sockets[1 + i].revents);
  std::erase_if(incoming_, [](const auto& peer) { return peer->is_done; });
  if (sockets.front().revents != 0) accept_all();
}

void WireLocal::accept_all() {
  for (unsigned i = 0; i < kAcceptedPerLook; ++i) {
    LocalDescriptor socket(
        ::accept4(listener_.number(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!socket) return;
    const pid_t process = process_of(socket.number());
    const auto same = std::ranges::count(incoming_, process, &Incoming::process);
    if (incoming_.size() >= options_.peers ||
        std::cmp_greater_equal(same, options_.peers_per_process)) {
      stats_.add(LocalWireCounters::Id::kRefused);
      continue;
    }
    auto peer = std::make_unique<Incoming>();
    peer->socket = std::move(socket);
    peer->process = process;
    peer->until_ns = now_ns_ + kGreetingNs;
    incoming_.push_back(std::move(peer));
    check_incoming(*incoming_.back(), POLLIN);
  }
}

void WireLocal::check_incoming(Incoming& peer, short events) {
  using Id = LocalWireCounters::Id;
  if (peer.is_done) return;
  if (!peer.memory && (static_cast<unsigned>(events) & POLLIN) != 0 && !take_greeting(peer)) {
    stats_.add(Id::kRefused);
    peer.is_done = true;
    return;
  }
  if (peer.memory && !peer.is_proven) prove(peer);
  if (peer.is_done) return;
  if (!peer.is_proven && now_ns_ >= peer.until_ns) {
    stats_.add(Id::kRefused);
    peer.is_done = true;
  } else if (is_hung_up(events) && !peer.is_ended) {
    stats_.add(Id::kEnded);
    peer.is_ended = true;
    // Packets that the other NIC had sent before its end are still taken, but no further ones.
    peer.left = options_.ring_bytes;
    peer.is_done = !peer.is_proven;
  }
}

// False: the greeting is invalid. Without one yet, `memory` stays empty.
bool WireLocal::take_greeting(Incoming& peer) {
  std::array<std::byte, kGreetingBytes> bytes{};
  errno = 0;
  const LocalDescriptor shared = receive_greeting(peer.socket.number(), bytes);
  if (!shared) return errno == EAGAIN;
  const auto address = static_cast<NicAddress>(LocalGreeting::Address::get(bytes.data()));
  const auto ring_bytes = LocalGreeting::RingBytes::get(bytes.data());
  if (LocalGreeting::Magic::get(bytes.data()) != kGreetingMagic ||
      LocalGreeting::Version::get(bytes.data()) != kGreetingVersion || !is_nic(address) ||
      !std::has_single_bit(ring_bytes) || ring_bytes < kRingBytesMin || ring_bytes > kRingBytesMax)
    return false;
  const std::size_t length = kLocalRingHeaderBytes + ring_bytes;
  if (!is_safe_memory(shared.number(), length)) return false;
  LocalMapping memory(shared.number(), length);
  if (!memory) return false;
  peer.memory = std::move(memory);
  peer.ring = LocalRingReader(peer.memory.memory(), ring_bytes);
  peer.address = address;
  return true;
}

// Our own connection to the address, which answers need in any case, must end in the same process.
// Its earlier process has then gone, even if its end was not seen yet.
void WireLocal::prove(Incoming& peer) {
  using Id = LocalWireCounters::Id;
  Outgoing* to = outgoing_to(peer.address);
  if (to == nullptr || !to->socket) return;
  // 0: a process of another PID namespace, which cannot be told from others there.
  if (to->process <= 0 || to->process != peer.process ||
      !is_of_nic(peer.address, peer.socket.number())) {
    pollfd other{.fd = to->socket.number(), .events = POLLRDHUP, .revents = 0};
    if (::poll(&other, 1, 0) > 0 && is_hung_up(other.revents)) {
      hang_up(*to, Id::kEnded);  // the address has another process now: dialled again soon
      return;
    }
    stats_.add(Id::kRefused);
    peer.is_done = true;
    return;
  }
  for (const auto& other : incoming_) {
    if (!other->is_proven || other->is_ended || other->address != peer.address) continue;
    other->is_ended = true;  // the NIC has connected a second time
    other->left = options_.ring_bytes;
  }
  peer.is_proven = true;
  stats_.add(Id::kAccepted);
}

}  // namespace plnet::cassini::soft
