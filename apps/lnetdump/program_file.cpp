// SPDX-License-Identifier: BSD-3-Clause
#include "apps/lnetdump/program_file.hpp"

#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "lib/trace/filter/verifier.hpp"

#ifdef PLNET_HAS_LIBBPF
#include <bpf/libbpf.h>
#endif

namespace plnet::lnetdump {

namespace {

using Instructions = std::vector<trace::BpfInstruction>;

constexpr std::string_view kObjectMagic =
    "\x7f"
    "ELF";
constexpr std::size_t kFileBytesMax = std::size_t{4} << 20U;

Outcome<Instructions> instructions_of(const std::string& path, std::string_view bytes) {
  constexpr std::size_t kOne = sizeof(trace::BpfInstruction);
  if (bytes.empty() || bytes.size() % kOne != 0) {
    return failure(Errc::kMalformed,
                   fmt::format("{}: {} bytes are no whole number of instructions of 8 bytes", path,
                               bytes.size()));
  }
  Instructions program(bytes.size() / kOne);
  std::memcpy(program.data(), bytes.data(), bytes.size());
  return program;
}

#ifdef PLNET_HAS_LIBBPF

struct CloseObject {
  void operator()(bpf_object* object) const { bpf_object__close(object); }
};

int print_nothing(libbpf_print_level /*level*/, const char* /*format*/, va_list /*values*/) {
  return 0;
}

Outcome<Instructions> read_object(const std::string& path, std::string_view bytes) {
  libbpf_set_print(print_nothing);
  const std::unique_ptr<bpf_object, CloseObject> object(
      bpf_object__open_mem(bytes.data(), bytes.size(), nullptr));
  if (object == nullptr) {
    return failure(Errc::kMalformed, path + ": libbpf does not understand this object file");
  }
  bpf_program* const program = bpf_object__next_program(object.get(), nullptr);
  if (program == nullptr || bpf_object__next_program(object.get(), program) != nullptr) {
    return failure(Errc::kInvalid, path +
                                       ": expected one program in the file, a function that is "
                                       "not static");
  }
  const std::span wanted(bpf_program__insns(program), bpf_program__insn_cnt(program));
  return instructions_of(path, {reinterpret_cast<const char*>(wanted.data()), wanted.size_bytes()});
}

#else

Outcome<Instructions> read_object(const std::string& path, std::string_view /*bytes*/) {
  return failure(Errc::kNotSupported,
                 path +
                     ": this lnetdump was built without libbpf and reads bare instructions "
                     "only: llvm-objcopy -O binary --only-section=SECTION FILE OUT");
}

#endif

}  // namespace

Outcome<std::string> read_program(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  if (!file.good() && !file.eof()) return failure(Errc::kIo, path + ": cannot be read");
  if (bytes.size() > kFileBytesMax) return failure(Errc::kTooBig, path + ": larger than 4 MiB");
  const auto program =
      bytes.starts_with(kObjectMagic) ? read_object(path, bytes) : instructions_of(path, bytes);
  if (!program) return std::unexpected(program.error());
  const auto verified = trace::verify(*program);
  if (!verified) return failure(verified.error().code, path + ": " + verified.error().what);
  return trace::program_text(*program);
}

}  // namespace plnet::lnetdump
