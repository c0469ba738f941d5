// What megatron's keys of model families mean. Each test names the rule.
#include <cmath>
#include <gtest/gtest.h>

#include "experiment.h"

#include "primus/dialect/megatron_pattern.h"
#include "primus/dialect/megatron_preset.h"
#include "primus/dialect/to_spec.h"

namespace primus::dialect {
namespace {

using ::testing::ElementsAre;
using testing::experiment;
using testing::little;
using testing::replaced;

Result<spec::RunSpec> describe_family(const std::string& yaml) {
  return to_spec(experiment(yaml), {}, {.for_training = false});
}

spec::RunSpec translate_family(const std::string& yaml) {
  auto run = describe_family(yaml);
  PRIMUS_CHECK(run.ok(), render(run.diagnostics()));
  return *run;
}

std::string first_error_key(const std::string& yaml) {
  const auto run = describe_family(yaml);
  for (const Diagnostic& finding : run.diagnostics())
    if (finding.severity == Severity::Error) return finding.key;
  return "";
}

std::string six(const std::string& more) {
  return replaced(little(more), "num_layers", "6");
}

template <class F>
std::vector<int> each_layer(const std::string& yaml, F value) {
  std::vector<int> out;
  const spec::RunSpec run = translate_family(yaml);
  for (const spec::LayerSpec& layer : run.model.layers) out.push_back(static_cast<int>(value(layer)));
  return out;
}

TEST(LayerPattern, IsComputedAsPythonDoes) {
  const auto list = [](const char* text) {
    const auto pattern = parse_layer_pattern(text);
    return pattern && pattern->index() == 2 ? std::get<std::vector<int64_t>>(*pattern) : std::vector<int64_t>{-1};
  };
  EXPECT_THAT(list("([0]*1+[1]*2)"), ElementsAre(0, 1, 1));
  EXPECT_THAT(list("([1]*2+[0])*2"), ElementsAre(1, 1, 0, 1, 1, 0));
  EXPECT_THAT(list("2*[7, 8] + [9]"), ElementsAre(7, 8, 7, 8, 9));
  EXPECT_EQ(std::get<int64_t>(*parse_layer_pattern(" 3 ")), 3);
  for (const char* bad : {"", "[1", "[1]*[2]", "[1]+2", "one", "[1]*999999999", "((((((((((((((((((((((((((((((((((1"})
    EXPECT_FALSE(parse_layer_pattern(bad)) << bad;
  EXPECT_EQ(layer_pattern_text({false, true, true}), "([0]*1+[1]*2)");
  EXPECT_EQ(layer_pattern_text({false, true, false, true}), "([0]*1+[1]*1)*2");
}

TEST(Experts, LieOnLayersThatThePeriodDividesFromTheFirstOn) {
  const auto experts = [](const std::string& freq) {
    return each_layer(six("num_experts: 8\nmoe_layer_freq: " + freq + "\n"),
                      [](const spec::LayerSpec& layer) { return layer.moe.has_value(); });
  };
  EXPECT_THAT(experts("1"), ElementsAre(1, 1, 1, 1, 1, 1));
  EXPECT_THAT(experts("\"1\""), ElementsAre(1, 1, 1, 1, 1, 1));
  EXPECT_THAT(experts("2"), ElementsAre(1, 0, 1, 0, 1, 0));
  EXPECT_THAT(experts("\"([0]*2+[1]*4)\""), ElementsAre(0, 0, 1, 1, 1, 1));
  EXPECT_THAT(experts("[0, 0, 0, 0, 0, 1]"), ElementsAre(0, 0, 0, 0, 0, 1));
  EXPECT_EQ(first_error_key(six("num_experts: 8\nmoe_layer_freq: [1, 0]\n")), "moe_layer_freq");
  EXPECT_EQ(first_error_key(six("num_experts: 8\nmoe_layer_freq: 0\n")), "moe_layer_freq");
}

TEST(Experts, AreRoutedInUpstreamsOrder) {
  const auto router = [](const std::string& more) {
    return translate_family(little("num_experts: 16\nmoe_router_topk: 8\n" + more)).model.layers[0].moe->router;
  };
  EXPECT_FALSE(router("").normalise_over_all || router("").renormalise);
  EXPECT_TRUE(router("moe_router_pre_softmax: true\n").normalise_over_all);
  const spec::Router v3 = router(
      "moe_router_score_function: sigmoid\nmoe_router_enable_expert_bias: true\nmoe_router_num_groups: 8\n"
      "moe_router_group_topk: 4\nmoe_router_topk_scaling_factor: 2.5\nmoe_router_bias_update_rate: 0.125\n"
      "moe_router_load_balancing_type: [seq_aux_loss, global_aux_loss]\nmoe_aux_loss_coeff: [0.5, 0.25]\n"
      "moe_z_loss_coeff: 0.75\nmoe_router_dtype: fp32\n");
  EXPECT_EQ(v3.score, spec::RouterScore::Sigmoid);
  EXPECT_TRUE(v3.renormalise);
  EXPECT_EQ(v3.scale, 2.5);
  EXPECT_EQ(v3.groups->num_groups, 8);
  EXPECT_EQ(v3.groups->sum_of, 2);  // 8 // 4
  EXPECT_EQ(v3.expert_bias->update_rate, 0.125);
  ASSERT_EQ(v3.balance_losses.size(), 2U);
  EXPECT_EQ(v3.balance_losses[0].scope, spec::BalanceScope::Sequence);
  EXPECT_EQ(v3.balance_losses[1].coefficient, 0.25);
  EXPECT_EQ(v3.z_loss, 0.75);
  EXPECT_EQ(v3.dtype, spec::RouterDtype::Float32);
  EXPECT_TRUE(router("moe_router_load_balancing_type: sinkhorn\n").sinkhorn);
  EXPECT_TRUE(router("moe_aux_loss_coeff: 0.5\nmoe_router_load_balancing_type: none\n").balance_losses.empty());
}

TEST(Experts, KnowUpstreamsRefusals) {
  const std::string experts = "num_experts: 8\n";
  EXPECT_EQ(first_error_key(little(experts + "moe_router_enable_expert_bias: true\n")),
            "moe_router_enable_expert_bias");
  EXPECT_EQ(first_error_key(little(experts + "moe_router_topk: 1\n")), "moe_router_pre_softmax");
  EXPECT_EQ(first_error_key(little(experts + "moe_router_topk: 9\n")), "moe_router_topk");
  EXPECT_EQ(first_error_key(little(experts + "moe_router_num_groups: 3\nmoe_router_group_topk: 2\n")),
            "moe_router_group_topk");
  EXPECT_EQ(first_error_key(little(experts + "expert_model_parallel_size: 3\n")), "expert_model_parallel_size");
  EXPECT_EQ(first_error_key(little(experts + "moe_pad_expert_input_to_capacity: true\n")),
            "moe_pad_expert_input_to_capacity");
  EXPECT_EQ(first_error_key(little("moe_router_topk: 1\nmoe_layer_freq: [1]\n")), "");  // nothing without experts
}

TEST(Windows, HoldOneKeyMoreThanTheirFirstNumber) {
  const auto keys = [](const std::string& more) {
    return each_layer(six("window_size: [4, 0]\n" + more),
                      [](const spec::LayerSpec& layer) { return layer.attention.window_keys.value_or(0); });
  };
  EXPECT_THAT(keys(""), ElementsAre(5, 5, 5, 5, 5, 5));
  EXPECT_THAT(keys("window_attn_skip_freq: 2\n"), ElementsAre(5, 0, 5, 0, 5, 0));
  EXPECT_THAT(keys("window_attn_skip_freq: [0, 1, 1, 1, 1, 0]\n"), ElementsAre(0, 5, 5, 5, 5, 0));
}

TEST(Rotation, IsLeftOutOfEveryNthLayer) {
  const auto rotated = [](const std::string& more) {
    return each_layer(six(more), [](const spec::LayerSpec& layer) { return layer.attention.rope.has_value(); });
  };
  EXPECT_THAT(rotated("no_rope_freq: 3\n"), ElementsAre(1, 1, 0, 1, 1, 0));
  EXPECT_THAT(rotated("no_rope_freq: [1, 0, 0, 0, 0, 0]\n"), ElementsAre(0, 1, 1, 1, 1, 1));
  EXPECT_THAT(rotated(""), ElementsAre(1, 1, 1, 1, 1, 1));
}

TEST(LatentAttention, ScalesScoresByYarnsMagnitudeEvenWithPlainRotation) {
  const std::string keys =
      "multi_latent_attention: true\nqk_head_dim: 10\nqk_pos_emb_head_dim: 6\nv_head_dim: 12\nkv_lora_rank: 14\n"
      "qk_layernorm: true\nrotary_scaling_factor: 40\nmscale: 0.707\nmscale_all_dim: 0.707\n";
  for (const char* type : {"", "rope_type: rope\n"}) {
    const spec::Attention a = translate_family(little(keys + type)).model.layers[0].attention;
    EXPECT_NEAR(a.softmax_scale * 4, 1.5896, 5e-5);  // nope + rope = 16
    EXPECT_EQ(a.head_dim, 16);
    EXPECT_EQ(a.latent->q_lora_rank, 0);
    EXPECT_TRUE(a.latent->norm_latents);
    EXPECT_TRUE(a.rope->interleaved);
    EXPECT_EQ(a.rope->yarn.has_value(), std::string(type).empty());
    EXPECT_FALSE(a.qk_norm);
  }
  EXPECT_EQ(first_error_key(little(keys + "group_query_attention: true\n")), "group_query_attention");
  // Upstream's argument, not its class, decides: no magnitude of scores.
  const auto bare = translate_family(little("multi_latent_attention: true\nrotary_scaling_factor: 40\n"));
  EXPECT_DOUBLE_EQ(bare.model.layers[0].attention.softmax_scale, 1 / std::sqrt(192.0));
}

TEST(Families, SmallSwitchesReachTheModel) {
  const auto run = translate_family(
      six("qk_layernorm: true\nsoftmax_type: learnable\nfinal_logit_softcapping: 50\nmtp_num_layers: 1\n"
          "activation_func_clamp_value: 7\nglu_linear_offset: 1\nattention_output_gate: true\n"));
  const spec::LayerSpec& layer = run.model.layers[0];
  EXPECT_TRUE(layer.attention.qk_norm->has_gain);
  EXPECT_EQ(layer.attention.sink, spec::Sink::Learned);
  EXPECT_EQ(run.model.logit_soft_cap, 50);
  EXPECT_EQ(run.model.mtp->depth, 1);
  EXPECT_EQ(layer.mlp.clamp, 7);
  EXPECT_EQ(layer.mlp.up_offset, 1);
  EXPECT_TRUE(layer.attention.output_gate);
  EXPECT_FALSE(translate_family(six("mtp_num_layers: 0\n")).model.mtp);
  EXPECT_EQ(translate_family(six("fp8: hybrid\n")).precision.low_precision, "fp8");
}

TEST(Families, OtherMixersKeepTheirName) {
  const auto mixers = [](const std::string& more) {
    std::vector<std::string> names;
    const spec::RunSpec run = translate_family(six(more));
    for (const spec::LayerSpec& layer : run.model.layers) names.push_back(layer.other_mixer);
    return names;
  };
  EXPECT_EQ(mixers("model_type: mamba\nspec: [a.module, gdn_hybrid_stack_spec]\n")[5], "gated delta net");
  EXPECT_EQ(mixers("model_type: mamba\nspec: [a.module, hybrid_stack_spec]\n")[5], "state-space");
  EXPECT_THAT(mixers("model_type: kimi_k3\nlinear_attention_freq: 3\n"),
              ElementsAre("Kimi delta attention", "Kimi delta attention", "", "Kimi delta attention",
                          "Kimi delta attention", ""));
}

TEST(Families, GatedDeltaNetsStandInThePlaceOfAttention) {
  const std::string keys =
      "experimental_attention_variant: gated_delta_net\nlinear_num_key_heads: 2\nlinear_num_value_heads: 4\n"
      "linear_key_head_dim: 6\nlinear_value_head_dim: 5\nlinear_conv_kernel_dim: 3\napply_layernorm_1p: true\n";
  const auto has_delta = [](const spec::LayerSpec& layer) { return layer.gated_delta.has_value(); };
  EXPECT_THAT(each_layer(six(keys + "linear_attention_freq: 3\n"), has_delta),
              ElementsAre(true, true, false, true, true, false));
  EXPECT_THAT(each_layer(six(keys + "linear_attention_freq: [0, 1, 1, 0, 0, 1]\n"), has_delta),
              ElementsAre(false, true, true, false, false, true));
  const auto run = translate_family(six(keys + "linear_attention_freq: 3\n"));
  const spec::GatedDelta& g = *run.model.layers[0].gated_delta;
  EXPECT_EQ(g.num_key_heads, 2);
  EXPECT_EQ(g.num_value_heads, 4);
  EXPECT_EQ(g.key_head_dim, 6);
  EXPECT_EQ(g.value_head_dim, 5);
  EXPECT_EQ(g.kernel_size, 3);
  EXPECT_EQ(first_error_key(six("linear_attention_freq: 3\n")), "linear_num_key_heads");
}

TEST(Families, ConvolutionsAreNamedLayerByLayer) {
  const auto run = translate_family(
      six("lfm_layer_types: [conv, conv, full_attention, conv, conv, full_attention]\nconv_L_cache: 4\n"));
  EXPECT_EQ(run.model.layers[1].short_conv->kernel_size, 4);
  EXPECT_FALSE(run.model.layers[1].short_conv->bias);
  EXPECT_FALSE(run.model.layers[2].short_conv);
  EXPECT_EQ(first_error_key(six("lfm_layer_types: [conv]\n")), "lfm_layer_types");
}

// allocate_layers of megatron.core 0.19.2 (ssm/mamba_hybrid_layer_allocation.py) gave these letters.
TEST(Families, HybridStacksAreAllocatedAsUpstreamAllocates) {
  const auto stack = [](int64_t layers, const std::string& more) {
    std::string letters;
    const auto run =
        translate_family(replaced(little("model_type: mamba\nmamba_head_dim: 2\nmamba_num_groups: 1\n" + more),
                                  "num_layers", std::to_string(layers)));
    for (const spec::LayerSpec& layer : run.model.layers) {
      EXPECT_NE(layer.has_mixer, layer.has_mlp && !layer.mamba2);
      letters += layer.mamba2 ? 'M' : layer.has_mixer ? '*' : '-';
    }
    return letters;
  };
  const auto ratios = [](const std::string& attention, const std::string& mlps) {
    return "hybrid_attention_ratio: " + attention + "\nhybrid_mlp_ratio: " + mlps + "\n";
  };
  EXPECT_EQ(stack(5, ""), "MMMMM");
  EXPECT_EQ(stack(10, ratios("0.2", "0.0")), "MMM*MM*MMM");
  EXPECT_EQ(stack(24, ratios("0.25", "0.5")), "M--*M-*-M-*-M*--M*--*M--");
  EXPECT_EQ(stack(9, ratios("0.3", "0.3")), "M-*M*-M*-");
  EXPECT_EQ(stack(7, ratios("0.5", "0.2")), "M**M**-");
  EXPECT_EQ(stack(4, "hybrid_override_pattern: \"M*-M\"\n"), "M*-M");
  const auto wrong = [](const std::string& more) { return first_error_key(six("model_type: mamba\n" + more)); };
  EXPECT_EQ(wrong("hybrid_override_pattern: \"M*\"\n"), "hybrid_override_pattern");
  EXPECT_EQ(wrong("hybrid_override_pattern: \"MMMMMX\"\n"), "hybrid_override_pattern");
  EXPECT_EQ(wrong("hybrid_attention_ratio: 0.5\nhybrid_override_pattern: \"MMMMM*\"\n"), "hybrid_override_pattern");
  EXPECT_EQ(wrong("hybrid_attention_ratio: 0.8\nhybrid_mlp_ratio: 0.3\n"), "hybrid_attention_ratio");
}

TEST(Families, MambasHeadsFollowTheHiddenSize) {
  const std::string keys = "model_type: mamba\nmamba_head_dim: 2\nmamba_num_groups: 1\n";
  const auto run = translate_family(six(keys));
  EXPECT_EQ(run.model.layers[0].mamba2->num_heads, run.model.hidden_size);
  EXPECT_EQ(run.model.layers[0].mamba2->state_dim, 128);
  EXPECT_EQ(translate_family(six(keys + "mamba_num_heads: 3\n")).model.layers[0].mamba2->num_heads, 3);
  // A layer of a hybrid stack adds to the stream once.
  const auto hybrid = translate_family(six(keys + "is_hybrid_model: true\n"));
  EXPECT_DOUBLE_EQ(hybrid.model.init.residual_output_std, std::sqrt(2.0) * run.model.init.residual_output_std);
}

TEST(Stages, ComeFromALayoutTheEndsOrEvenly) {
  const auto stages = [](const std::string& more) {
    return translate_family(six("pipeline_model_parallel_size: 2\n" + more)).parallel.stages_per_rank;
  };
  EXPECT_EQ(stages(""), 1);
  EXPECT_EQ(stages("num_virtual_stages_per_pipeline_rank: 3\n"), 3);
  EXPECT_EQ(stages("num_layers_per_virtual_pipeline_stage: 1\n"), 3);
  EXPECT_EQ(stages("pipeline_model_parallel_layout: \"Et|(t|)*4t,L\"\n"), 3);
  EXPECT_EQ(stages("decoder_last_pipeline_num_layers: 1\n"), 1);
  for (const char* bad :
       {"pipeline_model_parallel_layout: \"Et|t*4L\"\n", "pipeline_model_parallel_layout: \"tE|tL\"\n"})
    EXPECT_EQ(first_error_key(six("pipeline_model_parallel_size: 2\n" + std::string(bad))),
              "pipeline_model_parallel_layout");
  EXPECT_EQ(first_error_key(six("pipeline_model_parallel_size: 4\n")), "pipeline_model_parallel_size");
  // Recomputation by block: the first layers of each stage.
  const auto run =
      translate_family(six("pipeline_model_parallel_size: 2\nrecompute_granularity: full\nrecompute_method: block\n"
                           "recompute_num_layers: 1\ndecoder_first_pipeline_num_layers: 4\n"));
  EXPECT_THAT(run.recompute.layer_ids, ElementsAre(0, 4));
}

TEST(Parallel, SizesAndFsdpAreRead) {
  const auto run = translate_family(
      little("tensor_model_parallel_size: 3\ncontext_parallel_size: 2\nnum_experts: 8\n"
             "expert_model_parallel_size: 4\nexpert_tensor_parallel_size: 1\nuse_torch_fsdp2: true\n"));
  EXPECT_EQ(run.parallel.tensor, 3);
  EXPECT_EQ(run.parallel.context, 2);
  EXPECT_EQ(run.parallel.expert, 4);
  EXPECT_EQ(run.parallel.expert_tensor, 1);
  EXPECT_EQ(run.parallel.weight_shards, 0);
  EXPECT_EQ(first_error_key(little("tensor_model_parallel_size: 4\n")), "tensor_model_parallel_size");
}

TEST(FineTuning, IsDescribed) {
  const auto run =
      translate_family(little("stage: sft\nhf_path: some/model\nenable_packed_sequences: true\n"
                              "lora: {enabled: true, dim: 7, alpha: 14, target_modules: [linear_qkv]}\n"));
  ASSERT_TRUE(run.finetune && run.finetune->adapter);
  EXPECT_EQ(run.finetune->adapter->rank, 7);
  EXPECT_TRUE(run.finetune->packed_sequences);
  EXPECT_EQ(run.finetune->pretrained_folder, "some/model");
  EXPECT_FALSE(translate_family(little("lora: {enabled: true}\n")).finetune);
}

}  // namespace
}  // namespace primus::dialect
