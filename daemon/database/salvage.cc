// A block that cannot be read makes every search that ends in it fail. The next record after it is
// found by searching for texts in ascending order, first in steps of a whole branch of keys, then
// within the last branch that fails.
#include "daemon/database/salvage.h"

#include <memory>
#include <string>

namespace gpuemu::storage {
namespace {

constexpr size_t kBytes = 256;
/// The longest prefix of keys that is compared; names in keys are short.
constexpr size_t kTextBytesMax = 128;

using OpenIterator = std::function<std::unique_ptr<rocksdb::Iterator>()>;

class Search {
 public:
  Search(const OpenIterator& open, std::string last) : open_(open), last_(std::move(last)) {}

  /// Returns an iterator at the next readable record after `last`, or at the end; null if no search
  /// succeeds.
  std::unique_ptr<rocksdb::Iterator> run() {
    std::string good = first_good();
    if (good.empty()) return nullptr;
    // Everything between the last text that fails and the first that succeeds begins with the
    // former.
    while (!bad_.empty() && bad_.size() < kTextBytesMax) {
      const std::string better = first_good_below(bad_);
      if (better.empty()) break;
      good = better;
    }
    return finds(good) ? std::move(at_) : nullptr;
  }

 private:
  /// Opens a new iterator, because one that a damaged block has stopped may also fail for texts
  /// after it.
  bool finds(const std::string& text) {
    at_ = open_();
    at_->Seek(text);
    return at_->status().ok();
  }

  /// Searches after `last`, from its own branch of keys outwards; returns "" if there is none.
  std::string first_good() {
    bad_ = last_;
    for (size_t length = last_.size() + 1; length-- > 0;) {
      const size_t from =
          length == last_.size() ? 0 : static_cast<unsigned char>(last_[length]) + size_t{1};
      for (size_t byte = from; byte < kBytes; ++byte) {
        std::string text = last_.substr(0, length) + static_cast<char>(byte);
        if (finds(text)) return text;
        bad_ = std::move(text);
      }
    }
    return "";
  }

  std::string first_good_below(const std::string& branch) {
    std::string before = branch;
    for (size_t byte = 0; byte < kBytes; ++byte) {
      std::string text = branch + static_cast<char>(byte);
      if (text > last_ && finds(text)) {
        // The branch itself fails, so the boundary lies in a branch below it, unless it is here.
        bad_ = before == branch ? "" : before;
        return text;
      }
      before = std::move(text);
    }
    bad_ = before;
    return "";
  }

  const OpenIterator& open_;
  const std::string last_;
  std::unique_ptr<rocksdb::Iterator> at_;
  std::string bad_;  ///< The last text whose search failed.
};

}  // namespace

Salvaged read_all(rocksdb::DB& db, const rocksdb::ReadOptions& options,
                  rocksdb::ColumnFamilyHandle* family,
                  const std::function<void(std::string_view key, std::string_view value)>& visit) {
  Salvaged salvaged;
  const OpenIterator open = [&] {
    return std::unique_ptr<rocksdb::Iterator>(db.NewIterator(options, family));
  };
  std::unique_ptr<rocksdb::Iterator> at = open();
  std::string last;
  at->SeekToFirst();
  while (true) {
    for (; at->Valid(); at->Next()) {
      last = at->key().ToString();
      visit(at->key().ToStringView(), at->value().ToStringView());
    }
    if (at->status().ok()) return salvaged;
    if (salvaged.problem.ok()) salvaged.problem = at->status();
    at = Search(open, last).run();
    if (!at) {
      salvaged.to_the_end = false;
      return salvaged;
    }
  }
}

}  // namespace gpuemu::storage
