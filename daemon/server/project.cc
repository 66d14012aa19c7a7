// Watches the configuration file by its size and time.
#include "daemon/server/project.h"

#include <sys/stat.h>

#include "runtime/device/device_traits.h"

namespace gpuemu {
namespace {

constexpr const char* kAbsent = "absent";

}  // namespace

ConfigWatch::ConfigWatch(ConfigSources sources, Config first)
    : sources_(std::move(sources)),
      file_(first.file),
      config_(std::make_shared<const Config>(std::move(first))) {
  stamp_ = stamp();
}

ConfigWatch::ConfigWatch(ConfigSources sources)
    : sources_(std::move(sources)), file_(sources_.file.value_or("")) {}

std::string ConfigWatch::stamp() const {
  struct stat info{};
  if (file_.empty() || ::stat(file_.c_str(), &info) != 0) return kAbsent;
  return fmt::format("{}:{}:{}.{}", info.st_ino, info.st_size, info.st_mtim.tv_sec,
                     info.st_mtim.tv_nsec);
}

Result<std::shared_ptr<const Config>> ConfigWatch::current() {
  const std::lock_guard lock(mutex_);
  const std::string now = stamp();
  if (now == stamp_) return config_;
  if (now == kAbsent) {
    return error(ErrorCode::InvalidArgument,
                 "{}, which this daemon serves, is gone; put it back or stop the daemon", file_);
  }
  ConfigResult loaded = load_config(sources_);
  if (!loaded.config) return Error{ErrorCode::InvalidArgument, loaded.text()};
  config_ = std::make_shared<const Config>(*std::move(loaded.config));
  stamp_ = now;
  return config_;
}

Result<Campaign*> Project::campaign_on(const SlotVariant& variant) {
  if (slots_.side == nullptr) {
    return error(ErrorCode::Unavailable, "this daemon has no slots but its own");
  }
  std::unique_ptr<Campaign>& kept = on_side_[variant];
  if (kept == nullptr) {
    SlotPool* slots = GPUEMU_TRY(slots_.side->get(variant));
    kept = std::make_unique<Campaign>(*config_, kernels_, CampaignSlots{*slots}, own_backend(),
                                      variant_memory());
  }
  return kept.get();
}

ExplainMachines Project::machines() {
  const std::string own = own_backend();
  const std::string other = slots_.side == nullptr ? "" : slots_.side->other_backend();
  ExplainMachines machines{
      .own = campaign_, .own_backend = own, .emulator = {}, .other_backend = other, .other = {}};
  machines.emulator = [this, own]() -> Result<Campaign*> {
    if (device_traits(own).follows_rounding) return &campaign_;
    return campaign_on({.backend = std::string(kEmulatorBackend), .contraction = {}});
  };
  machines.other = [this, other] { return campaign_on({.backend = other, .contraction = {}}); };
  return machines;
}

}  // namespace gpuemu
