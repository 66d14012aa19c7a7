// Refuses each call with a message of one sentence.
#include "runtime/null/null_device.h"

namespace gpuemu {
namespace {

Error unsupported(const char* what) {
  return error(ErrorCode::Unsupported,
               "the null backend cannot {}; choose backend \"emulator\" or \"cuda\"", what);
}

class NullDevice final : public Device {
 public:
  NullDevice() {
    properties_.backend = "null";
    properties_.name = "no device";
  }
  const DeviceProperties& properties() const override { return properties_; }
  Result<uint64_t> allocate(uint64_t, const std::string&) override {
    return unsupported("allocate");
  }
  Status free(uint64_t) override { return unsupported("free"); }
  Status upload(uint64_t, std::span<const std::byte>) override { return unsupported("upload"); }
  Status download(std::span<std::byte>, uint64_t) override { return unsupported("download"); }
  Status fill(uint64_t, std::byte, uint64_t) override { return unsupported("fill"); }
  Result<uint64_t> make_texture(const TextureConfig&) override {
    return unsupported("make a texture");
  }
  Status free_texture(uint64_t) override { return unsupported("free a texture"); }
  Result<ModuleId> load_module(const std::string&, const std::string&) override {
    return unsupported("load a module");
  }
  Status unload_module(ModuleId) override { return unsupported("unload a module"); }
  Result<std::vector<EntryInfo>> entries(ModuleId) override { return unsupported("list entries"); }
  Result<LaunchReport> launch(ModuleId, const LaunchConfig&) override {
    return unsupported("launch a kernel");
  }

 private:
  DeviceProperties properties_;
};

}  // namespace

std::unique_ptr<Device> make_null_device() { return std::make_unique<NullDevice>(); }

}  // namespace gpuemu
