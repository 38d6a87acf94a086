// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/net/cassini/soft/libcxi_world.hpp"

#include <cstdio>

#include <dlfcn.h>
#include <sys/eventfd.h>
#include <unistd.h>

namespace plnet::cassini::soft {
namespace {

constexpr std::uint64_t kNsPerStep = 100;  // a clock of its own: nothing here waits for a time
constexpr std::size_t kConfigMax = 65536;

struct Closer {
  void operator()(std::FILE* file) const { (void)std::fclose(file); }
};

std::expected<SoftConfig, std::string> read_config() {
  Dl_info own{};
  if (dladdr(reinterpret_cast<const void*>(&read_config), &own) == 0 || own.dli_fname == nullptr)
    return SoftConfig{};
  const std::string path = std::string(own.dli_fname) + ".conf";
  const std::unique_ptr<std::FILE, Closer> file(std::fopen(path.c_str(), "re"));
  if (file == nullptr) return SoftConfig{};
  std::string text(kConfigMax, '\0');
  text.resize(std::fread(text.data(), 1, text.size(), file.get()));
  if (text.size() == kConfigMax) return std::unexpected(path + ": too long");
  auto config = parse_soft_config(text);
  if (!config) return std::unexpected(path + ": " + config.error());
  return config;
}

std::unique_ptr<World> make_world() {
  const auto config = read_config();
  if (config) return std::make_unique<World>(*config);
  (void)std::fprintf(stderr, "libplnet_cxi_soft: %s\n", config.error().c_str());
  return nullptr;
}

}  // namespace

World::World(const SoftConfig& config) {
  for (const NicAddress address : config.addresses)
    nics_.push_back(&fabric_.add({.address = address}));
  backend_ = std::make_unique<SoftBackend>(fabric_, nics_);
  thread_ = std::thread([this] { run(); });
}

World::~World() {
  stop_.store(true, std::memory_order_relaxed);
  thread_.join();
}

void World::run() {
  for (std::uint64_t now = 0; !stop_.load(std::memory_order_relaxed);) {
    if (fabric_.step(now) == 0) std::this_thread::yield();
    if (fabric_.now_ns() != now) continue;  // somebody allocates: not a step
    now += kNsPerStep;
    now_ns_.store(now, std::memory_order_release);
  }
}

World* world() {
  static const std::unique_ptr<World> the_world = make_world();
  return the_world.get();
}

}  // namespace plnet::cassini::soft

void cxil_wait_obj::wake() {
  if (told.exchange(true, std::memory_order_acq_rel)) return;  // one call for all until clear()
  constexpr std::uint64_t kOne = 1;
  (void)!write(fd, &kOne, sizeof kOne);
}

// In this order: what is told between the two needs no write, because whoever clears looks at the
// queues afterwards. The other way round a write between the two would be read away with `told`
// left set, and nobody would be woken any more. An exchange, not a store: that may become visible
// only after the look at the queues, and an event between them would wake nobody.
void cxil_wait_obj::clear() {
  std::uint64_t count = 0;
  (void)!read(fd, &count, sizeof count);
  (void)told.exchange(false, std::memory_order_acq_rel);
}

// Not libcxi's, for tests: stands still while the thread does.
PLNET_EXPORT std::uint64_t plnet_cxi_soft_now_ns() {
  plnet::cassini::soft::World* const world = plnet::cassini::soft::world();
  return world == nullptr ? 0 : world->now_ns();
}
