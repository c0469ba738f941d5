// primus-train model logits | grads | generate.
#include <algorithm>
#include <fmt/format.h>
#include <ostream>

#include "primus/base/error.h"
#include "primus/base/json.h"
#include "primus/base/strings.h"
#include "primus/hub/hf_weights_source.h"
#include "primus/kernels/linear_cross_entropy.h"
#include "primus/models/generate.h"
#include "primus/run/commands.h"
#include "primus/run/model_session.h"
#include "primus/train/hf_weights.h"

namespace primus::run {

namespace {

std::span<const std::byte> bytes_of(const at::Tensor& tensor) {
  return {static_cast<const std::byte*>(tensor.const_data_ptr()), tensor.nbytes()};
}

float mean_loss(const models::MicroBatch& batch, const at::Tensor& token_loss) {
  return static_cast<float>((token_loss.to(at::kDouble) * batch.weights).sum().item<double>());
}

// Both return the loss.
float write_logits(const cli::ModelRequest& request, ModelSession& session, const at::Tensor& tokens) {
  const at::Tensor logits = session.decoder->logits(tokens, session.context()).contiguous();
  const models::MicroBatch batch = next_token_batch(tokens);
  const at::Tensor token_loss = kernels::cross_entropy(logits.flatten(0, 1), batch.labels.flatten(), {});
  const float mean = mean_loss(batch, token_loss.view_as(tokens));
  const at::Tensor loss = at::full({1}, mean, at::kFloat);
  const std::vector<at::Tensor> tensors = {logits, loss};
  hub::SafetensorsWriter writer(request.output, {{"logits", hub::Dtype::F32, logits.sizes().vec()},
                                                 {"loss", hub::Dtype::F32, loss.sizes().vec()}});
  for (const size_t index : writer.order()) writer.append(bytes_of(tensors[index]));
  writer.close();
  return mean;
}

float write_grads(const cli::ModelRequest& request, ModelSession& session, const at::Tensor& tokens) {
  models::Decoder& decoder = *session.decoder;
  if (session.family.empty()) {
    Diagnostic error = error_at({}, "no Hugging Face family can hold this model, so its gradients have no names");
    error.suggestion = "config import-hf --help lists the families";
    throw InputError(error);
  }
  for (nn::Parameter* parameter : decoder.parameters())
    parameter->main_grad = at::zeros(parameter->shape(), at::kFloat);
  const models::MicroBatch batch = next_token_batch(tokens);
  nn::Context context = session.context();
  const float loss = mean_loss(batch, decoder.forward_backward(batch, context));
  std::vector<hub::HfTensor> tensors = session.tensors;
  std::erase_if(tensors, [](const hub::HfTensor& tensor) { return tensor.buffer; });
  std::vector<hub::TensorInfo> infos;
  for (const hub::HfTensor& tensor : tensors) {
    infos.push_back(hub::tensor_info(tensor, hub::Dtype::F32));
    infos.back().name = "grad." + tensor.name;
  }
  infos.push_back({"loss", hub::Dtype::F32, {1}});
  hub::SafetensorsWriter writer(request.output, infos);
  const hub::FetchPiece gradients = train::piece_values(decoder, train::PieceValues::Gradients);
  for (const size_t index : writer.order()) {
    if (index == tensors.size()) {
      writer.append(bytes_of(at::full({1}, loss, at::kFloat)));
    } else {
      writer.append(hub::assemble(tensors[index], hub::Dtype::F32, gradients));
    }
  }
  writer.close();
  return loss;
}

ExitCode run_tokens(const cli::ModelRequest& request, cli::Context& context) {
  ModelSession session = open_model(request, context, /*with_tokenizer=*/false);
  const at::Tensor tokens = read_token_rows(request.tokens, session.decoder->spec());
  const float loss =
      request.action == "logits" ? write_logits(request, session, tokens) : write_grads(request, session, tokens);
  *context.out << fmt::format("loss {:.7g}\n", loss);
  *context.err << "wrote " << request.output << "\n";
  return ExitCode::Ok;
}

// The prompt behind what the tokenizer's files put in front of a text.
std::vector<int32_t> prompt_ids(const ModelSession& session, const std::string& text) {
  const tokenizer::Tokenizer& tokenizer = *session.tokenizer;
  std::vector<int32_t> ids = tokenizer.encode(text, {.add_bos = tokenizer.boundary().before_by_default});
  if (ids.empty() && tokenizer.special().eod) ids = {*tokenizer.special().eod};
  if (ids.empty()) {
    Diagnostic error = error_at({"command line"}, "an empty prompt, and the tokenizer has no token to begin with");
    error.suggestion = "--prompt TEXT";
    throw InputError(error);
  }
  const int64_t vocab_size = session.decoder->spec().vocab_size;
  if (const int32_t largest = std::ranges::max(ids); largest >= vocab_size) {
    Diagnostic error = error_at({"command line"}, "the tokenizer is not the model's: the prompt has ids without a row");
    error.found = fmt::format("id {}", largest);
    error.expected = fmt::format("ids below {}", vocab_size);
    throw InputError(error);
  }
  return ids;
}

ExitCode run_generate(const cli::ModelRequest& request, cli::Context& context) {
  ModelSession session = open_model(request, context, /*with_tokenizer=*/true);
  const tokenizer::Tokenizer& tokenizer = *session.tokenizer;
  const std::vector<int32_t> prompt = prompt_ids(session, request.prompt);
  models::GenerateOptions options{.max_new_tokens = request.max_new_tokens,
                                  .temperature = request.temperature,
                                  .top_k = request.top_k,
                                  .top_p = request.top_p,
                                  .seed = static_cast<uint64_t>(request.seed),
                                  .vocab_size = tokenizer.vocab_size(),
                                  .cache = request.cache};
  options.end_tokens = session.end_tokens;
  std::vector<int32_t> written;
  tokenizer::StreamDecoder decoder(tokenizer, {.skip_special = true});
  const auto print = [&](const std::string& text) {  // whole characters
    if (!request.json) *context.out << (context.out_is_terminal ? without_controls(text) : text) << std::flush;
  };
  print(request.prompt);
  const auto show = [&](int64_t token) {
    written.push_back(static_cast<int32_t>(token));
    print(decoder.push(written.back()));
  };
  const std::vector<int64_t> start(prompt.begin(), prompt.end());
  models::generate(*session.decoder, start, options, session.context(), show);
  if (request.json) {
    const std::string text = tokenizer.decode(written, {.skip_special = true});
    const Json result = {{"prompt", request.prompt}, {"text", text}, {"prompt_ids", prompt}, {"ids", written}};
    *context.out << dump_json(result, 1) << "\n";
  } else {
    print(decoder.finish() + "\n");
  }
  return ExitCode::Ok;
}

}  // namespace

ExitCode run_model_computation(cli::Context& context) {
  if (context.arguments.empty()) {
    Diagnostic error = error_at({"command line"}, "model needs an action");
    error.expected = join(cli::kModelEngineActions, ", ");
    throw InputError(error);
  }
  const std::string& action = context.arguments.front();
  if (std::find(cli::kModelEngineActions.begin(), cli::kModelEngineActions.end(), action) ==
      cli::kModelEngineActions.end()) {
    Diagnostic error = error_at({"command line"}, fmt::format("primus-train has no command 'model {}'", action));
    error.expected = join(cli::kModelEngineActions, ", ");
    error.suggestion = did_you_mean(action, cli::kModelEngineActions);
    throw InputError(error);
  }
  const std::optional<cli::ModelRequest> request = cli::read_model_request(context);
  if (!request) return ExitCode::Ok;
  return request->action == "generate" ? run_generate(*request, context) : run_tokens(*request, context);
}

}  // namespace primus::run
