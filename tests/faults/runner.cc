// Runs entries of a PTX file on the emulator and prints what it finds, one line per finding:
//   kind, file, line, other line, block, thread, tensor, byte offset, count, message, order, seed
//   (tab-separated) gpuemu-fault-runner FILE.ptx ENTRY GRID BLOCK SHARED SANITIZE ARGUMENT...
// ARGUMENT is buf:NAME:BYTES (u32 0, 1, 2 ...), zero:NAME:BYTES, one:NAME:BYTES (f32 1),
// raw:NAME:BYTES (nothing written), i32:VALUE, i64:VALUE or f32:VALUE; "auto" stands for as many as
// the entry has. The environment's FAULT_ORDERS=N adds N launches in each other order of execution.
#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "runtime/emulator/emulator.h"

namespace {
using gpuemu::Device;
using gpuemu::LaunchConfig;

std::vector<std::string> split(const std::string& text, char by) {
  std::vector<std::string> parts(1);
  for (const char letter : text) {
    if (letter == by) {
      parts.emplace_back();
    } else {
      parts.back() += letter;
    }
  }
  return parts;
}

uint64_t number(const std::string& text) {
  uint64_t value = 0;
  const char* begin = text.data() + (text.starts_with('-') ? 1 : 0);
  std::from_chars(begin, text.data() + text.size(), value);
  return text.starts_with('-') ? uint64_t{0} - value : value;
}

template <typename T>
std::vector<std::byte> bytes_of(T value) {
  std::vector<std::byte> bytes(sizeof value);
  std::memcpy(bytes.data(), &value, sizeof value);
  return bytes;
}

std::vector<std::byte> content(const std::string& kind, uint64_t bytes) {
  std::vector<uint32_t> words(bytes / 4 + 1, kind == "one" ? 0x3f800000u : 0);
  for (uint32_t i = 0; kind == "buf" && i < words.size(); ++i) words[i] = i;
  const auto* first = reinterpret_cast<const std::byte*>(words.data());
  return {first, first + bytes};
}

bool add_argument(Device& device, LaunchConfig& config, const std::string& text,
                  std::vector<uint64_t>& buffers) {
  const std::vector<std::string> parts = split(text, ':');
  if (parts.size() == 2) {
    if (parts[0] == "i32") config.args.push_back(bytes_of(static_cast<uint32_t>(number(parts[1]))));
    if (parts[0] == "i64") config.args.push_back(bytes_of(number(parts[1])));
    if (parts[0] == "f32") config.args.push_back(bytes_of(std::strtof(parts[1].c_str(), nullptr)));
    return true;
  }
  if (parts.size() != 3) return false;
  const uint64_t bytes = number(parts[2]);
  const auto address = device.allocate(bytes, parts[1]);
  if (!address) return false;
  buffers.push_back(*address);
  if (parts[0] != "raw" && !device.upload(*address, content(parts[0], bytes)).ok()) return false;
  config.args.push_back(bytes_of(*address));
  return true;
}

/// A buffer for every pointer, a small number for everything else.
std::vector<std::string> automatic(const gpuemu::EntryInfo& entry) {
  std::vector<std::string> made;
  for (const gpuemu::KernelParam& param : entry.params) {
    made.push_back(param.is_pointer ? "zero:" + param.name + ":1048576"
                                    : (param.bytes == 8 ? "i64:32" : "i32:32"));
  }
  return made;
}

gpuemu::Dim3 extent(const std::string& text) {
  const std::vector<std::string> parts = split(text, ',');
  gpuemu::Dim3 size;
  size.x = static_cast<uint32_t>(number(parts[0]));
  if (parts.size() > 1) size.y = static_cast<uint32_t>(number(parts[1]));
  if (parts.size() > 2) size.z = static_cast<uint32_t>(number(parts[2]));
  return size;
}

void print(const gpuemu::DeviceFinding& f, const LaunchConfig& config) {
  std::printf("%s\t%s\t%u\t%u\t%u,%u,%u\t%u,%u,%u\t%s\t%lld\t%llu\t%s\t%s\t%llu\n",
              std::string(gpuemu::name_of(f.kind)).c_str(), f.file.c_str(), f.line, f.other_line,
              f.block.x, f.block.y, f.block.z, f.thread.x, f.thread.y, f.thread.z, f.tensor.c_str(),
              static_cast<long long>(f.byte_offset), static_cast<unsigned long long>(f.count),
              f.message.c_str(), std::string(gpuemu::name_of(config.thread_order)).c_str(),
              static_cast<unsigned long long>(config.thread_order_seed));
}

int fail(const std::string& message) {
  std::fprintf(stderr, "gpuemu-fault-runner: %s\n", message.c_str());
  return 2;
}

/// Each launch has buffers of its own and sees nothing of the one before.
bool launch(Device& device, gpuemu::ModuleId module, LaunchConfig config,
            const std::vector<std::string>& arguments) {
  std::vector<uint64_t> buffers;
  for (const std::string& argument : arguments) {
    if (!add_argument(device, config, argument, buffers)) {
      fail("cannot use argument " + argument);
      return false;
    }
  }
  const auto report = device.launch(module, config);
  if (!report) {
    fail(report.error().message);
    return false;
  }
  for (const gpuemu::DeviceFinding& finding : report->findings) print(finding, config);
  return std::ranges::all_of(buffers, [&](uint64_t at) { return device.free(at).ok(); });
}
}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> args(argv + 1, argv + argc);
  if (args.size() < 6) return fail("FILE.ptx ENTRY GRID BLOCK SHARED SANITIZE ARGUMENT...");
  std::ifstream file(args[0]);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const auto device = gpuemu::make_emulator(
      {.sm = 90, .threads = 2, .memory_limit_bytes = uint64_t{2} << 30, .name = "faults"});
  const auto module = device->load_module(text, args[0]);
  if (!module) return fail(module.error().message);
  const auto entries = device->entries(*module);
  if (!entries) return fail(entries.error().message);
  LaunchConfig config;
  config.entry = args[1];
  config.grid = extent(args[2]);
  config.block = extent(args[3]);
  config.dynamic_shared_bytes = static_cast<uint32_t>(number(args[4]));
  const auto checks = gpuemu::device_checks_from_names(
      args[5] == "none" ? std::vector<std::string>() : split(args[5], ','));
  if (!checks) return fail(checks.error().message);
  config.sanitize = *checks;
  std::vector<std::string> wanted(args.begin() + 6, args.end());
  for (const gpuemu::EntryInfo& entry : *entries) {
    if (entry.name == args[1] && wanted == std::vector<std::string>{"auto"}) {
      wanted = automatic(entry);
    }
  }
  if (!launch(*device, *module, config, wanted)) return 2;
  const char* orders = std::getenv("FAULT_ORDERS");
  const uint64_t seeds = orders == nullptr ? 0 : number(orders);
  for (int order = 1; order < gpuemu::kThreadOrders; ++order) {
    for (uint64_t seed = 0; seed < seeds; ++seed) {
      config.thread_order = static_cast<gpuemu::ThreadOrder>(order);
      config.thread_order_seed = seed;
      if (!launch(*device, *module, config, wanted)) return 2;
    }
  }
  return 0;
}
