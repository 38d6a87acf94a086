// SPDX-License-Identifier: BSD-3-Clause
#include "apps/lnet-selftest/system_hosts.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>
#include <system_error>
#include <utility>

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <netdb.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "apps/lnet-selftest/run/report_files.hpp"

namespace plnet::apps {
namespace {

constexpr std::size_t kOutputMax = std::size_t{4} << 20;

std::unexpected<Error> failed(const std::string& command, const std::string& why) {
  return failure(Errc::kIo, fmt::format("{}: {}", command, why));
}

std::string read_all(int file) {
  std::string text;
  std::array<char, 4096> piece{};
  while (text.size() < kOutputMax) {
    const ssize_t got = ::read(file, piece.data(), piece.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    text.append(piece.data(), static_cast<std::size_t>(got));
  }
  return text;
}

// The output of a command; its error output is ours.
Outcome<std::string> output_of(std::vector<std::string> words) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0)
    return failed(words[0], std::generic_category().message(errno));
  posix_spawn_file_actions_t actions{};
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  std::vector<char*> arguments;
  arguments.reserve(words.size() + 1);
  for (std::string& word : words)
    arguments.push_back(word.data());
  arguments.push_back(nullptr);
  pid_t child = 0;
  const int spawned =
      ::posix_spawnp(&child, arguments[0], &actions, nullptr, arguments.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  ::close(ends[1]);
  if (spawned != 0) {
    ::close(ends[0]);
    return failed(words[0], std::generic_category().message(spawned));
  }
  std::string text = read_all(ends[0]);
  ::close(ends[0]);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) return failed(words[0], "it failed");
  return text;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::size_t begin = 0;
  while (begin < text.size()) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    if (end > begin) lines.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
}

bool is_loopback(const addrinfo& at) {
  if (at.ai_family == AF_INET6)
    return IN6_IS_ADDR_LOOPBACK(&reinterpret_cast<const sockaddr_in6*>(at.ai_addr)->sin6_addr) != 0;
  constexpr std::uint32_t kLoopbackNet = 127;
  return ntohl(reinterpret_cast<const sockaddr_in*>(at.ai_addr)->sin_addr.s_addr) >> 24U ==
         kLoopbackNet;
}

// Debian maps the host's own name to a loopback address, which is no NID.
Outcome<std::string> resolve(const std::string& host) {
  const addrinfo hints{.ai_flags = AI_ADDRCONFIG, .ai_socktype = SOCK_STREAM};
  addrinfo* found = nullptr;
  const int error = ::getaddrinfo(host.c_str(), nullptr, &hints, &found);
  if (error != 0) return failure(Errc::kNotFound, ::gai_strerror(error));
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> all(found, &::freeaddrinfo);
  std::array<char, INET6_ADDRSTRLEN> text{};
  for (const int family : {AF_INET, AF_INET6}) {
    for (const addrinfo* each = all.get(); each != nullptr; each = each->ai_next) {
      if (each->ai_family != family || is_loopback(*each)) continue;
      if (::getnameinfo(each->ai_addr, each->ai_addrlen, text.data(), text.size(), nullptr, 0,
                        NI_NUMERICHOST) == 0)
        return std::string(text.data());
    }
  }
  return failure(Errc::kNotFound, "its name has no address that other hosts reach");
}

// "" if Slurm knows no such node.
std::string node_address(const std::string& host) {
  constexpr std::string_view kKey = "NodeAddr=";
  const auto text = output_of({"scontrol", "show", "node", "--oneliner", host});
  if (!text) return {};
  const std::size_t begin = text->find(kKey);
  if (begin == std::string::npos) return {};
  const std::size_t from = begin + kKey.size();
  return text->substr(from, text->find(' ', from) - from);
}

}  // namespace

Outcome<std::string> SystemHosts::read_file(const std::string& path) const {
  return run::read_file(path);
}

Outcome<std::vector<std::string>> SystemHosts::hosts_of_job(const std::string& job) const {
  std::string nodes = own_nodes_;
  if (!job.empty()) {
    const auto listed = output_of({"squeue", "--noheader", "--jobs", job, "--format", "%N"});
    if (!listed) return std::unexpected(listed.error());
    nodes.clear();
    for (const std::string& line : lines_of(*listed))
      nodes += (nodes.empty() ? "" : ",") + line;
    if (nodes.empty())
      return failure(Errc::kMissing,
                     fmt::format("job {} of Slurm has no nodes: does it run?", job));
  }
  if (nodes.empty()) {
    return failure(Errc::kMissing,
                   "no job is given, and this is no allocation of Slurm: SLURM_JOB_NODELIST is not "
                   "set");
  }
  const auto hosts = output_of({"scontrol", "show", "hostnames", nodes});
  if (!hosts) return std::unexpected(hosts.error());
  return lines_of(*hosts);
}

Outcome<std::string> SystemHosts::address_of(const std::string& host) const {
  if (host.starts_with('-')) return failure(Errc::kInvalid, "not the name of a host");
  auto address = resolve(host);
  if (address) return address;
  const std::string slurms = node_address(host);
  if (slurms.empty() || slurms == host) return address;
  return resolve(slurms);
}

}  // namespace plnet::apps
