// SPDX-License-Identifier: BSD-3-Clause
// Two network namespaces on a wire that loses, repeats, reorders and damages frames from a seed:
// two veth pairs whose near ends this process holds and forwards frames between. It replaces netem
// on kernels that have none.
#pragma once

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "drivers/net/cassini/soft/link/frame.hpp"
#include "lib/base/random.hpp"

namespace plnet::cassini::soft {

// Runs a program until it exits. True: exit code 0.
inline bool run_program(std::vector<std::string> words) {
  std::vector<char*> argv;
  argv.reserve(words.size() + 1);
  for (std::string& word : words)
    argv.push_back(word.data());
  argv.push_back(nullptr);
  const pid_t pid = ::fork();
  if (pid == 0) {
    const int nowhere = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (nowhere >= 0) (void)::dup2(nowhere, STDERR_FILENO);
    ::execvp(argv[0], argv.data());
    ::_exit(127);
  }
  int status = -1;
  return pid > 0 && ::waitpid(pid, &status, 0) == pid && WIFEXITED(status) &&
         WEXITSTATUS(status) == 0;
}

struct VethFaults {
  double loss = 0;
  double duplication = 0;
  double damage = 0;
  double overtaking = 0;  // share of frames that the next frame overtakes
};

class BadVeth {
 public:
  explicit BadVeth(std::uint64_t seed) : random_(seed) {
    static unsigned count = 0;  // deleted devices may take a while to disappear
    const std::string tag = std::to_string(::getpid() % 1'000'000) + "-" + std::to_string(++count);
    for (std::size_t i = 0; i < kEnds; ++i) {
      ends_[i].space = "plnet-cas-" + tag + (i == 0 ? "-a" : "-b");
      ends_[i].device = "plc" + tag + (i == 0 ? "a" : "b");
    }
    is_laid_ = std::ranges::all_of(ends_, [](End& end) { return lay(end); });
  }
  ~BadVeth() {
    for (const End& end : ends_) {
      if (end.socket >= 0) (void)::close(end.socket);
      (void)run_program({"ip", "link", "delete", end.device});
      (void)run_program({"ip", "netns", "delete", end.space});
    }
  }
  BadVeth(const BadVeth&) = delete;
  BadVeth& operator=(const BadVeth&) = delete;

  // False: namespaces, veth devices or packet sockets are not available.
  [[nodiscard]] bool is_laid() const { return is_laid_; }
  [[nodiscard]] std::vector<std::string> inside(std::size_t end,
                                                const std::vector<std::string>& words) const {
    std::vector<std::string> all = {"ip", "netns", "exec", ends_[end].space};
    all.insert(all.end(), words.begin(), words.end());
    return all;
  }
  // Sets the link of our end; the other end sees the carrier change.
  void set_link(std::size_t end, bool up) {
    (void)run_program({"ip", "link", "set", ends_[end].device, up ? "up" : "down"});
  }
  bool set_mac(std::size_t end, const std::string& mac) {
    return run_program({"ip", "-n", ends_[end].space, "link", "set", "eth0", "address", mac});
  }

  // Forwards waiting frames; waits briefly if there are none.
  void carry() {
    std::array<::pollfd, kEnds> entries{};
    for (std::size_t i = 0; i < kEnds; ++i)
      entries[i] = {.fd = ends_[i].socket, .events = POLLIN, .revents = 0};
    if (::poll(entries.data(), entries.size(), 1) <= 0) {
      for (std::size_t i = 0; i < kEnds; ++i)
        release(i);
      return;
    }
    for (std::size_t i = 0; i < kEnds; ++i)
      take(i);
  }

  VethFaults faults;
  std::uint64_t carried = 0;
  std::uint64_t lost = 0;

 private:
  static constexpr std::size_t kEnds = 2;
  static constexpr std::size_t kFrameMax = 2048;
  static constexpr int kAtOnce = 64;  // frames of one end before the other gets its turn

  struct End {
    std::string space;
    std::string device;
    int socket = -1;
    std::vector<std::byte> held;  // delayed; the next frame overtakes it
  };

  static bool lay(End& end) {
    if (!run_program({"ip", "netns", "add", end.space}) ||
        !run_program({"ip", "link", "add", end.device, "type", "veth", "peer", "name", "eth0",
                      "netns", end.space}) ||
        !run_program({"ip", "link", "set", end.device, "up"}) ||
        !run_program({"ip", "-n", end.space, "link", "set", "eth0", "up"}))
      return false;
    end.socket = ::socket(AF_PACKET, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    ::sockaddr_ll address{};
    address.sll_family = AF_PACKET;
    address.sll_protocol = htons(link::kEtherType);
    address.sll_ifindex = static_cast<int>(::if_nametoindex(end.device.c_str()));
    const int on = 1;
    ::packet_mreq promiscuous{};
    promiscuous.mr_ifindex = address.sll_ifindex;
    promiscuous.mr_type = PACKET_MR_PROMISC;
    return end.socket >= 0 &&
           ::setsockopt(end.socket, SOL_PACKET, PACKET_IGNORE_OUTGOING, &on, sizeof on) == 0 &&
           ::setsockopt(end.socket, SOL_PACKET, PACKET_ADD_MEMBERSHIP, &promiscuous,
                        sizeof promiscuous) == 0 &&
           ::bind(end.socket, reinterpret_cast<const ::sockaddr*>(&address), sizeof address) == 0;
  }
  void take(std::size_t from) {
    for (int i = 0; i < kAtOnce; ++i) {
      std::vector<std::byte> frame(kFrameMax);
      const ssize_t got = ::recv(ends_[from].socket, frame.data(), frame.size(), 0);
      if (got <= 0) return;
      frame.resize(static_cast<std::size_t>(got));
      judge(1 - from, std::move(frame));
    }
  }
  void judge(std::size_t to, std::vector<std::byte> frame) {
    ++carried;
    if (random_.chance(faults.loss)) {
      ++lost;
      return;
    }
    if (random_.chance(faults.damage))
      frame[random_.below(frame.size())] ^= static_cast<std::byte>(1U << random_.below(8));
    const bool twice = random_.chance(faults.duplication);
    if (ends_[to].held.empty() && random_.chance(faults.overtaking)) {
      ends_[to].held = std::move(frame);
      return;
    }
    put(to, frame);
    if (twice) put(to, frame);
    release(to);
  }
  void release(std::size_t to) {
    if (!ends_[to].held.empty()) put(to, std::exchange(ends_[to].held, {}));
  }
  void put(std::size_t to, const std::vector<std::byte>& frame) {
    (void)::send(ends_[to].socket, frame.data(), frame.size(), 0);
  }

  Random random_;
  std::array<End, kEnds> ends_;
  bool is_laid_ = false;
};

}  // namespace plnet::cassini::soft
