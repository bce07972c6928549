#include "sentencepiece_file.h"

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <vector>

namespace generate {

namespace {

// Fields of ModelProto and of NormalizerSpec, as sentencepiece_model.proto numbers them.
constexpr std::uint64_t kNormalizer = 3, kDenormalizer = 5, kTable = 2;

struct Damaged : std::runtime_error {
  Damaged() : std::runtime_error("damaged") {}
};

// Reads a message of protocol buffers, field by field.
class Message {
 public:
  explicit Message(std::string_view bytes) : rest_(bytes) {}

  // False at the end. `content` is that of a field with a length, "" of others.
  bool next(std::uint64_t *field, std::string_view *content) {
    if (rest_.empty()) return false;
    const std::uint64_t key = number();
    if (key >> 32 != 0) throw Damaged();  // of which protobuf takes the low bits
    *field = key >> 3;
    *content = {};
    switch (key & 7) {
      case 0:
        number();
        return true;
      case 1:
        take(8);
        return true;
      case 2:
        *content = take(number());
        return true;
      case 5:
        take(4);
        return true;
      default:
        throw Damaged();
    }
  }

 private:
  std::uint64_t number() {
    std::uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const auto byte = static_cast<unsigned char>(take(1)[0]);
      value |= std::uint64_t{byte & 0x7Fu} << shift;
      if (byte < 0x80) return value;
    }
    throw Damaged();
  }

  std::string_view take(std::uint64_t size) {
    if (size > rest_.size()) throw Damaged();
    const std::string_view taken = rest_.substr(0, static_cast<std::size_t>(size));
    rest_.remove_prefix(static_cast<std::size_t>(size));
    return taken;
  }

  std::string_view rest_;
};

std::vector<std::string_view> fields(std::string_view message, std::uint64_t wanted) {
  std::vector<std::string_view> found;
  std::uint64_t field;
  std::string_view content;
  for (Message reader(message); reader.next(&field, &content);) {
    if (field == wanted) found.push_back(content);
  }
  return found;
}

std::uint32_t u32(std::string_view bytes, std::size_t at) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    value |= std::uint32_t{static_cast<unsigned char>(bytes[at + i])} << (8 * i);
  }
  return value;
}

// A table is the size of a trie in bytes, the trie, and strings with a 0 after each, at which the
// trie's leaves point. The trie is a double array of Darts-clone: a unit's children stand in one
// block of 256 units.
bool is_safe_table(std::string_view table) {
  if (table.empty()) return true;
  if (table.size() < 4) return false;
  const std::size_t trie_size = u32(table, 0);
  table.remove_prefix(4);
  if (trie_size >= table.size() || trie_size % 1024 != 0 || trie_size == 0) return false;
  const std::string_view strings = table.substr(trie_size);
  if (strings.back() != '\0') return false;
  const std::size_t num_units = trie_size / 4;
  for (std::size_t i = 0; i < num_units; ++i) {
    const std::uint32_t unit = u32(table, 4 * i);
    if (unit >> 31 != 0 && i > 0) continue;  // a leaf, which the root is not, whatever it says
    const std::size_t offset = static_cast<std::size_t>(unit >> 10) << ((unit & 0x200) >> 6);
    const std::size_t child = i ^ offset;
    if (child >= num_units) return false;
    const bool has_leaf = (unit & 0x100) != 0;
    if (has_leaf && (u32(table, 4 * child) & 0x7FFFFFFF) >= strings.size()) return false;
  }
  return true;
}

}  // namespace

bool is_safe_sentencepiece_file(std::string_view file) {
  try {
    for (const std::uint64_t one : {kNormalizer, kDenormalizer}) {
      for (const std::string_view normalizer : fields(file, one)) {
        for (const std::string_view table : fields(normalizer, kTable)) {
          if (!is_safe_table(table)) return false;
        }
      }
    }
    return true;
  } catch (const Damaged &) {
    return false;
  }
}

bool changes_decoded_texts(std::string_view file) {
  for (const std::string_view normalizer : fields(file, kDenormalizer)) {
    for (const std::string_view table : fields(normalizer, kTable)) {
      if (!table.empty()) return true;
    }
  }
  return false;
}

}  // namespace generate
