// SPDX-License-Identifier: BSD-3-Clause
#include "lib/runtime/host/local_addresses.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>
#include <linux/if_addr.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

namespace plnet::runtime {
namespace {

using Bytes = std::span<const std::byte>;

// --- Parsing of the answers ---

// Missing bytes are zeros.
template <class T>
T front_of(Bytes bytes) {
  T value{};
  std::memcpy(&value, bytes.data(), std::min(sizeof value, bytes.size()));
  return value;
}

// Messages and attributes begin with their length and are aligned to four bytes.
Bytes behind(Bytes bytes, std::size_t length) {
  static_assert(NLMSG_ALIGNTO == 4 && RTA_ALIGNTO == 4);
  return bytes.subspan(std::min((length + 3) & ~std::size_t{3}, bytes.size()));
}

// Take: void(const nlmsghdr&, Bytes body)
template <class Take>
void for_each_message(Bytes bytes, const Take& take) {
  while (bytes.size() >= sizeof(nlmsghdr)) {
    const auto head = front_of<nlmsghdr>(bytes);
    if (head.nlmsg_len < sizeof head || head.nlmsg_len > bytes.size()) return;
    take(head, bytes.subspan(sizeof head, head.nlmsg_len - sizeof head));
    bytes = behind(bytes, head.nlmsg_len);
  }
}

// Take: void(unsigned type, Bytes value)
template <class Take>
void for_each_attribute(Bytes bytes, const Take& take) {
  while (bytes.size() >= sizeof(rtattr)) {
    const auto head = front_of<rtattr>(bytes);
    if (head.rta_len < sizeof head || head.rta_len > bytes.size()) return;
    take(head.rta_type, bytes.subspan(sizeof head, head.rta_len - sizeof head));
    bytes = behind(bytes, head.rta_len);
  }
}

std::string text_in(Bytes value) {
  const std::string_view text(reinterpret_cast<const char*>(value.data()), value.size());
  return std::string(text.substr(0, text.find('\0')));
}

struct Interface {
  std::string name;
  unsigned flags = 0;
};

std::pair<unsigned, Interface> interface_in(Bytes body) {
  const auto head = front_of<ifinfomsg>(body);
  Interface found{.flags = head.ifi_flags};
  for_each_attribute(behind(body, sizeof head), [&found](unsigned type, Bytes value) {
    if (type == IFLA_IFNAME) found.name = text_in(value);
  });
  return {static_cast<unsigned>(head.ifi_index), std::move(found)};
}

struct Told {
  unsigned interface = 0;  // its index
  unsigned flags = 0;      // IFA_F_…, of IPv6: the same bits mean something else for IPv4
  LocalAddress address{};  // with its label if it has one, such as eth0:1
};

std::optional<Told> address_in(Bytes body) {
  const auto head = front_of<ifaddrmsg>(body);
  Told told{.interface = head.ifa_index, .flags = head.ifa_flags};
  told.address.is_v6 = head.ifa_family == AF_INET6;
  told.address.prefix_bits = head.ifa_prefixlen;
  if (!told.address.is_v6 && head.ifa_family != AF_INET) return std::nullopt;
  Bytes bytes;
  bool is_ours = false;  // false: the other end of a point-to-point link
  for_each_attribute(behind(body, sizeof head), [&](unsigned type, Bytes value) {
    if (type == IFA_LABEL) told.address.interface = text_in(value);
    if (type == IFA_FLAGS) told.flags = front_of<std::uint32_t>(value);
    if (type != IFA_LOCAL && (type != IFA_ADDRESS || is_ours)) return;
    is_ours = type == IFA_LOCAL;
    bytes = value;
  });
  if (bytes.size() != (told.address.is_v6 ? sizeof(in6_addr) : sizeof(in_addr)))
    return std::nullopt;
  std::memcpy(told.address.bytes_be.data(), bytes.data(), bytes.size());
  if (!told.address.is_v6) told.flags = 0;
  return told;
}

bool is_link_local(const LocalAddress& address) {
  return address.is_v6 && address.bytes_be[0] == 0xfe && (address.bytes_be[1] & 0xc0) == 0x80;
}

// Temporary addresses are left out, as in lustre-release lnet/lnet/lib-socket.c:
// lnet_inet6_enumerate().
bool is_wanted(const Told& told, unsigned link, bool all) {
  // The loopback interface has addresses on sites that route on their hosts.
  if (((link & IFF_LOOPBACK) != 0 && !all) || is_link_local(told.address)) return false;
  if ((told.flags & IFA_F_DADFAILED) != 0) return false;
  return all || ((link & IFF_UP) != 0 && (told.flags & IFA_F_TEMPORARY) == 0);
}

// Optimistic addresses are in use during duplicate address detection.
bool is_in_use(const Told& told) {
  return (told.flags & IFA_F_TENTATIVE) == 0 || (told.flags & IFA_F_OPTIMISTIC) != 0;
}

// --- The request ---

// Largest piece of an answer that the system sends.
constexpr std::size_t kReadBytes = 32'768;
// Limit of repetitions when addresses keep changing during the answers.
constexpr unsigned kAsksMax = 4;

class Question {
 public:
  Question() : socket_(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE)) {}
  ~Question() {
    if (socket_ >= 0) ::close(socket_);
  }
  Question(const Question&) = delete;
  Question& operator=(const Question&) = delete;

  // False: no answer. Appends the answer to `answers`.
  [[nodiscard]] bool ask(std::uint16_t type, std::vector<std::byte>& answers) {
    struct {
      nlmsghdr head{};
      rtgenmsg of{};
    } request;
    request.head.nlmsg_len = sizeof request;
    request.head.nlmsg_type = type;
    request.head.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
    request.head.nlmsg_seq = ++sequence_;
    request.of.rtgen_family = AF_UNSPEC;
    if (socket_ < 0 || ::send(socket_, &request, sizeof request, 0) != sizeof request) return false;
    State state = State::kGoesOn;
    while (state == State::kGoesOn)
      state = read(answers);
    return state == State::kEnded;
  }
  // Something changed between two pieces of an answer, so that the answer may be incomplete.
  [[nodiscard]] bool take_torn() { return std::exchange(torn_, false); }

 private:
  enum class State : std::uint8_t { kGoesOn, kEnded, kFailed };

  State read(std::vector<std::byte>& answers) {
    const std::size_t before = answers.size();
    answers.resize(before + kReadBytes);
    const auto length = ::recv(socket_, answers.data() + before, kReadBytes, MSG_TRUNC);
    const bool whole = length > 0 && static_cast<std::size_t>(length) <= kReadBytes;
    answers.resize(before + (whole ? static_cast<std::size_t>(length) : 0));
    if (!whole) return length < 0 && errno == EINTR ? State::kGoesOn : State::kFailed;
    State state = State::kGoesOn;
    for_each_message(Bytes(answers).subspan(before), [&](const nlmsghdr& head, Bytes body) {
      if (head.nlmsg_seq != sequence_) return;
      if ((head.nlmsg_flags & NLM_F_DUMP_INTR) != 0) torn_ = true;
      if (head.nlmsg_type == NLMSG_ERROR) state = State::kFailed;
      if (head.nlmsg_type == NLMSG_DONE)
        state = front_of<std::int32_t>(body) < 0 ? State::kFailed : State::kEnded;
    });
    return state;
  }

  const int socket_;
  std::uint32_t sequence_ = 0;
  bool torn_ = false;
};

}  // namespace

std::vector<LocalAddress> local_addresses_in(std::span<const std::byte> answers, bool all) {
  std::unordered_map<unsigned, Interface> interfaces;
  std::vector<Told> addresses;
  for_each_message(answers, [&](const nlmsghdr& head, Bytes body) {
    if (head.nlmsg_type == RTM_NEWLINK) interfaces.insert(interface_in(body));
    if (head.nlmsg_type != RTM_NEWADDR) return;
    if (auto told = address_in(body)) addresses.push_back(std::move(*told));
  });
  std::vector<LocalAddress> found;
  std::vector<LocalAddress> deprecated;
  for (Told& told : addresses) {
    const auto on = interfaces.find(told.interface);
    if (on == interfaces.end() || !is_wanted(told, on->second.flags, all)) continue;
    if (told.address.interface.empty()) told.address.interface = on->second.name;
    told.address.up = (on->second.flags & IFF_UP) != 0;
    told.address.loopback = (on->second.flags & IFF_LOOPBACK) != 0;
    told.address.running = (on->second.flags & IFF_RUNNING) != 0 && is_in_use(told);
    auto& list = (told.flags & IFA_F_DEPRECATED) == 0 ? found : deprecated;
    list.push_back(std::move(told.address));
  }
  std::ranges::move(deprecated, std::back_inserter(found));
  return found;
}

Outcome<std::vector<LocalAddress>> local_addresses(bool all) {
  Question question;
  std::vector<std::byte> answers;
  for (unsigned asks = 0; asks < kAsksMax; ++asks) {
    answers.clear();
    // Links last, so that the interface of an address is among them even if both are new.
    if (!question.ask(RTM_GETADDR, answers) || !question.ask(RTM_GETLINK, answers))
      return failure(Errc::kIo, "the addresses of this machine's interfaces cannot be read");
    if (!question.take_torn()) break;
  }
  return local_addresses_in(answers, all);
}

std::string interface_trouble(const std::string& name) {
  if (::if_nametoindex(name.c_str()) == 0)
    return fmt::format("there is no interface {}; `ip link` lists them", name);
  const int socket = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  ifreq request{};
  name.copy(static_cast<char*>(request.ifr_name), sizeof(request.ifr_name) - 1);
  const bool told = socket >= 0 && ::ioctl(socket, SIOCGIFFLAGS, &request) == 0;
  if (socket >= 0) ::close(socket);
  if (told && (request.ifr_flags & IFF_UP) == 0)
    return fmt::format("interface {0} is not up; `ip link set {0} up`", name);
  return fmt::format("interface {0} has no address for it; `ip address show {0}`", name);
}

}  // namespace plnet::runtime
