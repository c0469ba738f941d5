#include "gradcheck/models/decoder_fixture.h"

namespace primus::test {

Weights random_weights(models::Decoder& decoder, spec::Dtype dtype) {
  Weights weights;
  uint64_t seed = 100;
  for (nn::Parameter* parameter : decoder.parameters()) {
    at::manual_seed(++seed);
    parameter->allocate(dtype);
    const double size = parameter->is_vector() ? 0.4 : parameter->name() == "embed.weight" ? 0.9 : 0.25;
    parameter->master.normal_(0, size);
    if (parameter->is_vector()) parameter->master.add_(0.6);
    if (dtype != spec::Dtype::Float32) parameter->master.copy_(parameter->master.to(nn::to_torch(dtype)));
    parameter->refresh_compute();
    parameter->main_grad = at::zeros(parameter->shape(), at::kFloat);
    int64_t row = 0;
    for (const nn::Piece& piece : parameter->pieces()) {
      weights[piece.name] = parameter->master.narrow(0, row, piece.num_rows).to(at::kDouble).requires_grad_(true);
      row += piece.num_rows;
    }
  }
  for (models::Buffer& buffer : decoder.buffers()) {
    buffer.values.uniform_(-0.2, 0.2);
    weights[buffer.name] = buffer.values.to(at::kDouble);
  }
  return weights;
}

models::MicroBatch random_batch(const Case& c) {
  at::manual_seed(7);
  models::MicroBatch batch;
  batch.tokens = at::randint(kVocab, {kBatch, kTokens}, at::kLong);
  batch.labels = at::randint(kVocab, {kBatch, kTokens}, at::kLong);
  batch.weights = at::rand({kBatch, kTokens}) * 0.2;
  batch.weights[1].slice(0, 3, 9).zero_();
  if (c.model.padding_id) batch.tokens[0].slice(0, 11, 15).fill_(*c.model.padding_id);
  batch.mean_of_its_own = c.mean_of_its_own;
  return batch;
}

nn::Context make_context(const nn::Routes& routes, bool documents) {
  nn::Context context;
  context.routes = &routes;
  context.training = true;
  context.seed = 41;
  context.step = 6;
  context.sample_index = at::tensor({5, 6, 11}, at::kLong);
  if (!documents) return context;
  context.positions = at::empty({kBatch, kTokens}, at::kLong);
  context.document_start = at::empty({kBatch, kTokens}, at::kInt);
  for (int64_t b = 0; b < kBatch; ++b) {
    for (int64_t t = 0; t < kTokens; ++t) {
      const int64_t start = b == 0 ? (t >= 8 ? 8 : t >= 1 ? 1 : 0) : b == 1 ? 0 : t - t % 6;
      context.document_start[b][t] = static_cast<int32_t>(start);
      context.positions[b][t] = t - start;
    }
  }
  return context;
}

double relative_error(const at::Tensor& found, const at::Tensor& wanted) {
  return ((found.to(at::kDouble) - wanted).norm() / (wanted.norm() + 1e-30)).item<double>();
}

std::vector<Case> all_cases() {
  std::vector<Case> all;
  for (const auto& part :
       {dense_cases(), attention_cases(), head_cases(), mixture_cases(), mixer_cases(), family_cases()}) {
    all.insert(all.end(), part.begin(), part.end());
  }
  return all;
}

}  // namespace primus::test
