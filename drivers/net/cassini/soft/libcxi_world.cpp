// SPDX-License-Identifier: BSD-3-Clause
// The devices behind libcxi's functions in a process that loads the shared object. The C interface
// has no context argument, so there is one world per process, created by the first call and kept to
// the end.
#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <climits>
#include <cstdio>
#include <expected>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <dlfcn.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include "drivers/net/cassini/soft/allocations.hpp"
#include "drivers/net/cassini/soft/driver_files.hpp"
#include "drivers/net/cassini/soft/fabric.hpp"
#include "drivers/net/cassini/soft/libcxi_functions.hpp"
#include "drivers/net/cassini/soft/local_sharing.hpp"
#include "drivers/net/cassini/soft/nic_pacing.hpp"
#include "drivers/net/cassini/soft/packet_port.hpp"
#include "drivers/net/cassini/soft/soft_config.hpp"
#include "drivers/net/cassini/soft/wire_local.hpp"

namespace plnet::cassini::soft {
namespace {

constexpr std::size_t kConfigMax = 65536;

std::uint64_t real_time_ns() {
  return static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch() /
                                    std::chrono::nanoseconds(1));
}

// As the driver makes it (cass_svc.c: cass_svc_init()): libfabric's provider executes no triggered
// operations for a service that keeps none.
Service default_service(const SoftConfig& config) {
  constexpr unsigned kTriggered = SoftConfig::kTriggeredKept;
  Service service{.id = kDefaultService, .vnis = config.vnis};
  service.any_vni = config.vnis.empty();
  service.restricts_resources = true;
  service.shares[static_cast<unsigned>(Resource::kTriggered)] = {.most = kTriggered,
                                                                 .kept = kTriggered};
  return service;
}

NicOptions nic_options(const SoftConfig& config, NicAddress address) {
  std::vector<Service> services{default_service(config)};
  services.insert(services.end(), config.services.begin(), config.services.end());
  return {.address = address,
          .services = std::move(services),
          .traffic_classes = config.traffic_classes,
          .strict = config.strict};
}

// The NICs of this process, which one thread steps.
class Devices {
 public:
  virtual ~Devices() = default;
  [[nodiscard]] virtual Gate& gate() = 0;
  [[nodiscard]] virtual std::vector<Nic*> nics() = 0;
  // Returns the amount of work.
  virtual unsigned step() = 0;
};

// Joined in this process alone. Nothing here waits for real time: the clock is one of their own.
class JoinedDevices final : public Devices {
 public:
  explicit JoinedDevices(const SoftConfig& config) {
    for (const NicAddress address : config.addresses)
      nics_.push_back(&fabric_.add(nic_options(config, address)));
  }
  [[nodiscard]] Gate& gate() override { return fabric_.gate(); }
  [[nodiscard]] std::vector<Nic*> nics() override { return nics_; }
  unsigned step() override {
    constexpr std::uint64_t kNsPerStep = 100;
    const unsigned done = fabric_.step(now_ns_);
    if (fabric_.now_ns() == now_ns_) now_ns_ += kNsPerStep;  // else another thread allocates
    return done;
  }

 private:
  Fabric fabric_;
  std::vector<Nic*> nics_;
  std::uint64_t now_ns_ = 0;
};

std::uint64_t wall_ns() {
  return static_cast<std::uint64_t>(std::chrono::system_clock::now().time_since_epoch() /
                                    std::chrono::nanoseconds(1));
}

// Each on a wire to the NICs of other processes. Packets wait for answers in real time.
class WiredDevices final : public Devices {
 public:
  static std::expected<std::unique_ptr<WiredDevices>, std::string> open(const SoftConfig& config) {
    auto made = std::unique_ptr<WiredDevices>(new WiredDevices);
    const std::string& state = config.state.empty() ? config.fabric : config.state;
    for (const NicAddress address : config.addresses) {
      const NicOptions options = nic_options(config, address);
      auto wire = WireLocal::open({.directory = config.fabric, .address = address});
      if (!wire) return std::unexpected(std::move(wire.error().what));
      auto sharing = LocalSharing::open(state + LocalSharing::file_name(address), options.services);
      if (!sharing) return std::unexpected(std::move(sharing.error().what));
      const auto id = static_cast<unsigned>(made->devices_.size());
      made->devices_.push_back(
          std::make_unique<Device>(made->gate_, std::move(*wire), std::move(*sharing), options));
      made->devices_.back()->open_files(config.state, id);
    }
    return made;
  }
  // Programs find the last values in the files.
  ~WiredDevices() override {
    for (const auto& device : devices_)
      device->tell_last();
  }
  [[nodiscard]] Gate& gate() override { return gate_; }
  [[nodiscard]] std::vector<Nic*> nics() override {
    std::vector<Nic*> all;
    all.reserve(devices_.size());
    for (const auto& device : devices_)
      all.push_back(&device->nic);
    return all;
  }
  unsigned step() override {
    const std::uint64_t now_ns = real_time_ns();
    unsigned done = 0;
    for (const auto& device : devices_)
      done += device->port.step(now_ns);
    if (now_ns >= tell_at_ns_) tell_others(now_ns);
    return done;
  }

 private:
  struct Device {
    Device(Gate& gate, std::unique_ptr<WireLocal> to_others,
           std::unique_ptr<LocalSharing> with_others, const NicOptions& options)
        : wire(std::move(to_others)),
          sharing(std::move(with_others)),
          nic(options),
          port(nic, *wire, port_options(wire->own()), nullptr, &gate) {
      nic.set_pid_owners(&wire->pids());
      nic.share(sharing.get());
    }
    // Without a directory there are no files.
    void open_files(const std::string& state, unsigned id) {
      if (state.empty()) return;
      files.emplace(state, id);
      nic.set_host_files(&*files);
      (void)nic.read_atomic_remap();
      nic.show_resource_groups();
    }
    void tell_counters() const {
      const CounterView view = nic.counters();
      std::array<std::uint64_t, Sharing::kCountersMax> values{};
      static_assert(NicCounters::kInfo.size() <= values.size());
      for (std::size_t i = 0; i < view.values.size(); ++i)
        values[i] = view.value(i);
      sharing->tell_counters({values.data(), view.values.size()});
    }
    void tell_last() {
      tell_counters();
      if (files) files->show_all_counters(nic, wall_ns());
    }
    std::unique_ptr<WireLocal> wire;
    std::unique_ptr<LocalSharing> sharing;
    std::optional<DriverFiles> files;
    Nic nic;
    PacketPort port;
  };

  WiredDevices() = default;
  // Tells other processes and programs of these NICs, and takes over their changes.
  void tell_others(std::uint64_t now_ns) {
    constexpr std::uint64_t kPeriodNs = 10'000'000;
    if (!gate_.try_lock()) return;
    const Gate::Held held(gate_, Gate::Held::Already{});
    tell_at_ns_ = now_ns + kPeriodNs;
    for (const auto& device : devices_) {
      device->nic.services().refresh();
      device->tell_counters();
      (void)device->nic.read_atomic_remap();
      if (device->files) device->files->show_next_counter(device->nic, wall_ns());
    }
  }
  static PortOptions port_options(NicAddress address) {
    // Sixteenths of a second, as of a NIC on a port of DPDK: peers recognise a restart.
    constexpr std::uint64_t kIncarnationNs = 62'500'000;
    // A peer that does not answer is a process that has ended or is stopped; another may have its
    // address at any moment.
    constexpr std::uint64_t kDownNidNs = 4'000'000'000;
    // Processes that have ended say nothing about a switch.
    constexpr unsigned kNoSwitch = UINT_MAX;
    const std::uint64_t now_ns = real_time_ns();
    // A fabric of one host: a few processes, each with a few endpoints.
    return {.payload_max = kPayloadMax,
            .retry = {.down_nid_ns = kDownNidNs, .down_switch_nids = kNoSwitch},
            .incarnation = static_cast<std::uint32_t>(now_ns / kIncarnationNs) & 0xffff,
            .source_connections = 1024,
            .target_connections = 2048,
            .seed = now_ns ^ address};
  }

  Gate gate_;
  std::vector<std::unique_ptr<Device>> devices_;
  std::uint64_t tell_at_ns_ = 0;
};

// The devices, what this process has allocated on them, and the thread that steps them.
class World {
 public:
  explicit World(std::unique_ptr<Devices> devices)
      : devices_(std::move(devices)),
        nics_(devices_->nics()),
        allocations_(devices_->gate(), nics_),
        thread_([this] { run(); }) {}
  ~World() {
    stop_.store(true, std::memory_order_relaxed);
    thread_.join();
  }
  World(const World&) = delete;
  World& operator=(const World&) = delete;
  [[nodiscard]] Allocations& allocations() { return allocations_; }

 private:
  void run() {
    // A sleep ends when it should, not up to 50 us later.
    (void)::prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0);
    std::uint64_t stepped_ns = real_time_ns();
    while (!stop_.load(std::memory_order_relaxed)) {
      const unsigned done = devices_->step();
      const std::uint64_t now_ns = real_time_ns();
      if (now_ns - stepped_ns > NicPacing::kInterruptedNs && was_interrupted())
        pacing_.on_interrupted(now_ns);
      stepped_ns = now_ns;
      if (done != 0) {
        pacing_.on_work(now_ns);
      } else if (const std::uint64_t sleep_ns = pacing_.sleep_ns(now_ns, must_step_often());
                 sleep_ns > 0) {
        std::this_thread::sleep_for(std::chrono::nanoseconds(sleep_ns));
        stepped_ns = real_time_ns();
        pacing_.on_wake(now_ns, sleep_ns, stepped_ns);
      }
    }
  }
  bool must_step_often() const {
    return std::ranges::any_of(nics_, [](const Nic* nic) { return nic->must_step_often(); });
  }
  // Another thread has taken the CPU from this one since the last call.
  bool was_interrupted() {
    rusage usage{};
    if (::getrusage(RUSAGE_THREAD, &usage) != 0) return false;
    return usage.ru_nivcsw != std::exchange(interruptions_, usage.ru_nivcsw);
  }

  std::unique_ptr<Devices> devices_;
  const std::vector<Nic*> nics_;
  Allocations allocations_;
  NicPacing pacing_;
  long interruptions_ = 0;
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

std::expected<std::unique_ptr<Devices>, std::string> make_devices(const SoftConfig& config) {
  if (config.fabric.empty()) return std::make_unique<JoinedDevices>(config);
  return WiredDevices::open(config);
}

std::unique_ptr<World> make_world() {
  const auto config = read_config();
  auto devices = config ? make_devices(*config) : std::unexpected(config.error());
  if (devices) return std::make_unique<World>(std::move(*devices));
  (void)std::fprintf(stderr, "libcxi: %s\n", devices.error().c_str());
  return nullptr;
}

// Null: the file beside the library (its path and ".conf") has an error, or the fabric that it
// names is not there; stderr has the reason.
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
