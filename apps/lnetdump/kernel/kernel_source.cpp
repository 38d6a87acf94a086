// SPDX-License-Identifier: BSD-3-Clause
#include "apps/lnetdump/kernel/kernel_source.hpp"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdio>
#include <string>
#include <system_error>
#include <utility>

#include <bpf/libbpf.h>
#include <fmt/format.h>

#include "apps/lnetdump/kernel/kernel_record.hpp"

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wsign-conversion"
#include <lnet_probe.skel.h>
#pragma GCC diagnostic pop

namespace plnet::lnetdump {

namespace {

constexpr std::size_t kRingBytesMin = 1U << 16U;
constexpr std::size_t kRingBytesMax = 1U << 30U;

struct DestroyProbes {
  void operator()(lnet_probe* probes) const { lnet_probe__destroy(probes); }
};
struct FreeRing {
  void operator()(ring_buffer* ring) const { ring_buffer__free(ring); }
};

// The last warning of libbpf, which otherwise returns only a number.
std::string& last_warning() {
  static std::string warning;
  return warning;
}

int keep_warning(libbpf_print_level level, const char* format, va_list values) {
  if (level != LIBBPF_WARN) return 0;
  char line[512];
  const int length = std::vsnprintf(line, sizeof line, format, values);
  std::string text(line, std::clamp<std::size_t>(static_cast<std::size_t>(std::max(length, 0)), 0,
                                                 sizeof line - 1));
  while (text.ends_with('\n'))
    text.pop_back();
  if (!text.empty()) last_warning() = std::move(text);
  return 0;
}

std::unexpected<Error> probe_failure(const char* step, int number) {
  if (number == EPERM || number == EACCES) {
    return failure(Errc::kNotPermitted,
                   fmt::format("probes in the kernel cannot be {}: not permitted. They need root "
                               "(CAP_BPF, CAP_PERFMON and CAP_SYS_ADMIN), and a kernel that is not "
                               "locked down (/sys/kernel/security/lockdown)",
                               step));
  }
  return failure(errc_of_errno(number),
                 fmt::format("probes in the kernel cannot be {}: {}; libbpf: {}", step,
                             std::generic_category().message(number), last_warning()));
}

}  // namespace

struct KernelSource::Parts {
  std::unique_ptr<lnet_probe, DestroyProbes> probes{};
  std::unique_ptr<ring_buffer, FreeRing> ring;
  std::int64_t wall_offset_ns = 0;
  // State of the drain() under way.
  trace::RecordSink* sink = nullptr;
  std::size_t wanted = 0;
  std::uint64_t read = 0;

  // A negative result ends the burst; the record has been taken nevertheless.
  static int take(void* self, void* bytes, std::size_t size) {
    auto& parts = *static_cast<Parts*>(self);
    ++parts.read;
    if (size >= sizeof(lnetdump_probe_record)) {
      const auto& probed = *static_cast<const lnetdump_probe_record*>(bytes);
      const KernelRecord made = record_of(probed, parts.wall_offset_ns);
      parts.sink->on_record(made.record, made.interface);
    }
    return --parts.wanted == 0 ? -ENOBUFS : 0;
  }
};

KernelSource::KernelSource(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
KernelSource::~KernelSource() = default;
KernelSource::KernelSource(KernelSource&&) noexcept = default;

Outcome<KernelSource> KernelSource::open(const LiveOptions& options, const Clock& clock,
                                         const runtime::WallClock& wall_clock) {
  libbpf_set_print(keep_warning);
  auto parts = std::make_unique<Parts>();
  bpf_object_open_opts open_options{};
  open_options.sz = sizeof open_options;
  if (!options.lnet_btf.empty()) open_options.btf_custom_path = options.lnet_btf.c_str();
  parts->probes.reset(lnet_probe__open_opts(&open_options));
  if (parts->probes == nullptr) return probe_failure("opened", errno);
  const std::size_t ring_bytes =
      std::bit_ceil(std::clamp(options.ring_kib << 10U, kRingBytesMin, kRingBytesMax));
  bpf_map* const records = parts->probes->maps.records;
  (void)bpf_map__set_max_entries(records, static_cast<std::uint32_t>(ring_bytes));
  if (const int error = lnet_probe__load(parts->probes.get()); error != 0) {
    return probe_failure("loaded", -error);
  }
  parts->ring.reset(ring_buffer__new(bpf_map__fd(records), &Parts::take, parts.get(), nullptr));
  if (parts->ring == nullptr) return probe_failure("read", errno);
  parts->wall_offset_ns = std::chrono::duration_cast<std::chrono::nanoseconds>(
                              wall_clock.now().time_since_epoch() - clock.now().time_since_epoch())
                              .count();
  if (const int error = lnet_probe__attach(parts->probes.get()); error != 0) {
    return probe_failure("attached", -error);
  }
  return KernelSource(std::move(parts));
}

Outcome<std::size_t> KernelSource::drain(trace::RecordSink& sink, std::size_t records_max) {
  const std::uint64_t before = parts_->read;
  parts_->sink = &sink;
  parts_->wanted = records_max;
  const int got = ring_buffer__consume(parts_->ring.get());
  if (got < 0 && got != -ENOBUFS) return probe_failure("read", -got);
  return parts_->read - before;
}

void KernelSource::end() {
  lnet_probe__detach(parts_->probes.get());
}

std::uint64_t KernelSource::lost() const {
  return parts_->probes->bss->offered - parts_->read;
}

}  // namespace plnet::lnetdump
