// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/net/cassini/soft/driver_files.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <string_view>

#include <fcntl.h>
#include <unistd.h>

namespace plnet::cassini::soft {
namespace {

// One of 256 is the driver's own (cass_rgid.c).
constexpr unsigned kResourceGroups = 255;
constexpr std::size_t kTextMax = 64;

LocalDescriptor open_file(const std::string& path, int flags) {
  return LocalDescriptor(::open(path.c_str(), flags | O_CLOEXEC));
}

template <class... Values>
void show(const LocalDescriptor& file, const char* format, Values... values) {
  if (!file) return;
  std::array<char, kTextMax> text{};
  const int length = std::snprintf(text.data(), text.size(), format, values...);
  (void)!::pwrite(file.number(), text.data(), static_cast<std::size_t>(length), 0);
  (void)!::ftruncate(file.number(), length);  // after a longer one
}

// cass_ixe.c: cass_ixe_valid_amo_remap_to_pcie_fadd()
bool is_remap(int value) {
  constexpr int kNone = -1;
  constexpr int kNotThere = 3;
  constexpr auto kLast = static_cast<int>(AtomicOperation::kSwap);
  return value >= kNone && value <= kLast && value != kNotThere;
}

}  // namespace

DriverFiles::DriverFiles(const std::string& state, unsigned id) {
  const std::string folder = state + "/cxi/cxi" + std::to_string(id) + "/device/";
  groups_ = open_file(folder + "properties/rgids_avail", O_WRONLY);
  remap_ = open_file(folder + "properties/amo_remap_to_pcie_fadd", O_RDONLY);
  for (std::size_t i = 0; i < kCounters; ++i)
    telemetry_[i].file =
        open_file(folder + "telemetry/" + std::string(kDriverCounters[i].name), O_WRONLY);
}

void DriverFiles::show_resource_groups(unsigned used) {
  show(groups_, "%u\n", kResourceGroups - std::min(used, kResourceGroups));
}

// A text that the driver would refuse changes nothing, like the moment when the file is empty.
int DriverFiles::atomic_remap() {
  std::array<char, kTextMax> text{};
  const ssize_t length = remap_ ? ::pread(remap_.number(), text.data(), text.size(), 0) : 0;
  if (length <= 0) return last_remap_;
  const char* const end = std::find(text.data(), text.data() + length, '\n');
  int value = 0;
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error == std::errc() && stop == end && is_remap(value)) last_remap_ = value;
  return last_remap_;
}

bool DriverFiles::show_counter(const Nic& nic, std::size_t which, std::uint64_t wall_ns) {
  Telemetry& one = telemetry_[which];
  const std::uint64_t value = driver_counter(nic, kDriverCounters[which].number);
  if (value == one.shown) return false;
  one.shown = value;
  constexpr std::uint64_t kNsPerSecond = 1'000'000'000;
  show(one.file, "%llu@%llu.%09llu\n", static_cast<unsigned long long>(value),
       static_cast<unsigned long long>(wall_ns / kNsPerSecond),
       static_cast<unsigned long long>(wall_ns % kNsPerSecond));
  return true;
}

void DriverFiles::show_next_counter(const Nic& nic, std::uint64_t wall_ns) {
  for (std::size_t i = 0; i < kCounters; ++i) {
    const std::size_t which = next_;
    next_ = (next_ + 1) % kCounters;
    if (show_counter(nic, which, wall_ns)) return;
  }
}

void DriverFiles::show_all_counters(const Nic& nic, std::uint64_t wall_ns) {
  for (std::size_t i = 0; i < kCounters; ++i)
    (void)show_counter(nic, i, wall_ns);
}

}  // namespace plnet::cassini::soft
