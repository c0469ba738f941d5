#include "gradcheck/models/decoder_cases.h"

namespace primus::test {

namespace {

spec::Model mixture(const std::function<void(spec::Moe&)>& change) {
  spec::Moe moe;
  moe.num_experts = 6;
  moe.top_k = 2;
  moe.expert.ffn_size = 15;
  change(moe);
  spec::Model model = llama();
  for (size_t i = 1; i < model.layers.size(); ++i) model.layers[i].moe = moe;  // the first layer stays dense
  return model;
}

void sigmoid_with_groups(spec::Moe& m) {  // arXiv 2412.19437, section 2.1.2
  m.top_k = 3;
  m.router.score = spec::RouterScore::Sigmoid;
  m.router.groups =
      spec::GroupLimit{.num_groups = 3, .top_groups = 2, .score = spec::GroupScore::SumOfTop, .sum_of = 2};
  m.router.expert_bias = spec::ExpertBias{};
  m.router.renormalise = true;
  m.router.scale = 2.5;
  m.shared_ffn_size = 13;
}

void losses(spec::Moe& m) {
  m.router.z_loss = 0.3;
  m.router.balance_losses = {{spec::BalanceScope::Sequence, 0.4}, {spec::BalanceScope::MicroBatch, 0.7}};
}

}  // namespace

std::vector<Case> mixture_cases() {
  using R = spec::Moe;
  std::vector<Case> all = {
      {"MixtureSoftmaxOverAll", mixture([](R& m) { m.router.normalise_over_all = true; })},
      {"MixtureSoftmaxOverChosen", mixture([](R&) {})},
      {"MixtureSoftmaxRenormalisedAndScaled", mixture([](R& m) {
         m.router.normalise_over_all = m.router.renormalise = true;
         m.router.scale = 1.7;
       })},
      {"MixtureByReferenceRoutines", mixture([](R& m) {
         sigmoid_with_groups(m);
         losses(m);
         m.plain_router = m.plain_experts = true;
       })},
      {"MixtureOfOne", mixture([](R& m) {
         m.top_k = 1;
         m.router.normalise_over_all = true;
       })},
      {"MixtureOfAll", mixture([](R& m) { m.top_k = m.num_experts; })},
      {"MixtureBestOfGroups",  // arXiv 2405.04434, section 2.2.2
       mixture([](R& m) {
         m.router.normalise_over_all = true;
         m.router.groups = spec::GroupLimit{.num_groups = 3, .top_groups = 1, .score = spec::GroupScore::Max};
         m.router.scale = 3;
       })},
      {"MixtureSigmoidWithGroupsAndBias", mixture(sigmoid_with_groups)},
      {"MixtureRouterBiasAndCap", mixture([](R& m) {
         m.router.bias = true;
         m.router.logit_soft_cap = 1.4;
       })},
      {"MixtureClampedWithBiases",  // gpt-oss
       mixture([](R& m) {
         m.router.bias = true;
         m.expert = {
             .ffn_size = 15, .activation = spec::Activation::QuickGelu, .bias = true, .clamp = 0.9, .up_offset = 1};
       })},
      {"MixtureUngatedWithBiases", mixture([](R& m) {
         m.expert = {.ffn_size = 15, .activation = spec::Activation::SquaredRelu, .gated = false, .bias = true};
       })},
      {"MixtureWeightOnInput",  // Llama 4
       mixture([](R& m) {
         m.top_k = 1;
         m.router.score = spec::RouterScore::Sigmoid;
         m.router.weight_on_input = true;
         m.shared_ffn_size = 20;
       })},
      {"MixtureWeightOnInputOfTwoWithBiases", mixture([](R& m) {
         m.router.score = spec::RouterScore::Sigmoid;
         m.router.weight_on_input = m.expert.bias = true;
       })},
      {"MixtureSharedGateAndLatents", mixture([](R& m) {
         m.shared_ffn_size = 11;
         m.shared_gate = true;
         m.latent_size = 9;
       })},
      {"MixtureLosses", mixture([](R& m) {
         losses(m);
         m.router.normalise_over_all = true;
       })},
      {"MixtureLossesOfBiasedGroups", mixture([](R& m) {
         sigmoid_with_groups(m);
         losses(m);
       })},
      {"MixtureLossesWithFullRecomputation", mixture(losses), recomputed_blocks(), true},
      {"MixtureLossesWithSelectiveRecomputation",
       changed(mixture([](R& m) {
                 sigmoid_with_groups(m);
                 losses(m);
                 m.shared_gate = true;
               }),
               add_dropout),
       recomputed_parts()},
      {"MixtureWithMorePredictions",
       changed(
           mixture([](R& m) {
             sigmoid_with_groups(m);
             losses(m);
           }),
           [](spec::Model& m, spec::LayerSpec&) { m.mtp = spec::MultiTokenPrediction{.depth = 2, .loss_scale = 0.5}; }),
       recomputed_blocks()},
      {"MixtureFp32Residual", changed(mixture([](R& m) { m.router.dtype = spec::RouterDtype::Float64; }),
                                      [](spec::Model& m, spec::LayerSpec&) { m.fp32_residual = true; })},
  };
  for (Case& c : all) c.bf16_tolerance = 0.6;
  return all;
}

}  // namespace primus::test
