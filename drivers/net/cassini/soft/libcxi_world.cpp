// SPDX-License-Identifier: BSD-3-Clause
// The devices behind libcxi's functions in a process that loads the shared object. The C interface
// has no context argument, so there is one world per process, created by the first call and kept to
// the end.
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <expected>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <dlfcn.h>

#include "drivers/net/cassini/soft/allocations.hpp"
#include "drivers/net/cassini/soft/fabric.hpp"
#include "drivers/net/cassini/soft/libcxi_functions.hpp"
#include "drivers/net/cassini/soft/soft_config.hpp"

namespace plnet::cassini::soft {
namespace {

constexpr std::uint64_t kNsPerStep = 100;  // a clock of its own: nothing here waits for real time
constexpr std::size_t kConfigMax = 65536;

std::vector<Nic*> make_nics(Fabric& fabric, const SoftConfig& config) {
  std::vector<Nic*> nics;
  nics.reserve(config.addresses.size());
  for (const NicAddress address : config.addresses) {
    nics.push_back(&fabric.add({.address = address,
                                .services = {Service{.id = kDefaultService, .vnis = config.vnis}},
                                .strict = config.strict}));
  }
  return nics;
}

// Devices joined in this process, and a thread that steps them.
class World {
 public:
  explicit World(const SoftConfig& config)
      : allocations_(fabric_.gate(), make_nics(fabric_, config)), thread_([this] { run(); }) {}
  ~World() {
    stop_.store(true, std::memory_order_relaxed);
    thread_.join();
  }
  World(const World&) = delete;
  World& operator=(const World&) = delete;
  [[nodiscard]] Allocations& allocations() { return allocations_; }

 private:
  void run() {
    for (std::uint64_t now = 0; !stop_.load(std::memory_order_relaxed);) {
      if (fabric_.step(now) == 0) std::this_thread::yield();
      if (fabric_.now_ns() != now) continue;  // another thread allocates: not a step
      now += kNsPerStep;
    }
  }

  Fabric fabric_;
  Allocations allocations_;
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

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
  (void)std::fprintf(stderr, "libcxi: %s\n", config.error().c_str());
  return nullptr;
}

// Null: the file beside the library (its path and ".conf") has an error, which is on stderr.
World* world() {
  static const std::unique_ptr<World> the_world = make_world();
  return the_world.get();
}

}  // namespace
}  // namespace plnet::cassini::soft

namespace plnet::cassini::libcxi {

int cxil_get_device_list(DeviceList** list) {
  soft::World* const world = soft::world();
  return world == nullptr ? -EINVAL : world->allocations().get_device_list(list);
}

int cxil_open_device(std::uint32_t id, Device** device) {
  soft::World* const world = soft::world();
  return world == nullptr ? -EINVAL : world->allocations().open_device(id, device);
}

}  // namespace plnet::cassini::libcxi
