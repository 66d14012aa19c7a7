#include "runtime/emulator/checks/piece_notes.h"

#include <bit>

#include <emmintrin.h>

namespace gpuemu::emulator {
namespace {

constexpr uint32_t kPieceWords = 4;
constexpr int kAllWords = 0xf;

using Words = __m128i;

Words each(uint32_t value) { return _mm_set1_epi32(static_cast<int>(value)); }
Words read(const uint32_t* from) { return _mm_loadu_si128(reinterpret_cast<const Words*>(from)); }
void write(uint32_t* to, Words value) { _mm_storeu_si128(reinterpret_cast<Words*>(to), value); }
/// A bit for each word in which `mask` is set.
int bits_of(Words mask) { return _mm_movemask_ps(_mm_castsi128_ps(mask)); }
Words chosen(Words mask, Words then, Words otherwise) {
  return _mm_or_si128(_mm_and_si128(mask, then), _mm_andnot_si128(mask, otherwise));
}

class Pieces {
 public:
  Pieces(RaceHistory& history, const PieceAccess& access)
      : access_(access),
        write_(history.field(RaceField::Write)),
        write_lanes_(history.field(RaceField::WriteLanes)),
        write_event_(history.field(RaceField::WriteEvent)),
        write_note_(history.field(RaceField::WriteNote)),
        read_(history.field(RaceField::Read)),
        read_lanes_(history.field(RaceField::ReadLanes)),
        read_event_(history.field(RaceField::ReadEvent)),
        read_note_(history.field(RaceField::ReadNote)),
        writers_(history.field(RaceField::Writers)),
        epoch_(each(history.tags().epoch)),
        many_(each(history.tags().many)),
        self_(each(access.self)),
        event_(each(access.event)),
        note_(each(race_note(access.site, kWholeWord, kWholeWord))) {}

  bool note_loads() {
    uint32_t changing = 0;
    for (uint32_t left = access_.lanes; left != 0; left &= left - 1) {
      const auto lane = static_cast<uint32_t>(std::countr_zero(left));
      bool changes = false;
      for (uint64_t at = first(lane); at < end(lane); at += kPieceWords) {
        if (bits_of(current(read(write_ + at))) != 0 && !writes_are_ordered(at, lane)) return false;
        const Words tags = read(read_ + at), notes = read(read_note_ + at);
        if (bits_of(_mm_cmpeq_epi32(tags, many_)) == kAllWords) continue;
        // Lanes that read parts of a word at this event are kept in another form.
        const Words joined = joins(tags, read_event_ + at);
        if (bits_of(_mm_andnot_si128(whole(notes), joined)) != 0) return false;
        changes = true;
      }
      if (changes) changing |= left & (0 - left);
    }
    for (uint32_t left = changing; left != 0; left &= left - 1) {
      const auto lane = static_cast<uint32_t>(std::countr_zero(left));
      for (uint64_t at = first(lane); at < end(lane); at += kPieceWords) note_load(at, lane);
    }
    return true;
  }

  bool note_stores() {
    for (uint32_t left = access_.lanes; left != 0; left &= left - 1) {
      const auto lane = static_cast<uint32_t>(std::countr_zero(left));
      for (uint64_t at = first(lane); at < end(lane); at += kPieceWords) {
        if (bits_of(current(read(write_ + at))) != 0 && !writes_are_ordered(at, lane)) return false;
        if (bits_of(current(read(read_ + at))) != 0 && !reads_are_ordered(at)) return false;
      }
    }
    for (uint32_t left = access_.lanes; left != 0; left &= left - 1) {
      const auto lane = static_cast<uint32_t>(std::countr_zero(left));
      for (uint64_t at = first(lane); at < end(lane); at += kPieceWords) note_store(at, lane);
    }
    return true;
  }

 private:
  uint64_t first(uint32_t lane) const { return access_.address[lane] / sizeof(uint32_t); }
  uint64_t end(uint32_t lane) const { return first(lane) + access_.words; }

  Words current(Words tags) const {
    const Words above = _mm_srli_epi32(_mm_sub_epi32(tags, epoch_), kWarpBits);
    return _mm_cmpeq_epi32(above, _mm_setzero_si128());
  }
  /// Whether lanes accessed the whole word.
  static Words whole(Words notes) {
    const Words parts = each(kWholeWord << kNotePartsShift);
    return _mm_cmpeq_epi32(_mm_and_si128(notes, parts), parts);
  }
  Words joins(Words tags, const uint32_t* events) const {
    return _mm_and_si128(_mm_cmpeq_epi32(tags, self_), _mm_cmpeq_epi32(read(events), event_));
  }

  /// Whether the writes of this epoch are this warp's, and ordered before the access or by the
  /// same lane.
  bool writes_are_ordered(uint64_t at, uint32_t lane) const {
    for (uint64_t word = at; word < at + kPieceWords; ++word) {
      if (write_[word] - tag_of_epoch() >= 1u << kWarpBits) continue;
      if (write_[word] != access_.self) return false;
      const bool alone =
          write_lanes_[word] == uint32_t{1} << lane && write_note_[word] >= kWholeNote;
      if (write_event_[word] >= access_.ordered && !alone) return false;
    }
    return true;
  }
  bool reads_are_ordered(uint64_t at) const {
    for (uint64_t word = at; word < at + kPieceWords; ++word) {
      if (read_[word] - tag_of_epoch() >= 1u << kWarpBits) continue;
      if (read_[word] != access_.self || read_event_[word] >= access_.read_ordered) return false;
    }
    return true;
  }
  uint32_t tag_of_epoch() const { return access_.self >> kWarpBits << kWarpBits; }

  void note_load(uint64_t at, uint32_t lane) {
    const Words tags = read(read_ + at), lanes = read(read_lanes_ + at),
                notes = read(read_note_ + at);
    const Words kept = _mm_cmpeq_epi32(tags, many_);
    const Words own = _mm_cmpeq_epi32(tags, self_), others = _mm_andnot_si128(own, current(tags));
    const Words joined = _mm_and_si128(lanes, joins(tags, read_event_ + at));
    write(read_ + at, chosen(kept, tags, chosen(others, many_, self_)));
    write(read_lanes_ + at, chosen(kept, lanes, _mm_or_si128(joined, each(uint32_t{1} << lane))));
    write(read_event_ + at, chosen(kept, read(read_event_ + at), event_));
    write(read_note_ + at, chosen(kept, notes, note_));
  }
  void note_store(uint64_t at, uint32_t lane) {
    // Other lanes of the same instruction may have written the word.
    const Words joined = joins(read(write_ + at), write_event_ + at);
    const Words lanes = _mm_and_si128(read(write_lanes_ + at), joined);
    write(write_ + at, self_);
    write(write_lanes_ + at, _mm_or_si128(lanes, each(uint32_t{1} << lane)));
    write(write_event_ + at, event_);
    write(write_note_ + at, note_);
    write(writers_ + at, each(access_.own_bit));
  }

  const PieceAccess& access_;
  uint32_t *write_, *write_lanes_, *write_event_, *write_note_, *read_, *read_lanes_, *read_event_,
      *read_note_, *writers_;
  Words epoch_, many_, self_, event_, note_;
};

}  // namespace

bool note_piece_loads(RaceHistory& history, const PieceAccess& access) {
  return Pieces(history, access).note_loads();
}
bool note_piece_stores(RaceHistory& history, const PieceAccess& access) {
  return Pieces(history, access).note_stores();
}

bool pieces_are_written(const uint8_t* shadow, const uint64_t* address, uint32_t bytes,
                        uint32_t lanes) {
  constexpr uint32_t kPieceBytes = 16;
  if (bytes % kPieceBytes != 0) return false;
  const __m128i written = _mm_set1_epi8(1);
  __m128i all = _mm_cmpeq_epi8(written, written);
  for (uint32_t left = lanes; left != 0; left &= left - 1) {
    const uint8_t* from = shadow + address[std::countr_zero(left)];
    for (uint32_t at = 0; at < bytes; at += kPieceBytes) {
      const __m128i piece = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + at));
      all = _mm_and_si128(all, _mm_cmpeq_epi8(piece, written));
    }
  }
  return _mm_movemask_epi8(all) == 0xffff;
}

}  // namespace gpuemu::emulator
