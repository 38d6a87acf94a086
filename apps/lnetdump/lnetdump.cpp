// SPDX-License-Identifier: BSD-3-Clause
#include "apps/lnetdump/lnetdump.hpp"

#include <cerrno>
#include <memory>
#include <optional>
#include <string_view>
#include <system_error>

#include <fmt/format.h>

#include "apps/lnetdump/analyze.hpp"
#include "apps/lnetdump/arguments.hpp"
#include "apps/lnetdump/diff.hpp"
#include "apps/lnetdump/dump.hpp"
#include "apps/lnetdump/input.hpp"
#include "apps/lnetdump/live.hpp"
#include "apps/lnetdump/verdict.hpp"
#include "lib/base/counted.hpp"
#include "lib/runtime/admin/system_clock.hpp"

namespace plnet::lnetdump {

namespace {

struct CloseFile {
  void operator()(std::FILE* file) const { (void)std::fclose(file); }
};
using OwnedFile = std::unique_ptr<std::FILE, CloseFile>;

// False: the error has been printed.
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
    fmt::print(error, "lnetdump: {}: the file ends within a packet; its last {} {} not used\n",
               path, counted(end->cut_bytes, "byte"), agreeing(end->cut_bytes, "is", "are"));
  }
  if (source.losses() > 0) {
    fmt::print(error,
               "lnetdump: {}: bytes are missing; the start of a message was searched for {}\n",
               path, counted(source.losses(), "time"));
  }
  return true;
}

// As in `env` and similar programs that run a command.
int status_of(const Arguments& arguments, bool captured, bool judged,
              const std::optional<int>& command) {
  const bool experiment = !arguments.assertions.empty() || !arguments.command.empty();
  if (!captured) return experiment ? kNoCapture : kFailed;
  if (command.value_or(0) != 0) return *command;
  return judged ? 0 : kFailed;
}

// False: the capture failed or ended early.
bool capture(const Arguments& arguments, Dump& dump, std::FILE* error, LiveEnd& end) {
  const runtime::SystemClock clock;
  const runtime::SystemWallClock wall_clock;
  const auto done = !arguments.ssh_host.empty() ? capture_by_ssh(arguments, dump, clock)
                    : arguments.live.of_kernel  ? capture_kernel(arguments, dump, clock, wall_clock)
                                                : capture_node(arguments, dump, clock, wall_clock);
  if (!done) {
    fmt::print(error, "lnetdump: {}\n", done.error().what);
    return false;
  }
  end = *done;
  return true;
}

bool read_files(const Arguments& arguments, Dump& dump, std::FILE* error) {
  bool good = true;
  for (const std::string& path : arguments.files)
    good &= dump.is_done() || read_file(path, arguments, dump, error);
  return good;
}

}  // namespace

int run(int argc, const char* const* argv, std::FILE* out, std::FILE* error) {
  if (argc > 1 && std::string_view(argv[1]) == "diff")
    return run_diff(argc - 1, argv + 1, out, error);
  if (argc > 1 && std::string_view(argv[1]) == "analyze") {
#ifdef PLNET_HAS_TBB
    return run_analyze(argc - 1, argv + 1, out, error);
#else
    fmt::print(error, "lnetdump: this lnetdump was built without oneTBB and has no analyze\n");
    return kFailed;
#endif
  }
  const auto arguments = parse_arguments(argc, argv, out, error);
  if (!arguments) return arguments.error();
  OwnedFile owned;
  std::FILE* file = arguments->write == "-" ? out : nullptr;
  if (file == nullptr && !arguments->write.empty()) {
    owned.reset(std::fopen(arguments->write.c_str(), "wb"));
    if (owned == nullptr) {
      fmt::print(error, "lnetdump: {}: {}\n", arguments->write,
                 std::generic_category().message(errno));
      return status_of(*arguments, false, false, std::nullopt);
    }
    file = owned.get();
  }
  Dump dump(*arguments, out, file);
  LiveEnd end;
  bool good = arguments->is_live() ? capture(*arguments, dump, error, end)
                                   : read_files(*arguments, dump, error);
  // A capture that never began leaves no file: a waiting reader would mistake it for a capture.
  if (good || dump.seen() > 0 || !arguments->is_live()) dump.finish();
  if (dump.has_failed()) {
    fmt::print(error, "lnetdump: output could not be written: {}\n",
               std::generic_category().message(errno));
    good = false;
  }
  if (good && arguments->is_live()) {
    if (end.node_ended) fmt::print(error, "lnetdump: the node has ended the capture\n");
    fmt::print(error, "{}, {} lost\n", counted(dump.shown(), "message"), end.lost);
  } else {
    fmt::print(error, "{} read, {} matched\n", counted(dump.seen(), "message"), dump.shown());
  }
  const bool judged = !good || judge(*arguments, dump, error);
  return status_of(*arguments, good, judged, end.command);
}

}  // namespace plnet::lnetdump
