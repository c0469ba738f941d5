#include "primus/data/gpt_index.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <fmt/format.h>
#include <limits>
#include <numeric>

#include "primus/base/check.h"
#include "primus/base/fs.h"
#include "primus/base/hash.h"
#include "primus/data/numpy_random.h"

namespace primus::data {

namespace {

// The head of an image; the three arrays follow, each padded to 8 bytes.
struct ImageHeader {
  std::array<char, 8> magic = {'P', 'R', 'I', 'M', 'I', 'D', 'X', '1'};
  int32_t document_width = 4, sample_width = 4, shuffle_width = 4, reserved = 0;
  int64_t num_documents = 0, num_samples = 0;
  std::array<char, 64> key{};  // SHA-256 of the key text, hexadecimal
  uint32_t arrays_crc = 0;     // of the bytes after the header
  uint32_t padding = 0;
};
static_assert(sizeof(ImageHeader) == 112);

int64_t padded(int64_t bytes) {
  return (bytes + 7) / 8 * 8;
}

int64_t image_bytes(const ImageHeader& header) {
  return static_cast<int64_t>(sizeof(ImageHeader)) + padded(header.num_documents * header.document_width) +
         padded(2 * (header.num_samples + 1) * header.sample_width) + padded(header.num_samples * header.shuffle_width);
}

template <class T>
void fill_documents(std::span<T> documents, const GptIndexRequest& request, const GptIndexPlan& plan,
                    std::mt19937& engine) {
  const int64_t per_epoch = request.end_document - request.first_document;
  for (int64_t epoch = 0; epoch < plan.num_epochs; ++epoch) {
    const auto part = documents.subspan(static_cast<size_t>(epoch * per_epoch), static_cast<size_t>(per_epoch));
    std::iota(part.begin(), part.end(), static_cast<T>(request.first_document));
  }
  const auto last = static_cast<size_t>(plan.separate_last_epoch ? (plan.num_epochs - 1) * per_epoch : 0);
  if (plan.separate_last_epoch) numpy_shuffle(engine, documents.first(last));
  numpy_shuffle(engine, documents.subspan(last));
}

// Walks through the documents of all epochs. A sample takes sequence_length + 1 tokens, and the next one starts with
// its last token. Only the very last sample may find fewer.
template <class S, class D>
void fill_samples(std::span<S> samples, std::span<const D> documents, std::span<const int32_t> lengths,
                  int64_t sequence_length) {
  size_t position = 0;
  int64_t offset = 0;
  samples[0] = samples[1] = 0;
  for (size_t i = 2; i < samples.size(); i += 2) {
    int64_t left = sequence_length + 1;
    while (true) {
      const int64_t here = lengths[static_cast<size_t>(documents[position])] - offset;
      left -= here;
      if (left <= 0) {
        offset += left + here - 1;
        break;
      }
      if (position + 1 == documents.size()) {
        offset = std::max<int64_t>(0, lengths[static_cast<size_t>(documents[position])] - 1);
        break;
      }
      ++position;
      offset = 0;
    }
    samples[i] = static_cast<S>(position);
    samples[i + 1] = static_cast<S>(offset);
  }
}

template <class T>
void fill_shuffle(std::span<T> shuffle, const GptIndexPlan& plan, std::mt19937& engine) {
  std::iota(shuffle.begin(), shuffle.end(), T{0});
  const auto last = static_cast<size_t>(plan.separate_last_epoch ? plan.samples_before_last_epoch : 0);
  if (plan.separate_last_epoch) numpy_shuffle(engine, shuffle.first(last));
  numpy_shuffle(engine, shuffle.subspan(last));
}

template <class T>
std::span<T> array_at(std::vector<uint64_t>& image, int64_t offset_bytes, int64_t size) {
  return {reinterpret_cast<T*>(reinterpret_cast<std::byte*>(image.data()) + offset_bytes), static_cast<size_t>(size)};
}

// Calls f with a zero of the narrow or the wide type.
template <class Narrow, class F>
void with_width(int32_t width, F&& f) {
  if (width == 8) return f(int64_t{});
  f(Narrow{});
}

}  // namespace

GptIndexPlan plan_gpt_index(const GptIndexRequest& request, int64_t tokens_per_epoch) {
  PRIMUS_CHECK(tokens_per_epoch > 0 && request.sequence_length > 0, "an index needs tokens and a sequence length");
  GptIndexPlan plan;
  const int64_t length = request.sequence_length;
  plan.tokens_per_epoch = tokens_per_epoch;
  if (request.num_samples) {
    const int64_t wanted_tokens = *request.num_samples * length + 1;
    plan.num_epochs = std::max<int64_t>(1, (wanted_tokens + tokens_per_epoch - 1) / tokens_per_epoch);
  }
  const int64_t usable = plan.num_epochs * tokens_per_epoch - 1;
  plan.num_samples = usable / length;
  if (request.keep_last_partial) {
    // Megatron divides in 32-bit floats; where those round beyond the data it fails, and the exact number is right.
    const auto rounded = static_cast<int64_t>(std::ceil(static_cast<float>(usable) / static_cast<float>(length)));
    plan.num_samples = std::min(rounded, (usable + length - 1) / length);
  }
  if (plan.num_epochs > 1) {
    plan.samples_before_last_epoch = ((plan.num_epochs - 1) * tokens_per_epoch - 1) / length;
    const int64_t from_last_epoch = *request.num_samples - plan.samples_before_last_epoch;
    const int64_t samples_per_epoch = (tokens_per_epoch - 1) / length;
    plan.separate_last_epoch = from_last_epoch < static_cast<int64_t>(0.80 * static_cast<double>(samples_per_epoch));
  }
  return plan;
}

GptIndex GptIndex::build(std::span<const int32_t> lengths, const GptIndexRequest& request) {
  int64_t tokens_per_epoch = 0;
  int32_t longest = 0;
  for (int64_t i = request.first_document; i < request.end_document; ++i) {
    tokens_per_epoch += lengths[static_cast<size_t>(i)];
    longest = std::max(longest, lengths[static_cast<size_t>(i)]);
  }
  const GptIndexPlan plan = plan_gpt_index(request, tokens_per_epoch);
  ImageHeader header;
  header.num_documents = plan.num_epochs * (request.end_document - request.first_document);
  header.num_samples = plan.num_samples;
  constexpr int64_t kNarrowMost = std::numeric_limits<int32_t>::max();
  header.document_width = request.end_document <= kNarrowMost ? 4 : 8;
  header.sample_width = std::max<int64_t>(header.num_documents, longest) <= kNarrowMost ? 4 : 8;
  header.shuffle_width = header.num_samples < int64_t{std::numeric_limits<uint32_t>::max()} - 1 ? 4 : 8;

  auto image = std::make_shared<std::vector<uint64_t>>(static_cast<size_t>(image_bytes(header)) / 8);
  std::memcpy(image->data(), &header, sizeof(header));
  const int64_t documents_at = sizeof(ImageHeader);
  const int64_t samples_at = documents_at + padded(header.num_documents * header.document_width);
  const int64_t shuffle_at = samples_at + padded(2 * (header.num_samples + 1) * header.sample_width);
  std::mt19937 engine(request.seed);
  with_width<int32_t>(header.document_width, [&](auto document) {
    using D = decltype(document);
    const std::span<D> documents = array_at<D>(*image, documents_at, header.num_documents);
    fill_documents(documents, request, plan, engine);
    with_width<int32_t>(header.sample_width, [&](auto sample) {
      using S = decltype(sample);
      fill_samples(array_at<S>(*image, samples_at, 2 * (header.num_samples + 1)), std::span<const D>(documents),
                   lengths, request.sequence_length);
    });
  });
  with_width<uint32_t>(header.shuffle_width, [&](auto entry) {
    using T = decltype(entry);
    fill_shuffle(array_at<T>(*image, shuffle_at, header.num_samples), plan, engine);
  });

  GptIndex index;
  index.storage_ = image;
  PRIMUS_CHECK(index.set_views(std::as_bytes(std::span(*image))), "a fresh index has the size that its header says");
  return index;
}

bool GptIndex::set_views(std::span<const std::byte> image) {
  ImageHeader header;
  if (image.size() < sizeof(header)) return false;
  std::memcpy(&header, image.data(), sizeof(header));
  const auto width_ok = [](int32_t width) { return width == 4 || width == 8; };
  // The counts come from a file: bound them before they are multiplied.
  const auto limit = static_cast<int64_t>(image.size());
  if (header.magic != ImageHeader{}.magic || !width_ok(header.document_width) || !width_ok(header.sample_width) ||
      !width_ok(header.shuffle_width) || header.num_documents < 0 || header.num_documents > limit ||
      header.num_samples < 0 || header.num_samples > limit || image_bytes(header) != limit) {
    return false;
  }
  const std::byte* at = image.data() + sizeof(header);
  documents = IndexArray(at, header.num_documents, header.document_width);
  at += padded(header.num_documents * header.document_width);
  samples = IndexArray(at, 2 * (header.num_samples + 1), header.sample_width);
  at += padded(2 * (header.num_samples + 1) * header.sample_width);
  shuffle = IndexArray(at, header.num_samples, header.shuffle_width);
  image_ = image;
  return true;
}

Result<GptIndex> GptIndex::load(const std::string& file, std::string_view key) {
  Result<MappedFile> opened = MappedFile::open(file);
  if (!opened) return opened.diagnostics();
  auto mapped = std::make_shared<MappedFile>(std::move(opened).value());
  GptIndex index;
  if (!index.set_views(mapped->bytes())) return error_at({file}, "the index cache is damaged");
  ImageHeader header;
  std::memcpy(&header, index.image_.data(), sizeof(header));
  if (std::string_view(header.key.data(), header.key.size()) != sha256_hex(key)) {
    return error_at({file}, "the index cache was built from something else");
  }
  const auto arrays = index.image_.subspan(sizeof(header));
  if (crc32c({reinterpret_cast<const char*>(arrays.data()), arrays.size()}) != header.arrays_crc) {
    return error_at({file}, "the index cache is damaged");
  }
  index.storage_ = std::move(mapped);
  return index;
}

void GptIndex::save(const std::string& file, std::string_view key) const {
  ImageHeader header;
  std::memcpy(&header, image_.data(), sizeof(header));
  const std::string digest = sha256_hex(key);
  std::copy(digest.begin(), digest.end(), header.key.begin());
  const auto arrays = image_.subspan(sizeof(header));
  header.arrays_crc = crc32c({reinterpret_cast<const char*>(arrays.data()), arrays.size()});
  DurableFile out(file);
  out.write(&header, sizeof(header));
  out.write(arrays.data(), arrays.size());
  out.close();
}

}  // namespace primus::data
