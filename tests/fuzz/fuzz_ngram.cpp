// Fuzzes deserialising n-gram storages, and what a storage does with contents that it took.
//
// The input is a serialised storage without its last 8 bytes, the checksum, which is added, so that
// the contents decide and not the checksum. What is taken must give the same bytes back, answer,
// and go on learning as a copy of it does.
#include <sampler/sampler.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "../sized.h"

namespace {

using Bytes = std::vector<unsigned char>;

constexpr std::size_t kAllOrdersAt = 12, kOrderAt = 16, kVocabularyAt = 20, kHeaderBytes = 56;

void require(bool condition) {
  if (!condition) std::abort();
}

class Storage {
 public:
  explicit Storage(const sampler_ngram_storage_options &options) {
    sampler_ngram_storage_t handle = nullptr;
    require(sampler_ngram_storage_create(&options, &handle) == SAMPLER_OK);
    handle_.reset(handle);
    require(sampler_ngram_storage_interface(handle, &f) == SAMPLER_OK);
  }

  bool take(const Bytes &data) {
    const sampler_status status =
        sampler_ngram_storage_deserialize(handle_.get(), data.data(), data.size());
    require(status == SAMPLER_OK || status == SAMPLER_ERROR_CORRUPT_DATA ||
            status == SAMPLER_ERROR_INVALID_ARGUMENT);
    return status == SAMPLER_OK;
  }

  Bytes serialized() const {
    std::size_t bytes = 0;
    require(sampler_ngram_storage_serialize(handle_.get(), nullptr, 0, &bytes) == SAMPLER_OK);
    Bytes data(bytes);
    require(sampler_ngram_storage_serialize(handle_.get(), data.data(), bytes, &bytes) ==
            SAMPLER_OK);
    return data;
  }

  // The token after a context, and whether it is known; checked against has_gram.
  std::pair<std::int32_t, std::int32_t> next(const std::vector<std::int32_t> &context) const {
    const std::int64_t count = std::int64_t(context.size());
    std::int32_t token = -1, known = -1, has = -1;
    require(f.next_token(f.user, context.data(), count, 1, 2, &token, &known) == SAMPLER_OK);
    require(f.has_gram(f.user, context.data(), count, &has) == SAMPLER_OK);
    require(!has || known);
    return {token, known};
  }

  sampler_ngram f = sized<sampler_ngram>();

 private:
  struct Destroy {
    void operator()(sampler_ngram_storage_t handle) const { sampler_ngram_storage_destroy(handle); }
  };
  std::unique_ptr<sampler_ngram_storage, Destroy> handle_;
};

void put(Bytes *data, std::size_t at, std::uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) (*data)[at + std::size_t(i)] = std::uint8_t(value >> 8 * i);
}

std::uint64_t get(const Bytes &data, std::size_t at, int bytes) {
  std::uint64_t value = 0;
  for (int i = 0; i < bytes; ++i) value |= std::uint64_t(data[at + std::size_t(i)]) << 8 * i;
  return value;
}

// A storage of the kind that the header names, brought into range where it names none. Without a
// header, an empty one stands in front, whose numbers of contexts and n-grams are the input's first
// two bytes.
Bytes with_header(const std::uint8_t *input, std::size_t bytes) {
  Bytes data(input, input + bytes);
  if (bytes < kHeaderBytes || std::memcmp(input, "SMPLNGRM", 8) != 0) {
    const std::size_t num_contexts = bytes == 0 ? 0 : input[0];
    const std::size_t num_records = bytes == 0 ? 0 : (bytes - 1) / 12;
    data.assign(kHeaderBytes, 0);
    std::memcpy(data.data(), "SMPLNGRM", 8);
    put(&data, 8, 1, 4);
    put(&data, kAllOrdersAt, bytes % 2, 4);
    put(&data, kOrderAt, 2 + bytes / 2 % 3, 4);
    put(&data, kVocabularyAt, 300, 4);
    put(&data, 24, num_contexts, 8);
    put(&data, 32, num_records - num_contexts, 8);
    data.insert(data.end(), input + (bytes != 0), input + (bytes != 0) + 12 * num_records);
  }
  put(&data, kAllOrdersAt, get(data, kAllOrdersAt, 4) % 2, 4);
  put(&data, kOrderAt, 2 + (get(data, kOrderAt, 4) - 2) % 15, 4);
  put(&data, kVocabularyAt, 1 + (get(data, kVocabularyAt, 4) - 1) % ((1 << 20) - 1), 4);

  std::uint64_t checksum = 0xCBF29CE484222325u;
  for (const unsigned char byte : data) checksum = (checksum ^ byte) * 0x100000001B3u;
  data.resize(data.size() + 8);
  put(&data, data.size() - 8, checksum, 8);
  return data;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *input, std::size_t bytes) {
  const Bytes data = with_header(input, bytes);
  auto options = sized<sampler_ngram_storage_options>();
  options.kind = get(data, kAllOrdersAt, 4) ? SAMPLER_NGRAM_ALL_ORDERS : SAMPLER_NGRAM_ONE_LEVEL;
  options.order = std::int32_t(get(data, kOrderAt, 4));
  options.vocabulary_size = std::int64_t(get(data, kVocabularyAt, 4));
  Storage first(options), second(options);
  if (!first.take(data)) return 0;
  require(first.serialized() == data);
  require(second.take(data));

  // A text of the tokens that stand in the records, and of others.
  std::vector<std::int32_t> text;
  for (std::size_t at = kHeaderBytes; at + 12 <= data.size() && text.size() < 300; at += 4) {
    text.push_back(std::int32_t(get(data, at, 4) % std::uint64_t(options.vocabulary_size)));
  }
  for (std::size_t i = 1; i <= text.size(); ++i) {
    const std::size_t length = std::min(i, std::size_t(options.order));
    const std::vector<std::int32_t> context(text.begin() + std::ptrdiff_t(i - length),
                                            text.begin() + std::ptrdiff_t(i));
    require(first.next(context) == second.next(context));
  }
  // A text as a whole, and the same token by token.
  require(first.f.initialize(first.f.user, text.data(), std::int64_t(text.size())) == SAMPLER_OK);
  for (std::size_t i = 1; i < text.size(); ++i) {
    require(second.f.update(second.f.user, text.data(), std::int64_t(i), &text[i], 1) ==
            SAMPLER_OK);
  }
  const Bytes learned = first.serialized();
  require(second.serialized() == learned);
  require(second.take(learned));
  require(second.serialized() == learned);
  return 0;
}
