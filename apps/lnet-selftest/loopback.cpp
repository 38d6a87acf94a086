// SPDX-License-Identifier: BSD-3-Clause
#include "apps/lnet-selftest/loopback.hpp"

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <system_error>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "apps/lnet-selftest/console_starter.hpp"
#include "apps/lnet-selftest/service/whole_node.hpp"
#include "drivers/net/tcp/socket.hpp"
#include "lib/runtime/admin/descriptor.hpp"
#include "lib/runtime/config/module_options.hpp"
#include "lib/runtime/config/schema.hpp"
#include "lib/runtime/config/settings_reader.hpp"
#include "lib/runtime/cpt/cpt_plan.hpp"

namespace plnet::run {
namespace {

using socklnd::SocketAddress;

constexpr mode_t kLogMode = 0600;
constexpr unsigned kPortsTried = 100;
constexpr auto kLookPeriod = std::chrono::milliseconds(10);
// LNet waits some seconds for its peers at the end.
constexpr auto kEndMax = std::chrono::seconds(15);

SocketAddress loopback_address(std::uint8_t last, std::uint16_t port) {
  SocketAddress address;
  address.ip = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 127, 0, 0, last};
  address.port = port;
  return address;
}

// The port; chosen by the system if it was 0.
std::optional<std::uint16_t> bind_to(const SocketAddress& address, drivers::TcpSocket& socket) {
  auto opened = drivers::open_socket(address);
  if (!opened) return std::nullopt;
  socket = std::move(*opened);
  const drivers::SystemAddress at(address);
  if (::bind(socket.get(), at.get(), at.size) != 0 || ::listen(socket.get(), 1) != 0)
    return std::nullopt;
  sockaddr_storage bound{};
  socklen_t size = sizeof bound;
  if (::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&bound), &size) != 0)
    return std::nullopt;
  return drivers::address_of(bound).port;
}

// A port that is free at both addresses: LNet itself may use 988.
Outcome<std::uint16_t> free_port() {
  for (unsigned i = 0; i < kPortsTried; ++i) {
    drivers::TcpSocket first;
    drivers::TcpSocket second;
    const auto port = bind_to(loopback_address(1, 0), first);
    if (port && bind_to(loopback_address(2, *port), second)) return *port;
  }
  return failure(Errc::kBusy, "no TCP port is free on 127.0.0.1 and 127.0.0.2");
}

// A core for each node if there are two.
Outcome<std::array<unsigned, 2>> two_cpus() {
  const auto planned =
      runtime::plan_machine({.by = runtime::CptPlanRequest::By::kCore, .shards_per_cpt = 1}, {});
  if (!planned) return std::unexpected(planned.error());
  const auto& cpts = planned->plan.cpts;
  const auto& first = cpts.front();
  const unsigned one = first.shards.front().cpu;
  if (cpts.size() > 1) return std::array{one, cpts[1].shards.front().cpu};
  return std::array{one, first.spare_cpus.empty() ? one : first.spare_cpus.front()};
}

Outcome<runtime::Settings> settings_of(const char* nid, unsigned cpu, std::uint16_t port,
                                       runtime::IdlePolicy idle) {
  runtime::Settings settings;
  // No other machine is involved, so ports need not be reserved.
  auto options = runtime::read_module_options(
      fmt::format("options lnet accept=all accept_port={0} accept_port_bulk={0}\n", port),
      "loopback");
  if (!options) return std::unexpected(options.error().to_error());
  settings.lnet = std::move(options->config);
  settings.cpts = {.by = runtime::CptPlanRequest::By::kList,
                   .list = {{.shards = {{.cpu = static_cast<int>(cpu)}}}}};
  settings.pollers.idle = idle;
  settings.selftest.enable = true;
  settings.lnet_limits.peers = 256;
  settings.log.level = runtime::LogLevel::kError;
  auto read = runtime::read_settings(
      runtime::Schema(),
      fmt::format("net: [{{net type: tcp, local NI(s): [{{nid: '{}'}}]}}]\n", nid), "loopback",
      settings);
  if (!read) return std::unexpected(read.error().to_error());
  return std::move(*read);
}

struct NodePlan {
  runtime::Settings settings;
  node::NodeOptions options;
  std::string log_path;
  pid_t parent = 0;
};

// Runs in the child. It ignores Ctrl-C, since its parent ends the session first, and it does not
// outlive its parent.
[[noreturn]] void become_node(const NodePlan& plan) {
  const runtime::Descriptor log(
      ::open(plan.log_path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, kLogMode));
  lst::leave_terminal(log.get());
  for (const int number : {SIGINT, SIGTERM, SIGHUP})
    (void)::signal(number, SIG_DFL);  // until the node installs its own handlers
  (void)::prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (::getppid() != plan.parent) ::_exit(1);
  int status = 0;
  try {
    const std::string instance = plan.options.instance;
    const auto ended = apps::run_node(plan.settings, plan.options, {.instance = instance});
    if (!ended) std::fprintf(stderr, "%s\n", ended.error().what.c_str());
    status = ended ? 0 : 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    status = 1;
  }
  // Buffered output of the parent must not be flushed here.
  ::_exit(status);
}

}  // namespace

Outcome<std::unique_ptr<Loopback>> Loopback::start(const std::string& lock_directory,
                                                   runtime::IdlePolicy idle, const Clock& clock) {
  std::unique_ptr<Loopback> loopback(new Loopback(clock));
  if (auto made = loopback->make_folder(); !made) return std::unexpected(std::move(made.error()));
  if (auto done = loopback->launch(lock_directory, idle); !done)
    return std::unexpected(std::move(done.error()));
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    if (auto up = loopback->await(i); !up) return std::unexpected(std::move(up.error()));
  }
  return loopback;
}

std::string Loopback::socket_of(const std::string& name) const {
  return fmt::format("{}/{}.sock", folder_, name);
}

Outcome<void> Loopback::make_folder() {
  std::error_code error;
  std::string folder = std::filesystem::temp_directory_path(error) / "lnet-selftest-XXXXXX";
  if (error || ::mkdtemp(folder.data()) == nullptr) {
    return failure(Errc::kIo, fmt::format("cannot make '{}': {}", folder,
                                          std::generic_category().message(errno)));
  }
  folder_ = std::move(folder);
  return {};
}

Outcome<void> Loopback::launch(const std::string& lock_directory, runtime::IdlePolicy idle) {
  const auto cpus = two_cpus();
  if (!cpus) return std::unexpected(cpus.error());
  cpus_ = *cpus;
  const auto port = free_port();
  if (!port) return std::unexpected(port.error());
  constexpr std::array kNids{kClient, kServer};
  for (std::size_t i = 0; i < children_.size(); ++i) {
    auto settings = settings_of(kNids[i], (*cpus)[i], *port, idle);
    if (!settings) return std::unexpected(std::move(settings.error()));
    NodePlan plan;
    plan.settings = std::move(*settings);
    plan.options.instance = kNames[i];
    plan.options.lock_directory = lock_directory;
    plan.log_path = fmt::format("{}/{}.log", folder_, kNames[i]);
    plan.parent = ::getpid();
    plan.options.socket.path = socket_of(kNames[i]);
    const pid_t child = ::fork();
    if (child < 0) return failure(Errc::kNoMemory, "cannot start another process");
    if (child == 0) become_node(plan);
    children_[i] = child;
  }
  return {};
}

Outcome<void> Loopback::await(std::size_t which) {
  const std::string name = kNames[which];
  const lst::Consoles consoles(folder_, clock_);
  const auto found = lst::await_console(consoles, socket_of(name), children_[which],
                                        fmt::format("{}/{}.log", folder_, name));
  if (found) return {};
  children_[which] = 0;  // it has ended
  return failure(Errc::kIo, fmt::format("the {} of --loopback: {}", name, found.error().why));
}

Plan loopback_plan() {
  Plan plan;
  plan.name = "loopback";
  plan.from_words = {Loopback::kClient};
  plan.to_words = {Loopback::kServer};
  plan.tests = {Operation::kPing, Operation::kRead, Operation::kWrite};
  plan.sizes = {4096, std::uint32_t{1} << 20};
  plan.warm_up = std::chrono::milliseconds(500);
  plan.duration = std::chrono::milliseconds(1500);
  return plan;
}

runtime::IdlePolicy loopback_idle(const Plan& plan) {
  const bool open = !plan.rates.empty() || plan.highest_rate.has_value();
  return open ? runtime::IdlePolicy::kYield : runtime::IdlePolicy::kSleep;
}

Loopback::~Loopback() {
  for (const pid_t child : children_) {
    if (child > 0) (void)::kill(child, SIGTERM);
  }
  const Instant begun = clock_.now();
  for (const pid_t child : children_) {
    if (child <= 0) continue;
    while (::waitpid(child, nullptr, WNOHANG) == 0) {
      if (clock_.now() - begun > kEndMax) (void)::kill(child, SIGKILL);
      std::this_thread::sleep_for(kLookPeriod);
    }
  }
  std::error_code error;
  if (!folder_.empty()) std::filesystem::remove_all(folder_, error);
}

}  // namespace plnet::run
