// What the keys mean: each test names the rule.
#include "primus/dialect/to_spec.h"

#include <cmath>
#include <gtest/gtest.h>

#include "experiment.h"

#include "primus/spec/schedule_values.h"

namespace primus::dialect {
namespace {

using testing::experiment;
using ::testing::HasSubstr;
using testing::little;
using ::testing::Not;
using testing::replaced;
using testing::without;

spec::RunSpec translate(const std::string& yaml, const ToSpecOptions& options = {}) {
  auto run = to_spec(experiment(yaml), {}, options);
  PRIMUS_CHECK(run.ok(), render(run.diagnostics()));
  return *run;
}

TEST(ToSpec, RefusesAModelOfTooManyLayersInEveryDialect) {
  const std::pair<const char*, const char*> cases[] = {
      {"megatron/configs/CPU/llama3.1_8B-pretrain.yaml", "num_layers"},
      {"torchtitan/configs/CPU/llama3.1_8B-pretrain.yaml", "model.n_layers"},
      {"maxtext/configs/CPU/llama3_8B-pretrain.yaml", "override_model.base_num_decoder_layers"},
      {"megatron_bridge/configs/CPU/qwen3_8b_pretrain.yaml", "model.num_layers"}};
  for (const auto& [file, key] : cases) {
    const auto run =
        to_spec(testing::shipped(std::string("examples/") + file, {std::string(key) + "=20000000"}), {}, {});
    EXPECT_FALSE(run.ok()) << file;
    EXPECT_THAT(render(run.diagnostics()), ::testing::ContainsRegex("at most 10,?000")) << file;
  }
}

TEST(ToSpec, FillsTheArchitectureLayerByLayer) {
  const auto run =
      translate(little("group_query_attention: true\nnum_query_groups: 2\nrotary_base: 5000\n"
                       "rotary_percent: 0.5\nrotary_interleaved: true\nlayernorm_epsilon: 1.0e-06\n"
                       "add_qkv_bias: true\ninit_method_std: 0.013\n"));
  ASSERT_EQ(run.model.layers.size(), 3U);
  const spec::LayerSpec& layer = run.model.layers[2];
  EXPECT_EQ(layer.attention.num_heads, 6);
  EXPECT_EQ(layer.attention.num_kv_heads, 2);
  EXPECT_EQ(layer.attention.head_dim, 16);
  EXPECT_TRUE(layer.attention.qkv_bias);
  EXPECT_FALSE(layer.attention.out_bias);
  EXPECT_DOUBLE_EQ(layer.attention.softmax_scale, 0.25);
  ASSERT_TRUE(layer.attention.rope);
  EXPECT_EQ(layer.attention.rope->base, 5000);
  EXPECT_EQ(layer.attention.rope->fraction, 0.5);
  EXPECT_TRUE(layer.attention.rope->interleaved);
  EXPECT_FALSE(layer.attention.rope->llama3);
  EXPECT_EQ(layer.input_norm.kind, spec::NormKind::RmsNorm);
  EXPECT_EQ(run.model.final_norm.eps, 1e-6);
  EXPECT_TRUE(layer.mlp.gated);
  EXPECT_EQ(layer.mlp.ffn_size, 256);  // int(4 * 96 * 2 / 3 / 64) * 64
  EXPECT_FALSE(run.model.tied_embeddings);
  EXPECT_EQ(run.model.init.std, 0.013);
  EXPECT_DOUBLE_EQ(run.model.init.residual_output_std, 0.013 / std::sqrt(6.0));
}

TEST(ToSpec, TakesTheTanhFormOfGeluOnlyWhereUpstreamFusesItWithTheBias) {
  const auto activation = [](const std::string& keys) {
    const std::string bare = without(without(without(little(), "swiglu"), "add_bias_linear"), "bias_gelu_fusion");
    return translate(bare + keys).model.layers[0].mlp.activation;
  };
  EXPECT_EQ(activation("add_bias_linear: true\n"), spec::Activation::GeluTanh);
  EXPECT_EQ(activation("add_bias_linear: true\nbias_gelu_fusion: false\n"), spec::Activation::Gelu);
  EXPECT_EQ(activation("add_bias_linear: false\n"), spec::Activation::Gelu);
  EXPECT_EQ(activation("add_bias_linear: true\nsquared_relu: true\n"), spec::Activation::SquaredRelu);
}

TEST(ToSpec, TakesMegatronsOwnDefaultsWhereNothingIsSaid) {
  std::string bare = little();
  for (const char* key : {"swiglu", "add_bias_linear", "position_embedding_type", "normalization", "hidden_dropout",
                          "attention_dropout", "untie_embeddings_and_output_weights", "bf16", "min_lr"})
    bare = without(bare, key);
  const auto run = translate(bare);
  const spec::LayerSpec& layer = run.model.layers[0];
  EXPECT_EQ(layer.mlp.activation, spec::Activation::GeluTanh);
  EXPECT_FALSE(layer.mlp.gated);
  EXPECT_EQ(layer.mlp.ffn_size, 4 * 96);
  EXPECT_TRUE(layer.mlp.bias && layer.attention.qkv_bias && layer.attention.out_bias);
  EXPECT_EQ(layer.hidden_dropout, 0.1);
  EXPECT_EQ(run.model.embedding_dropout, 0.1);
  EXPECT_EQ(layer.attention.dropout, 0.1);
  EXPECT_TRUE(run.model.learned_positions);
  EXPECT_FALSE(layer.attention.rope);
  EXPECT_EQ(layer.input_norm.kind, spec::NormKind::LayerNorm);
  EXPECT_TRUE(run.model.tied_embeddings);
  EXPECT_EQ(run.precision.compute, spec::Dtype::Float32);
  EXPECT_EQ(run.lr.decay, spec::LrDecay::Linear);
  EXPECT_EQ(run.optimizer.beta2, 0.999);
  EXPECT_EQ(run.weight_decay.end, 0.01);
  EXPECT_EQ(run.optimizer.clip_grad_norm, 1.0);
  EXPECT_EQ(run.data.order, spec::LoaderOrder::Single);
  EXPECT_EQ(run.loss, spec::LossNormalisation::MicroBatchMean);
}

TEST(ToSpec, RopeScalingIsLlama3sWithFactorEightWhateverTheKeysSay) {
  const auto run = translate(little("use_rope_scaling: true\nrope_scaling_factor: 16.0\n"));
  ASSERT_TRUE(run.model.layers[0].attention.rope->llama3);
  EXPECT_EQ(run.model.layers[0].attention.rope->llama3->factor, 8);
  EXPECT_EQ(run.model.layers[0].attention.rope->llama3->original_max_positions, 8192);
}

TEST(ToSpec, OldSpellingOfRopeStillWorks) {
  const auto run = translate(
      replaced(little("use_rotary_position_embeddings: true\n"), "position_embedding_type", "learned_absolute"));
  EXPECT_TRUE(run.model.layers[0].attention.rope);
  EXPECT_FALSE(run.model.learned_positions);
}

TEST(ToSpec, MockDataNeedNoTokenizerAndHave131073Ids) {
  const auto run =
      translate(little("tokenizer_type: HuggingFaceTokenizer\ntokenizer_model: some/where\ntrain_data_path: /x\n"));
  EXPECT_EQ(run.tokenizer.type, "NullTokenizer");
  EXPECT_EQ(run.tokenizer.preset_name, "HuggingFaceTokenizer some/where");
  EXPECT_EQ(run.model.vocab_size, 131073);
  EXPECT_EQ(run.model.padded_vocab_size, 131200);
  EXPECT_TRUE(run.data.train.empty());
  EXPECT_EQ(run.data.split, "1,1,1");
}

TEST(ToSpec, MockVocabularyFollowsVocabSize) {
  const auto run = translate(little("vocab_size: 127\n"));
  EXPECT_EQ(run.model.vocab_size, 128);
  EXPECT_EQ(run.model.padded_vocab_size, 128);
}

TEST(Vocabulary, ComesFromTheTokenizerAndIsPadded) {
  const std::string real =
      replaced(little("tokenizer_type: CharTokenizer\ntrain_data_path: /x\n"), "mock_data", "false");
  auto run = translate(real);
  EXPECT_EQ(run.model.vocab_size, 0);
  EXPECT_TRUE(finish_vocabulary(run, 129).empty());
  EXPECT_EQ(run.model.vocab_size, 129);
  EXPECT_EQ(run.model.padded_vocab_size, 256);

  run = translate(real + "make_vocab_size_divisible_by: 1\n");
  EXPECT_TRUE(finish_vocabulary(run, 65).empty());
  EXPECT_EQ(run.model.padded_vocab_size, 65);

  run = translate(real + "padded_vocab_size: 32000\n");
  EXPECT_TRUE(finish_vocabulary(run, 31000).empty());
  EXPECT_EQ(run.model.vocab_size, 31000);
  EXPECT_EQ(run.model.padded_vocab_size, 32000);
}

TEST(Vocabulary, LargerThanTheModelsIsAnError) {
  const std::string real =
      replaced(little("tokenizer_type: CharTokenizer\ntrain_data_path: /x\n"), "mock_data", "false");
  for (const char* key : {"vocab_size", "padded_vocab_size"}) {
    auto run = translate(real + key + ": 64\n");
    const Diagnostics findings = finish_vocabulary(run, 65);
    ASSERT_EQ(findings.size(), 1U);
    EXPECT_EQ(findings[0].key, key);
    EXPECT_THAT(findings[0].message, ::testing::HasSubstr("65 ids"));
  }
}

TEST(Schedule, CountsInSequencesAndKeepsFractions) {
  const auto run = translate(little("lr_warmup_fraction: 0.1\nlr_decay_iters: 60\nlr_decay_style: cosine\n"));
  EXPECT_EQ(run.lr.decay_samples, 60 * 12);
  EXPECT_DOUBLE_EQ(run.lr.warmup_samples, 0.1 * 720);
  EXPECT_EQ(run.weight_decay.ramp_samples, 70 * 12);  // over train_iters, not over lr_decay_iters
}

TEST(Schedule, OfSixStepsWithWarmUpTwoStartsAtZero) {  // B093
  std::string yaml =
      replaced(replaced(replaced(little("lr_warmup_iters: 2\n"), "lr", "1.0"), "min_lr", "0.0"), "train_iters", "6");
  const auto steps = spec::step_values(translate(yaml));
  const double wanted[] = {0, 0.5, 1, 0.75, 0.5, 0.25};
  ASSERT_EQ(steps.size(), 6U);
  for (size_t i = 0; i < 6; ++i) EXPECT_DOUBLE_EQ(steps[i].lr, wanted[i]) << i;
}

TEST(Schedule, ByRampedSamplesCountsStepsAsMegatronDoes) {
  std::string yaml = without(little("train_samples: 200\nrampup_batch_size: [3, 3, 60]\n"), "train_iters");
  const auto run = translate(yaml);
  // Stages of 20 samples: 3 (7 steps, 21), 6 (4: 45), 9 (2: 63), then 12: 11 steps of the 137 that remain.
  EXPECT_EQ(run.exit.train_steps, 7 + 4 + 2 + 11);
  const auto steps = spec::step_values(run);
  EXPECT_EQ(steps[6].global_batch_size, 3);
  EXPECT_EQ(steps[7].global_batch_size, 6);
  EXPECT_EQ(steps.back().samples, 195);
}

TEST(Batch, OfNobodyIsMicroBatchTimesRanks) {
  const auto run = translate(without(little(), "global_batch_size"), {.world_size = 5});
  EXPECT_EQ(run.batch.global_batch_size, 15);
}

TEST(Batch, CheckWorldSpeaksTheDialectsNames) {  // B112
  const auto run = translate(little());
  EXPECT_TRUE(check_world(run, 4).empty());
  const Diagnostics findings = check_world(run, 5);
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].key, "global_batch_size");
  EXPECT_THAT(findings[0].suggestion, ::testing::HasSubstr("15"));
}

TEST(Precision, GradientsAreSummedInFp32ForBf16UnlessAskedOtherwise) {
  EXPECT_EQ(translate(little()).precision.grad_reduce, spec::Dtype::Float32);
  EXPECT_EQ(translate(little("grad_reduce_in_bf16: true\n")).precision.grad_reduce, spec::Dtype::BFloat16);
  const std::string fp16 = replaced(little("fp16: true\n"), "bf16", "false");
  EXPECT_EQ(translate(fp16).precision.grad_reduce, spec::Dtype::Float16);
  EXPECT_EQ(translate(fp16 + "accumulate_allreduce_grads_in_fp32: true\n").precision.grad_reduce, spec::Dtype::Float32);
}

TEST(Precision, DynamicLossScaleSwitchesTheNanCheckOff) {
  const std::string fp16 = replaced(little("fp16: true\n"), "bf16", "false");
  EXPECT_TRUE(translate(little()).exit.fail_on_nan);
  EXPECT_FALSE(translate(fp16).exit.fail_on_nan);
  EXPECT_TRUE(translate(fp16 + "loss_scale: 128\n").exit.fail_on_nan);
  EXPECT_EQ(translate(fp16).precision.loss_scale.initial, 4294967296.0);
}

TEST(Precision, Fp8BecomesBf16OnlyWhenAsked) {
  const auto run = to_spec(experiment(little("fp8: hybrid\nfp8_margin: 3\n")), {}, {.allow_precision_fallback = true});
  ASSERT_TRUE(run.ok()) << render(run.diagnostics());
  EXPECT_EQ(run->precision.compute, spec::Dtype::BFloat16);
  ASSERT_EQ(run.diagnostics().size(), 1U);
  EXPECT_EQ(run.diagnostics()[0].severity, Severity::Warning);
}

// Combinations that upstream's argument check refuses.
TEST(Optimizer, RefusesCompanyThatUpstreamRefuses) {
  const auto refusal = [](const std::string& more) {
    return render(to_spec(experiment(little(more)), {}, {.for_training = false}).diagnostics());
  };
  EXPECT_THAT(refusal("overlap_param_gather: true\n"), HasSubstr("use_distributed_optimizer: true"));
  const std::string cut = "overlap_param_gather: true\nuse_distributed_optimizer: true\n";
  EXPECT_THAT(refusal(cut), HasSubstr("overlap_grad_reduce: true"));
  EXPECT_THAT(refusal(cut + "overlap_grad_reduce: true\n"), Not(HasSubstr("error")));
  EXPECT_THAT(refusal("optimizer: muon\nuse_distributed_optimizer: true\n"), HasSubstr("Muon does not work with"));
  EXPECT_THAT(refusal("optimizer: dist_muon\nfp16: true\n"), HasSubstr("Muon does not work in fp16"));
  EXPECT_THAT(refusal("save: here\n"), HasSubstr("save is given, and not how often"));
}

TEST(Turbo, NeedsTheLibraryWhereThereAreExperts) {
  for (const char* key : {"use_turbo_deepep: true", "use_turbo_permute_padding: true",
                          "moe_use_fused_router_with_aux_score: true", "turbo_sync_free_moe_stage: 1"}) {
    const auto refused = to_spec(experiment(little(std::string("num_experts: 4\n") + key + "\n")));
    EXPECT_THAT(render(refused.diagnostics()), HasSubstr("needs enable_primus_turbo: true")) << key;
  }
}

TEST(Recompute, ChoosesLayersByMethod) {
  const std::string full = little("recompute_granularity: full\n");
  auto run = translate(full + "recompute_method: uniform\nrecompute_num_layers: 2\n");
  EXPECT_THAT(run.recompute.layer_ids, ::testing::ElementsAre(0, 1, 2));
  EXPECT_EQ(run.recompute.layers_per_block, 2);
  run = translate(full + "recompute_method: block\nrecompute_num_layers: 2\n");
  EXPECT_THAT(run.recompute.layer_ids, ::testing::ElementsAre(0, 1));
  EXPECT_EQ(run.recompute.layers_per_block, 1);
  run = translate(full + "recompute_layer_ids: \"0, 2\"\n");
  EXPECT_THAT(run.recompute.layer_ids, ::testing::ElementsAre(0, 2));
  run = translate(little("recompute_activations: true\n"));
  EXPECT_EQ(run.recompute.kind, spec::RecomputeKind::Selective);
  EXPECT_THAT(run.recompute.modules, ::testing::ElementsAre("core_attn"));
}

TEST(Data, OneWeightedFileIsABlendAndTwoWordsAreNot) {
  const std::string real = replaced(little("tokenizer_type: ByteTokenizer\n"), "mock_data", "false");
  auto run = translate(real + "data_path: 1.0 /x/a\n");
  EXPECT_TRUE(run.data.blend.weighted);
  ASSERT_EQ(run.data.blend.files.size(), 1U);
  EXPECT_EQ(run.data.split, "969, 30, 1");
  run = translate(real + "data_path: [/x/a, /x/b]\nsplit: 9,1,0\n");
  EXPECT_FALSE(run.data.blend.weighted);
  ASSERT_EQ(run.data.blend.files.size(), 2U);
  EXPECT_EQ(run.data.blend.files[1].prefix, "/x/b");
  EXPECT_EQ(run.data.split, "9,1,0");
  run = translate(real + "train_data_path: 3 /x/a 7 /x/b\nvalid_data_path: /x/v\n");
  EXPECT_EQ(run.data.train.files[1].weight, 7);
  EXPECT_EQ(run.data.split, "");
}

TEST(Data, PreparationIsRead) {
  const std::string real =
      replaced(little("tokenizer_type: ByteTokenizer\ntrain_data_path: /x/a\n"), "mock_data", "false");
  const auto run = translate(real +
                             "prepare_data: {input: [a.txt, b.jsonl.gz], valid_fraction: 0.25, json_key: body, "
                             "document: line, train_tokenizer_vocab_size: 777}\n");
  ASSERT_TRUE(run.data.prepare);
  EXPECT_THAT(run.data.prepare->inputs, ::testing::ElementsAre("a.txt", "b.jsonl.gz"));
  EXPECT_EQ(run.data.prepare->valid_fraction, 0.25);
  EXPECT_EQ(run.data.prepare->json_key, "body");
  EXPECT_EQ(run.data.prepare->document, "line");
  EXPECT_EQ(run.data.prepare->train_tokenizer_vocab_size, 777);
}

TEST(Checkpoint, KeysBecomePositiveWords) {
  const auto run =
      translate(little("save: anywhere\nsave_interval: 9\ndisable_last_saving: true\nauto_continue_train: true\n"
                       "finetune: true\nload: /old\nno_load_optim: true\nckpt_step: 4\nkeep_last: 3\n"
                       "exit_on_missing_checkpoint: true\nasync_save: false\n"));
  EXPECT_TRUE(run.checkpoint.save);
  EXPECT_FALSE(run.checkpoint.save_at_end);
  EXPECT_TRUE(run.checkpoint.resume_by_default);
  EXPECT_TRUE(run.checkpoint.load_weights_only);
  EXPECT_FALSE(run.checkpoint.load_optimizer);
  EXPECT_TRUE(run.checkpoint.missing_load_is_error);
  EXPECT_FALSE(run.checkpoint.asynchronous);
  EXPECT_EQ(run.checkpoint.load_step, 4);
  EXPECT_EQ(run.checkpoint.keep_last, 3);
  EXPECT_EQ(run.checkpoint.load_folder, "/old");
}

TEST(Logging, SinkLevelReplacesBothLevels) {
  auto run = translate(little("stderr_sink_level: trace\nfile_sink_level: Error\nuse_rocm_mem_info_iters: [3, 5]\n"));
  EXPECT_EQ(run.logging.console_level, "TRACE");
  EXPECT_EQ(run.logging.file_level, "ERROR");
  EXPECT_THAT(run.logging.device_memory_steps, ::testing::ElementsAre(3, 5));
  run = translate(little("stderr_sink_level: trace\nsink_level: critical\ndisable_tensorboard: false\n"));
  EXPECT_EQ(run.logging.console_level, "CRITICAL");
  EXPECT_EQ(run.logging.file_level, "CRITICAL");
  EXPECT_TRUE(run.logging.tensorboard);
}

TEST(ToSpec, SaysWhatItIsAndWhereItRuns) {
  const auto run = translate(little());
  EXPECT_EQ(run.identity.framework, "megatron");
  EXPECT_EQ(run.identity.model_file, "shouting_7.yaml");
  EXPECT_THAT(run.identity.run_folder, ::testing::EndsWith("output/amd/root/odd-name"));
}

TEST(ToSpec, RefusesOtherFrameworksWithOneSentence) {
  const auto other = to_spec(experiment(little(), "diffusion"));
  ASSERT_EQ(other.diagnostics().size(), 1U);
  EXPECT_EQ(other.diagnostics()[0].message,
            "framework 'diffusion' has no parameter table: it can be shown, not trained");
  const auto typo = to_spec(experiment(little(), "megatorn"));
  ASSERT_FALSE(typo.ok());
  EXPECT_EQ(typo.diagnostics()[0].suggestion, "did you mean 'megatron'?");
  EXPECT_FALSE(to_spec(experiment(little()), "no_such_trainer").ok());
}

TEST(ToSpec, PlacesPointAtTheValue) {
  const auto run = to_spec(experiment("hidden_size: 96\nnum_layers: two\n"));
  ASSERT_FALSE(run.ok());
  EXPECT_EQ(run.diagnostics()[0].place.to_string(), "exp.yaml:2:13");
}

}  // namespace
}  // namespace primus::dialect
