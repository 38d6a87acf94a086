// SPDX-License-Identifier: BSD-3-Clause
#include "lib/runtime/host/host_facts.hpp"

#include <algorithm>
#include <array>
#include <memory>

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "lib/base/whole_number.hpp"

namespace plnet::runtime {
namespace {

constexpr unsigned kCpusMax = 4096;
// /proc/net/tcp of a busy server has a line per connection, 150 bytes each.
constexpr std::size_t kFileMax = 64U << 20U;

std::optional<std::string> read_file(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return std::nullopt;
  std::string text;
  std::array<char, 16384> chunk{};
  ssize_t size = 0;
  while (text.size() < kFileMax && (size = ::read(file, chunk.data(), chunk.size())) > 0)
    text.append(chunk.data(), static_cast<std::size_t>(size));
  ::close(file);
  return text;
}

std::string_view trim(std::string_view text) {
  constexpr std::string_view kBlank = " \t\n";
  const std::size_t first = text.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

// Removes and returns the text before the first `separator`.
std::string_view take(std::string_view& text, char separator) {
  const std::size_t end = std::min(text.find(separator), text.size());
  const std::string_view piece = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return piece;
}

std::string_view take_word(std::string_view& text) {
  text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
  const std::size_t end = std::min(text.find_first_of(" \t"), text.size());
  const std::string_view word = text.substr(0, end);
  text.remove_prefix(end);
  return word;
}

template <class T>
std::optional<T> number(std::string_view text, int base = 10) {
  return whole_number<T>(trim(text), base);
}

std::vector<std::string> entries(const std::string& path, std::string_view prefix) {
  std::vector<std::string> names;
  const auto close = [](DIR* directory) { ::closedir(directory); };
  const std::unique_ptr<DIR, decltype(close)> directory(::opendir(path.c_str()), close);
  if (directory == nullptr) return names;
  // readdir() is safe when each thread has its own stream.
  while (const dirent* entry = ::readdir(directory.get())) {  // NOLINT(concurrency-mt-unsafe)
    const std::string_view name = entry->d_name;
    if (name.starts_with(prefix) && names.size() < kCpusMax) names.emplace_back(name);
  }
  std::ranges::sort(names);
  return names;
}

// The soft limit in a line of /proc/self/limits; nothing: unlimited.
std::optional<std::uint64_t> soft_limit(std::string_view line, std::string_view name) {
  line.remove_prefix(name.size());
  const std::string_view soft = take_word(line);
  if (soft == "unlimited") return std::nullopt;
  return number<std::uint64_t>(soft).value_or(0);
}

void read_process(const std::string& root, HostFacts& facts) {
  std::uint64_t mapped = 0;
  if (const auto status = read_file(root + "/proc/self/status")) {
    std::string_view text = *status;
    while (!text.empty()) {
      std::string_view line = take(text, '\n');
      const std::string_view name = take(line, ':');
      if (name == "CapEff")
        facts.effective_capabilities = number<std::uint64_t>(line, 16).value_or(0);
      if (name == "VmSize") mapped = number<std::uint64_t>(take_word(line)).value_or(0) * 1024;
    }
  }
  if (const auto limits = read_file(root + "/proc/self/limits")) {
    constexpr std::string_view kLocked = "Max locked memory";
    constexpr std::string_view kAddresses = "Max address space";
    std::string_view text = *limits;
    while (!text.empty()) {
      const std::string_view line = take(text, '\n');
      if (line.starts_with(kLocked)) facts.locked_memory_max = soft_limit(line, kLocked);
      if (!line.starts_with(kAddresses)) continue;
      const auto most = soft_limit(line, kAddresses);
      if (most) facts.address_space_left = *most - std::min(*most, mapped);
    }
  }
}

// Sums the numbers of these names in a table of lines "name number".
std::uint64_t sum_of(const std::string& table, std::initializer_list<std::string_view> names) {
  std::uint64_t sum = 0;
  std::string_view text = table;
  while (!text.empty()) {
    std::string_view line = take(text, '\n');
    const std::string_view name = take_word(line);
    if (std::ranges::find(names, name) == names.end()) continue;
    sum += number<std::uint64_t>(take_word(line)).value_or(0);
  }
  return sum;
}

// Lines are "Node 0 MemFree:  123 kB".
std::uint64_t node_available(const std::string& meminfo) {
  std::string lines;
  std::string_view text = meminfo;
  while (!text.empty()) {
    std::string_view line = take(text, '\n');
    take_word(line);
    take_word(line);
    lines.append(trim(line)).append("\n");
  }
  const std::uint64_t files = sum_of(lines, {"Active(file):", "Inactive(file):"});
  return (sum_of(lines, {"MemFree:"}) + files / 2) * 1024;
}

// Every group on the path to the root may have a limit.
void read_group(const std::string& root, HostFacts& facts) {
  const std::string groups = read_file(root + "/proc/self/cgroup").value_or("");
  std::string_view text = groups;
  std::string path;
  while (!text.empty()) {
    const std::string_view line = take(text, '\n');
    if (line.starts_with("0::/")) path = line.substr(std::string_view("0::").size());
  }
  while (true) {
    const std::string group = fmt::format("{}/sys/fs/cgroup{}", root, path);
    const auto most = number<std::uint64_t>(read_file(group + "/memory.max").value_or(""));
    if (most) {
      const auto used =
          number<std::uint64_t>(read_file(group + "/memory.current").value_or("")).value_or(0);
      const std::uint64_t files =
          sum_of(read_file(group + "/memory.stat").value_or(""), {"inactive_file"});
      const std::uint64_t taken = used - std::min(used, files);
      const std::uint64_t left = *most - std::min(*most, taken);
      facts.group_memory_left = std::min(facts.group_memory_left.value_or(left), left);
    }
    if (path.empty()) return;
    path.resize(path.rfind('/'));
  }
}

void read_memory(const std::string& root, HostFacts& facts) {
  read_group(root, facts);
  if (const auto meminfo = read_file(root + "/proc/meminfo")) {
    std::string_view text = *meminfo;
    while (!text.empty()) {
      std::string_view line = take(text, '\n');
      if (take(line, ':') != "MemAvailable") continue;
      facts.available_memory = number<std::uint64_t>(take_word(line)).value_or(0) * 1024;
    }
  }
  const std::string nodes = root + "/sys/devices/system/node";
  for (const std::string& node : entries(nodes, "node")) {
    const auto index = number<int>(std::string_view(node).substr(4));
    if (!index) continue;
    if (const auto meminfo = read_file(fmt::format("{}/{}/meminfo", nodes, node))) {
      facts.node_memory.push_back({static_cast<unsigned>(*index), node_available(*meminfo)});
    }
    const std::string pools = fmt::format("{}/{}/hugepages", nodes, node);
    constexpr std::string_view kPrefix = "hugepages-";
    for (const std::string& pool : entries(pools, kPrefix)) {
      std::string_view size = std::string_view(pool).substr(kPrefix.size());
      const auto kib = number<std::uint64_t>(take(size, 'k'));
      if (!kib) continue;
      const auto read = [&](const char* name) {
        return number<std::uint64_t>(
                   read_file(fmt::format("{}/{}/{}", pools, pool, name)).value_or(""))
            .value_or(0);
      };
      facts.hugepages.push_back({.numa_node = *index,
                                 .page_size = *kib * 1024,
                                 .total = read("nr_hugepages"),
                                 .free = read("free_hugepages")});
    }
  }
}

void read_cpus(const std::string& root, HostFacts& facts) {
  const std::string cpus = root + "/sys/devices/system/cpu";
  facts.isolated_cpus = parse_cpu_list(read_file(cpus + "/isolated").value_or(""));
  facts.tickless_cpus = parse_cpu_list(read_file(cpus + "/nohz_full").value_or(""));
  for (const std::string& cpu : entries(cpus, "cpu")) {
    const auto index = number<unsigned>(std::string_view(cpu).substr(3));
    if (!index) continue;
    const auto governor = read_file(fmt::format("{}/{}/cpufreq/scaling_governor", cpus, cpu));
    if (governor) facts.governors.push_back({*index, std::string(trim(*governor))});
  }
}

// Lines of /proc/net/tcp: "sl local_address rem_address st ...", the port in hex after the colon;
// state 0A is LISTEN.
void read_ports(const std::string& path, std::vector<std::uint16_t>& ports) {
  const auto table = read_file(path);
  if (!table) return;
  std::string_view text = *table;
  take(text, '\n');  // the heading
  while (!text.empty()) {
    std::string_view line = take(text, '\n');
    take_word(line);
    const std::string_view local = take_word(line);
    take_word(line);
    if (take_word(line) != "0A") continue;
    const std::size_t colon = local.rfind(':');
    if (colon == std::string_view::npos) continue;
    if (const auto port = number<std::uint16_t>(local.substr(colon + 1), 16))
      ports.push_back(*port);
  }
}

void read_network(const std::string& root, HostFacts& facts) {
  read_ports(root + "/proc/net/tcp", facts.listening_ports);
  read_ports(root + "/proc/net/tcp6", facts.listening_ports);
  std::ranges::sort(facts.listening_ports);
  const auto doubles = std::ranges::unique(facts.listening_ports);
  facts.listening_ports.erase(doubles.begin(), doubles.end());
  facts.unprivileged_port_first =
      number<std::uint16_t>(
          read_file(root + "/proc/sys/net/ipv4/ip_unprivileged_port_start").value_or(""))
          .value_or(1024);
  const auto modules = read_file(root + "/proc/modules");
  if (!modules) return;
  std::string_view text = *modules;
  while (!text.empty()) {
    std::string_view line = take(text, '\n');
    const std::string_view name = take_word(line);
    if (name == "lnet") facts.kernel_lnet = true;
  }
}

}  // namespace

std::uint64_t available_memory_on(const HostFacts& facts, unsigned numa_node, std::size_t nodes) {
  std::uint64_t bytes = facts.available_memory;
  for (const NodeMemory& each : facts.node_memory) {
    if (each.numa_node == numa_node && bytes != 0) bytes = std::min(bytes, each.available);
  }
  if (!facts.group_memory_left) return bytes;
  return std::min(bytes, *facts.group_memory_left / std::max<std::size_t>(nodes, 1));
}

std::vector<unsigned> parse_cpu_list(std::string_view text) {
  std::vector<unsigned> cpus;
  text = trim(text);
  while (!text.empty()) {
    std::string_view range = take(text, ',');
    const auto first = number<unsigned>(take(range, '-'));
    const auto last = range.empty() ? first : number<unsigned>(range);
    if (!first || !last || *last < *first || *last >= kCpusMax) break;
    for (unsigned cpu = *first; cpu <= *last; ++cpu)
      cpus.push_back(cpu);
  }
  return cpus;
}

HostFacts read_host_facts(const std::string& root) {
  HostFacts facts;
  read_process(root, facts);
  read_memory(root, facts);
  read_cpus(root, facts);
  read_network(root, facts);
  return facts;
}

}  // namespace plnet::runtime
