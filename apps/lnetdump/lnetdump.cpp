// SPDX-License-Identifier: BSD-3-Clause
#include "apps/lnetdump/lnetdump.hpp"

#include <cerrno>
#include <memory>
#include <system_error>

#include <fmt/format.h>

#include "apps/lnetdump/arguments.hpp"
#include "apps/lnetdump/dump.hpp"
#include "apps/lnetdump/input.hpp"

namespace plnet::lnetdump {

namespace {

constexpr int kFailed = 1;

struct Close {
  void operator()(std::FILE* file) const { (void)std::fclose(file); }
};
using OwnedFile = std::unique_ptr<std::FILE, Close>;

// False: what went wrong was said.
bool read_file(const std::string& path, const Arguments& arguments, Dump& dump, std::FILE* error) {
  trace::CaptureSource source(
      dump, {.port = arguments.port, .snap_bytes = arguments.snap_bytes, .local = arguments.local});
  const auto end = read_packets(path, [&](const trace::Packet& packet) {
    source.add(packet);
    return !dump.is_done();
  });
  source.finish();
  if (!end) {
    fmt::print(error, "lnetdump: {}\n", end.error().what);
    return false;
  }
  if (end->cut_bytes > 0) {
    fmt::print(error,
               "lnetdump: {}: the file ends within a packet; its last {} bytes are not used\n",
               path, end->cut_bytes);
  }
  if (source.losses() > 0) {
    fmt::print(
        error,
        "lnetdump: {}: bytes are missing; the start of a message was searched for {} times\n", path,
        source.losses());
  }
  return true;
}

}  // namespace

int run(int argc, const char* const* argv, std::FILE* out, std::FILE* error) {
  const auto arguments = parse_arguments(argc, argv, out, error);
  if (!arguments) return arguments.error();
  OwnedFile owned;
  std::FILE* file = arguments->write == "-" ? out : nullptr;
  if (file == nullptr && !arguments->write.empty()) {
    owned.reset(std::fopen(arguments->write.c_str(), "wb"));
    if (owned == nullptr) {
      fmt::print(error, "lnetdump: {}: {}\n", arguments->write,
                 std::generic_category().message(errno));
      return kFailed;
    }
    file = owned.get();
  }
  Dump dump(*arguments, out, file);
  bool good = true;
  for (const std::string& path : arguments->files)
    good &= dump.is_done() || read_file(path, *arguments, dump, error);
  dump.finish();
  if (dump.has_failed()) {
    fmt::print(error, "lnetdump: output could not be written: {}\n",
               std::generic_category().message(errno));
    good = false;
  }
  fmt::print(error, "{} messages read, {} matched\n", dump.seen(), dump.shown());
  return good ? 0 : kFailed;
}

}  // namespace plnet::lnetdump
