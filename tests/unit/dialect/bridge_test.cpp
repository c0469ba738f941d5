// What the keys of megatron_bridge mean: each test names the rule.
#include <cmath>
#include <gtest/gtest.h>

#include "experiment.h"

#include "primus/dialect/to_spec.h"
#include "primus/spec/model_size.h"

namespace primus::dialect {
namespace {

using testing::experiment;
using ::testing::HasSubstr;

std::string pretrain(const std::string& flavor = "llama32_1b_pretrain_config", const std::string& more = "") {
  return "recipe: llama.llama3\nflavor: " + flavor + "\nmock: true\n" + more;
}
std::string finetune(const std::string& recipe, const std::string& flavor, const std::string& more = "") {
  return "recipe: " + recipe + "\nflavor: " + flavor + "\npretrained_checkpoint: /weights/here\n" + more;
}
std::string qwen(const std::string& more = "") {
  return finetune("qwen.qwen3", "qwen3_8b_finetune_config", more);
}

Result<spec::RunSpec> translate_bridge(const std::string& yaml, int64_t ranks = 1, bool for_training = false) {
  return to_spec(experiment(yaml, "megatron_bridge"), {}, {.world_size = ranks, .for_training = for_training});
}
spec::RunSpec bridge_run_of(const std::string& yaml, int64_t ranks = 1) {
  auto run = translate_bridge(yaml, ranks);
  PRIMUS_CHECK(run.ok(), render(run.diagnostics()));
  return *run;
}
// The only finding about this key, as one text.
std::string about(const Result<spec::RunSpec>& run, const std::string& key, Severity severity) {
  std::string text;
  for (const Diagnostic& finding : run.diagnostics())
    if (finding.key == key && finding.severity == severity) {
      EXPECT_TRUE(text.empty()) << "said twice: " << finding.message;
      text = finding.message + "|" + finding.expected + "|" + finding.suggestion;
    }
  return text;
}
int64_t parameters(const spec::RunSpec& run) {
  return spec::count_parameters(run.model, false).total();
}

TEST(BridgeRecipe, PretrainsALlamaThatTheEngineCanTrain) {
  const auto run =
      translate_bridge(pretrain("llama32_1b_pretrain_config", "train_iters: 50\nlr_warmup_iters: 2\n"), 1, true);
  ASSERT_TRUE(run.ok()) << render(run.diagnostics());
  EXPECT_TRUE(run.diagnostics().empty()) << render(run.diagnostics());
  EXPECT_TRUE(run->data.mock);
  EXPECT_EQ(run->data.split, "1,1,1");
  EXPECT_EQ(run->data.sequence_length, 8192);
  EXPECT_EQ(run->tokenizer.type, "NullTokenizer");
  EXPECT_EQ(run->tokenizer.vocab_size, 31999);  // and one more, which ends documents
  EXPECT_EQ(run->model.vocab_size, 128256);
  EXPECT_EQ(run->batch.global_batch_size, 512);
  EXPECT_EQ(run->lr.decay_samples, 50 * 512);
  EXPECT_EQ(run->lr.warmup_samples, 2 * 512);
  EXPECT_EQ(run->lr.max_lr, 3e-4);
  EXPECT_EQ(run->lr.decay, spec::LrDecay::Cosine);
  EXPECT_EQ(run->optimizer.beta2, 0.95);
  EXPECT_EQ(run->optimizer.eps, 1e-5);
  EXPECT_TRUE(run->optimizer.shard_state);
  EXPECT_EQ(run->weight_decay.start, 0.033);  // not the optimizer's 0.1
  EXPECT_EQ(run->weight_decay.end, 0.033);
  EXPECT_EQ(run->precision.compute, spec::Dtype::BFloat16);
  EXPECT_EQ(run->precision.grad_reduce, spec::Dtype::Float32);
  EXPECT_EQ(run->evaluation.num_batches, 32);
  EXPECT_EQ(run->evaluation.interval_steps, 2000);
  EXPECT_EQ(run->logging.interval_steps, 10);
  EXPECT_TRUE(run->checkpoint.save && run->checkpoint.resume_by_default && run->checkpoint.override_schedule);
  EXPECT_EQ(run->checkpoint.interval_steps, 500);
  ASSERT_TRUE(run->model.layers[0].attention.rope->llama3);
  EXPECT_EQ(run->model.layers[0].attention.rope->llama3->factor, 32);
  EXPECT_TRUE(run->model.tied_embeddings);
  EXPECT_FALSE(run->finetune);
}

TEST(BridgeRecipe, HasThePublishedNumberOfParameters) {
  const std::tuple<const char*, const char*, int64_t> kPublished[] = {
      {"llama.llama2", "llama2_7b_pretrain_config", 6'738'415'616},
      {"llama.llama3", "llama32_1b_pretrain_config", 1'235'814'400},
      {"llama.llama3", "llama32_3b_pretrain_config", 3'212'749'824},
      {"llama.llama3", "llama3_8b_pretrain_config", 8'030'261'248},
      {"llama.llama3", "llama31_70b_pretrain_config", 70'553'706'496},
      {"llama.llama3", "llama31_405b_pretrain_config", 405'853'388'800},
      {"qwen.qwen3", "qwen3_600m_pretrain_config", 596'049'920},
      {"qwen.qwen3", "qwen3_1p7b_pretrain_config", 1'720'574'976},
      {"qwen.qwen3", "qwen3_4b_pretrain_config", 4'022'468'096},
      {"qwen.qwen3", "qwen3_8b_pretrain_config", 8'190'735'360},
      {"qwen.qwen3", "qwen3_14b_pretrain_config", 14'768'307'200},
      {"qwen.qwen3", "qwen3_32b_pretrain_config", 32'762'123'264},
      {"qwen.qwen3_moe", "qwen3_30b_a3b_pretrain_config", 30'532'122'624},
      {"qwen.qwen3_moe", "qwen3_235b_a22b_pretrain_config", 235'093'634'560},
      {"mlperf_llama2_70b.llama2_custom", "llama2_70b_lora_mxfp4_config", 68'976'648'192},
  };
  for (const auto& [recipe, flavor, count] : kPublished) {
    const std::string yaml =
        std::string("recipe: ") + recipe + "\nflavor: " + flavor + "\nglobal_batch_size: 2048\n" +
        (std::string(recipe).starts_with("mlperf") ? "pretrained_checkpoint: /w\n" : "mock: true\n");
    EXPECT_EQ(parameters(bridge_run_of(yaml, 1024)), count) << flavor;
  }
}

TEST(BridgeRecipe, ThatDoesNotExistIsRefusedWithTheList) {
  const std::string yaml = "recipe: qwen.qwen4\nflavor: qwen3_8b_finetune_config\nglobal_batch_sise: 4\n";
  const auto run = translate_bridge(yaml);
  ASSERT_FALSE(run.ok());
  EXPECT_THAT(about(run, "recipe", Severity::Error), HasSubstr("llama.llama3, qwen.qwen3, qwen.qwen3_moe"));
  EXPECT_THAT(about(run, "recipe", Severity::Error), HasSubstr("did you mean 'qwen.qwen3'?"));
  EXPECT_THAT(about(run, "global_batch_sise", Severity::Error), HasSubstr("did you mean 'global_batch_size'?"));
  EXPECT_EQ(run.diagnostics().size(), 2U) << render(run.diagnostics());
}

TEST(BridgeRecipe, FlavorThatDoesNotExistIsRefusedWithTheModulesList) {
  const auto run = translate_bridge("recipe: qwen.qwen3\nflavor: qwen3_7b_finetune_config\n");
  EXPECT_THAT(about(run, "flavor", Severity::Error), HasSubstr("qwen3_600m_pretrain_config, qwen3_1p7b_pretrain"));
  EXPECT_THAT(about(run, "flavor", Severity::Error), HasSubstr("did you mean 'qwen3_"));
}

TEST(BridgeRecipe, OfUpstreamThatIsNotDescribedSaysSo) {
  const auto run = translate_bridge("recipe: deepseek.deepseek_v3\nflavor: deepseek_v3_pretrain_config\n");
  EXPECT_THAT(about(run, "recipe", Severity::Error), HasSubstr("exist upstream, and are not described here yet"));
}

TEST(BridgeRecipe, MayBeNamedWithItsPackage) {
  const auto run = bridge_run_of(
      "recipe: primus.backends.megatron_bridge.recipes.mlperf_llama2_70b.llama2_custom\n"
      "flavor: llama2_70b_lora_mxfp4_config\npretrained_checkpoint: /data/x\npacked_sequence: true\n");
  EXPECT_EQ(run.finetune->dataset, "/data/train.npy");
  EXPECT_EQ(run.precision.low_precision, "fp4");
  EXPECT_EQ(run.precision.grad_reduce, spec::Dtype::BFloat16);
  EXPECT_EQ(run.weight_decay.start, 0.0001);
  EXPECT_EQ(run.optimizer.clip_grad_norm, 0.3);
  EXPECT_EQ(run.finetune->adapter->dropout, 0.1);
  EXPECT_FALSE(run.checkpoint.save);
  EXPECT_FALSE(run.exit.fail_on_nan);
}

TEST(BridgeArguments, ThatTheRecipeDoesNotTakeAreReportedAndTheRecipesValueStays) {
  const std::string yaml =
      finetune("llama.llama3", "llama31_70b_finetune_config",
               "peft: none\ntensor_model_parallel_size: 8\npipeline_model_parallel_size: 1\nlr: 0.5\n");
  const auto run = translate_bridge(yaml, 32);
  ASSERT_TRUE(run.ok()) << render(run.diagnostics());
  EXPECT_EQ(run->parallel.tensor, 8);
  EXPECT_EQ(run->parallel.pipeline, 4);
  EXPECT_EQ(run->lr.max_lr, 5e-6);
  EXPECT_THAT(about(run, "pipeline_model_parallel_size", Severity::Warning),
              HasSubstr("is dropped: llama31_70b_finetune_config takes no such argument; "
                        "model.pipeline_model_parallel_size stays 4"));
  EXPECT_THAT(about(run, "pipeline_model_parallel_size", Severity::Warning),
              HasSubstr("or write model: {pipeline_model_parallel_size: 1}"));
  EXPECT_THAT(about(run, "lr", Severity::Warning), HasSubstr("write finetune_lr"));
  EXPECT_EQ(about(run, "tensor_model_parallel_size", Severity::Warning), "");  // the recipe says 8 too
}

TEST(BridgeArguments, ThatNoRecipeTakesAreReported) {
  const auto run = translate_bridge(qwen("peft_dim: 16\ndataset_name: my/data\n"));
  ASSERT_TRUE(run.ok()) << render(run.diagnostics());
  EXPECT_THAT(about(run, "peft_dim", Severity::Warning), HasSubstr("no recipe has such an argument"));
  EXPECT_THAT(about(run, "dataset_name", Severity::Warning), HasSubstr("write dataset.dataset_name"));
  EXPECT_EQ(run->finetune->adapter->rank, 32);
}

TEST(BridgeArguments, HfPathGivenToARecipeThatGivesItItselfIsAFaultOfUpstream) {
  const auto run = translate_bridge(
      "recipe: llama.llama3\nflavor: llama3_8b_finetune_config\n"
      "hf_path: NousResearch/Meta-Llama-3-8B\n");
  ASSERT_TRUE(run.ok()) << render(run.diagnostics());
  EXPECT_THAT(about(run, "hf_path", Severity::Warning), HasSubstr("got multiple values for keyword argument"));
  EXPECT_EQ(run->finetune->pretrained_folder, "NousResearch/Meta-Llama-3-8B");
  EXPECT_EQ(run->tokenizer.model, "NousResearch/Meta-Llama-3-8B");
  EXPECT_EQ(parameters(*run), 8'030'261'248);
  EXPECT_FALSE(run->model.layers[0].attention.rope->llama3);
}

TEST(BridgeArguments, HfPathChoosesTheArchitectureWhereTheRecipeTakesIt) {
  EXPECT_EQ(parameters(bridge_run_of(qwen("hf_path: Qwen/Qwen3-14B-Base\n"))), 14'768'307'200);
  const auto other = translate_bridge(qwen("hf_path: me/my-model\n"));
  ASSERT_TRUE(other.ok());
  EXPECT_THAT(about(other, "hf_path", Severity::Warning), HasSubstr("the recipe's own is taken: Qwen/Qwen3-8B"));
}

TEST(BridgeArguments, ThatAreNullTakeTheRecipesRule) {
  EXPECT_EQ(bridge_run_of(qwen("packed_sequence: true\n")).batch.global_batch_size, 8);
  EXPECT_EQ(bridge_run_of(qwen()).batch.global_batch_size, 128);
  const std::string llama = finetune("llama.llama3", "llama32_1b_finetune_config");
  EXPECT_EQ(bridge_run_of(llama).data.sequence_length, 2048);
  EXPECT_EQ(bridge_run_of(llama + "packed_sequence: true\n").data.sequence_length, 4096);
  EXPECT_EQ(bridge_run_of(pretrain("llama3_70b_pretrain_config", "virtual_pipeline_model_parallel_size: null\n"), 32)
                .parallel.stages_per_rank,
            1);
  const auto run = translate_bridge(qwen("train_iters: null\n"));
  ASSERT_TRUE(run.ok());
  EXPECT_THAT(about(run, "train_iters", Severity::Warning), HasSubstr("its own is taken"));
  EXPECT_EQ(run->exit.train_steps, 1000);
}

TEST(BridgeMaps, ReplaceWhatTheRecipeSaid) {
  const auto run = bridge_run_of(pretrain("llama32_1b_pretrain_config",
                                          "optimizer: {adam_beta2: 0.77, clip_grad: 0.5}\n"
                                          "scheduler: {start_weight_decay: 0.01, end_weight_decay: 0.01}\n"
                                          "train: {train_iters: 4321}\nrng: {seed: 7}\ndataset: {random_seed: 8}\n"
                                          "model: {num_layers: 3, hidden_size: 96, num_attention_heads: 6, "
                                          "num_query_groups: 3, ffn_hidden_size: 160, vocab_size: 40000}\n"));
  EXPECT_EQ(run.optimizer.beta2, 0.77);
  EXPECT_EQ(run.optimizer.clip_grad_norm, 0.5);
  EXPECT_EQ(run.weight_decay.end, 0.01);
  EXPECT_EQ(run.exit.train_steps, 4321);
  EXPECT_EQ(run.seed, 7);
  EXPECT_EQ(run.data.seed, 8);
  ASSERT_EQ(run.model.layers.size(), 3U);
  EXPECT_EQ(run.model.layers[2].attention.head_dim, 16);
  EXPECT_EQ(run.model.layers[2].attention.num_kv_heads, 3);
  EXPECT_EQ(run.model.layers[2].mlp.ffn_size, 160);
  EXPECT_EQ(run.model.vocab_size, 40000);
}

TEST(BridgeMaps, ReportUnknownFieldsOfTheModel) {
  const auto run = translate_bridge(pretrain("llama32_1b_pretrain_config", "model: {num_layer: 3}\n"));
  EXPECT_THAT(about(run, "model.num_layer", Severity::Error), HasSubstr("did you mean 'model.num_layers'"));
}

TEST(BridgeMaps, SkipAnIntegerForANumberAsUpstreamDoesAndSaySo) {
  const auto run = translate_bridge(pretrain("llama32_1b_pretrain_config", "optimizer: {clip_grad: 2}\n"));
  ASSERT_TRUE(run.ok()) << render(run.diagnostics());
  EXPECT_EQ(run->optimizer.clip_grad_norm, 1.0);
  EXPECT_THAT(about(run, "optimizer.clip_grad", Severity::Warning), HasSubstr("is skipped: the recipe holds a number"));
  EXPECT_THAT(about(run, "optimizer.clip_grad", Severity::Warning), HasSubstr("write optimizer.clip_grad: 2.0"));
}

TEST(BridgeMaps, SkipAFieldThatIsNullInTheRecipe) {
  const auto run = translate_bridge(pretrain("llama32_1b_pretrain_config", "scheduler: {lr_decay_iters: 9}\n"));
  ASSERT_TRUE(run.ok()) << render(run.diagnostics());
  EXPECT_EQ(run->lr.decay_samples, 1168251.0 * 512);
  EXPECT_THAT(about(run, "scheduler.lr_decay_iters", Severity::Warning), HasSubstr("it is null in the recipe"));
}

TEST(BridgeMaps, SkipFieldsOfTheOtherKindOfData) {
  const auto run = translate_bridge(qwen("dataset: {random_seed: 3}\n"));
  ASSERT_TRUE(run.ok()) << render(run.diagnostics());
  EXPECT_THAT(about(run, "dataset.random_seed", Severity::Warning), HasSubstr("have no such field"));
  EXPECT_EQ(run->data.seed, 5678);
}

TEST(BridgeMaps, PrecisionIsANameInMostRecipesAndAMapInSome) {
  const auto named = translate_bridge(qwen("mixed_precision: {grad_reduce_in_fp32: false}\n"));
  ASSERT_TRUE(named.ok());
  EXPECT_THAT(about(named, "mixed_precision", Severity::Warning), HasSubstr("holds a name there"));
  EXPECT_EQ(named->precision.grad_reduce, spec::Dtype::Float32);
  const auto mapped = bridge_run_of(
      finetune("qwen.qwen3_moe", "qwen3_30b_a3b_finetune_config", "mixed_precision: {grad_reduce_in_fp32: false}\n"),
      16);
  EXPECT_EQ(mapped.precision.grad_reduce, spec::Dtype::BFloat16);
}

TEST(BridgeMaps, PeftIsANameAndNoMap) {
  const auto run = translate_bridge(qwen("peft: {dim: 8}\n"));
  EXPECT_THAT(about(run, "peft", Severity::Error), HasSubstr("lora, dora or none"));
}

TEST(BridgeMaps, NullInPlaceOfAMapLeavesTheRecipesData) {
  const auto run = bridge_run_of(pretrain("llama32_1b_pretrain_config", "dataset: null\n"));
  EXPECT_TRUE(run.data.mock);
  EXPECT_EQ(run.data.sequence_length, 8192);
}

TEST(BridgeFlatKeys, AreCopiedWhateverTheRecipeTakes) {
  const auto run = bridge_run_of(
      "recipe: mamba.mamba2\nflavor: mamba2_130m_pretrain_config\nmock: true\nlog_interval: 3\neval_interval: 17\n"
      "eval_iters: 5\nsave_interval: 19\n");
  EXPECT_EQ(run.logging.interval_steps, 3);
  EXPECT_EQ(run.evaluation.interval_steps, 17);
  EXPECT_EQ(run.evaluation.num_batches, 5);
  EXPECT_EQ(run.checkpoint.interval_steps, 19);
  EXPECT_FALSE(bridge_run_of(pretrain("llama32_1b_pretrain_config", "skip_save: true\n")).checkpoint.save);
}

// Keys that are null in a recipe are skipped, as upstream does: the pattern is the hybrid recipe's alone.
TEST(BridgeMamba, RecipesAreStacksOfStateSpacesAndWhatIsMixedIn) {
  const auto stack = [](const std::string& size, const std::string& model) {
    return bridge_run_of("recipe: mamba.mamba2\nflavor: mamba2_" + size + "_pretrain_config\nmock: true\nmodel: {" +
                         model + "}\n")
        .model;
  };
  const auto letters = [&](const std::string& size, const std::string& model) {
    std::string all;
    for (const spec::LayerSpec& layer : stack(size, model).layers)
      all += layer.mamba2 ? 'M' : layer.has_mixer ? '*' : '-';
    return all;
  };
  const spec::Model plain = stack("130m", "num_layers: 6");
  ASSERT_TRUE(plain.layers[5].mamba2);
  EXPECT_EQ(plain.layers[5].mamba2->num_heads, 2 * 768 / 64);
  EXPECT_EQ(plain.layers[5].mamba2->num_groups, 1);
  EXPECT_EQ(plain.layers[5].mamba2->state_dim, 128);
  EXPECT_FALSE(plain.layers[5].has_mlp);
  EXPECT_EQ(letters("130m", "num_layers: 6"), "MMMMMM");
  EXPECT_EQ(letters("130m", "num_layers: 6, hybrid_attention_ratio: 0.34, hybrid_mlp_ratio: 0.34"), "M*-M*-");
  EXPECT_EQ(letters("hybrid_8b", "num_layers: 6, hybrid_override_pattern: 'M-M*M-'"), "M-M*M-");
  const std::string published = letters("hybrid_8b", "");
  EXPECT_EQ(published.size(), 56U);
  EXPECT_EQ(std::count(published.begin(), published.end(), '*'), 4);
  const spec::Model small = stack("130m", "mamba_head_dim: 32, mamba_state_dim: 16, mamba_num_groups: 4");
  EXPECT_EQ(small.layers[0].mamba2->num_heads, 48);
  EXPECT_EQ(small.layers[0].mamba2->state_dim, 16);
  EXPECT_EQ(small.layers[0].mamba2->num_groups, 4);
  const auto wrong = translate_bridge(
      "recipe: mamba.mamba2\nflavor: mamba2_hybrid_8b_pretrain_config\nmodel: {hybrid_override_pattern: 'M*'}\n", 1,
      true);
  EXPECT_THAT(about(wrong, "model.hybrid_override_pattern", Severity::Error), HasSubstr("2 layers of 56"));
}

TEST(BridgeData, APathSwitchesMadeUpDataOff) {
  const auto run = bridge_run_of(pretrain("llama32_1b_pretrain_config", "data_paths: [0.3, /a, 0.7, /b]\n"));
  EXPECT_FALSE(run.data.mock);
  EXPECT_EQ(run.data.split, "9999,8,2");
  ASSERT_EQ(run.data.blend.files.size(), 2U);
  EXPECT_EQ(run.data.blend.files[1].weight, 0.7);
  const auto split =
      bridge_run_of(pretrain("llama32_1b_pretrain_config", "train_data_path: [/a, /b, /c]\nvalid_data_path: [/v]\n"));
  EXPECT_EQ(split.data.train.files.size(), 3U);
  EXPECT_EQ(split.data.split, "");
}

TEST(BridgeData, MadeUpOnesOfAModelWithoutAVocabularyAreNumbers) {
  const auto run = translate_bridge("recipe: mamba.mamba2\nflavor: mamba2_130m_pretrain_config\nmock: true\n");
  ASSERT_TRUE(run.ok()) << render(run.diagnostics());
  EXPECT_EQ(run->model.vocab_size, 32000);
  EXPECT_EQ(run->model.padded_vocab_size, 32000);
  EXPECT_THAT(about(run, "tokenizer.tokenizer_model", Severity::Warning), HasSubstr("32,000 ids"));
  const auto with_data = bridge_run_of("recipe: mamba.mamba2\nflavor: mamba2_130m_pretrain_config\ndata_paths: [/a]\n");
  EXPECT_EQ(with_data.model.vocab_size, 0);  // the tokenizer decides
}

TEST(BridgeData, NoneAtAllIsSaid) {
  const auto run = translate_bridge("recipe: llama.llama3\nflavor: llama32_1b_pretrain_config\n");
  ASSERT_TRUE(run.ok()) << render(run.diagnostics());
  EXPECT_TRUE(run->data.mock);
  EXPECT_THAT(about(run, "mock", Severity::Warning), HasSubstr("no data are given"));
}

TEST(BridgePrecision, NamesMayHaveHyphens) {
  EXPECT_EQ(bridge_run_of(qwen("precision_config: bf16-mixed\n")).precision.compute, spec::Dtype::BFloat16);
  const auto half = bridge_run_of(qwen("precision_config: fp16_mixed\n"));
  EXPECT_EQ(half.precision.compute, spec::Dtype::Float16);
  EXPECT_EQ(half.precision.grad_reduce, spec::Dtype::Float16);
  EXPECT_FALSE(half.exit.fail_on_nan);  // a loss scale lives from overflows
  EXPECT_EQ(bridge_run_of(qwen("precision_config: bf16-with-fp8-current-scaling-mixed\n")).precision.low_precision,
            "fp8");
  const auto wrong = translate_bridge(qwen("precision_config: fp32\n"));
  EXPECT_THAT(about(wrong, "precision_config", Severity::Error), HasSubstr("bf16_mixed, fp16_mixed, bf16_with_fp8"));
}

TEST(BridgeFinetune, AdaptersAreTheRecipes) {
  const auto lora = bridge_run_of(finetune("llama.llama3", "llama3_8b_finetune_config"));
  ASSERT_TRUE(lora.finetune && lora.finetune->adapter);
  EXPECT_EQ(lora.finetune->adapter->rank, 8);
  EXPECT_EQ(lora.finetune->adapter->alpha, 16);
  EXPECT_EQ(lora.finetune->adapter->targets.size(), 4U);
  EXPECT_EQ(lora.lr.max_lr, 1e-4);
  EXPECT_EQ(lora.parallel.tensor, 1);
  EXPECT_FALSE(lora.optimizer.shard_state);
  EXPECT_EQ(lora.optimizer.beta2, 0.98);
  EXPECT_EQ(lora.seed, 5678);
  const auto full = bridge_run_of(finetune("llama.llama3", "llama3_8b_finetune_config", "peft: none\n"), 2);
  EXPECT_FALSE(full.finetune->adapter);
  EXPECT_EQ(full.lr.max_lr, 5e-6);
  EXPECT_EQ(full.parallel.tensor, 2);
  EXPECT_TRUE(full.optimizer.shard_state);
  EXPECT_EQ(bridge_run_of(qwen("peft: dora\n")).finetune->adapter->alpha, 64);
  const auto big = bridge_run_of(finetune("llama.llama3", "llama31_405b_finetune_config"), 32);
  EXPECT_EQ(big.finetune->adapter->targets, std::vector<std::string>{"linear_qkv"});
  EXPECT_EQ(big.batch.global_batch_size, 32);
  EXPECT_EQ(big.precision.grad_reduce, spec::Dtype::BFloat16);
}

TEST(BridgeFinetune, AdaptersNeedWeights) {
  const auto run = translate_bridge("recipe: qwen.qwen3\nflavor: qwen3_8b_finetune_config\n");
  EXPECT_THAT(about(run, "pretrained_checkpoint", Severity::Error), HasSubstr("adapters need weights"));
  const auto full = translate_bridge("recipe: mamba.mamba2\nflavor: mamba2_370m_finetune_config\n");
  ASSERT_TRUE(full.ok()) << render(full.diagnostics());
  EXPECT_THAT(about(full, "pretrained_checkpoint", Severity::Warning), HasSubstr("random weights"));
}

TEST(BridgeFinetune, IsRefusedByTheEngineInOneSentence) {
  const auto run = translate_bridge(finetune("llama.llama3", "llama32_1b_finetune_config"), 1, true);
  ASSERT_FALSE(run.ok());
  EXPECT_THAT(render(run.diagnostics()), HasSubstr("not built yet"));
}

TEST(BridgeRecompute, TakesThePartsThatThereAre) {
  const std::string recipe = "recipe: llama.llama3\nflavor: llama32_1b_pretrain_config\n";
  const auto with = [&](const std::string& module) {
    return translate_bridge(recipe + "model: {recompute_granularity: selective, recompute_modules: [" + module + "]}\n",
                            1, true);
  };
  EXPECT_THAT(about(with("layernrom"), "model.recompute_modules", Severity::Error), HasSubstr("layernorm"));
  EXPECT_EQ(about(with("layernorm"), "model.recompute_modules", Severity::Error), "");
  EXPECT_EQ(about(with("mla_up_proj"), "model.recompute_modules", Severity::Error), "");
}

TEST(BridgeValidation, ReportsWhatUpstreamRefusesAllAtOnce) {
  const auto run = translate_bridge(finetune("qwen.qwen3", "qwen3_8b_finetune_config",
                                             "packed_sequence: true\nmicro_batch_size: 4\nglobal_batch_size: 64\n"
                                             "seq_length: 2047\ncontext_parallel_size: 2\nlr_warmup_iters: 30\n"
                                             "train_iters: 20\ndataset: {seq_length: 100}\n"),
                                    2);
  ASSERT_FALSE(run.ok());
  EXPECT_THAT(about(run, "micro_batch_size", Severity::Error), HasSubstr("global_batch_size: 16 and seq_length: "));
  EXPECT_THAT(about(run, "lr_warmup_iters", Severity::Error), HasSubstr("at most 19 steps"));
  EXPECT_THAT(about(run, "dataset.seq_length", Severity::Error), HasSubstr("2,047 and 100"));
  EXPECT_THAT(render(run.diagnostics()), HasSubstr("needs a loss per token"));
}

TEST(BridgeValidation, HeadsLayersAndExpertsMustDivide) {
  const auto tensor = translate_bridge(qwen("tensor_model_parallel_size: 3\n"), 3);
  EXPECT_THAT(render(tensor.diagnostics()), HasSubstr("32 heads cannot be shared out over 3 ranks"));
  const auto pipeline = translate_bridge(qwen("pipeline_model_parallel_size: 5\n"), 5);
  EXPECT_THAT(about(pipeline, "pipeline_model_parallel_size", Severity::Error), HasSubstr("36 layers"));
  const auto experts = translate_bridge(
      "recipe: qwen.qwen3_moe\nflavor: qwen3_30b_a3b_pretrain_config\nmock: true\n"
      "expert_model_parallel_size: 3\n",
      8);
  EXPECT_THAT(about(experts, "expert_model_parallel_size", Severity::Error), HasSubstr("128 experts"));
}

TEST(BridgeMoe, RoutesOverTheChosenExpertsAsItsConfigSays) {
  const auto run = bridge_run_of(finetune("qwen.qwen3_moe", "qwen3_30b_a3b_finetune_config"), 16);
  const spec::LayerSpec& layer = run.model.layers[47];
  ASSERT_TRUE(layer.moe);
  EXPECT_EQ(layer.moe->num_experts, 128);
  EXPECT_EQ(layer.moe->top_k, 8);
  EXPECT_EQ(layer.moe->expert.ffn_size, 768);
  EXPECT_FALSE(layer.moe->router.normalise_over_all);
  ASSERT_EQ(layer.moe->router.balance_losses.size(), 1U);
  EXPECT_EQ(layer.moe->router.balance_losses[0].coefficient, 1e-3);
  ASSERT_TRUE(layer.attention.qk_norm);
  EXPECT_EQ(layer.attention.qk_norm->norm.eps, 1e-6);
  EXPECT_EQ(run.parallel.expert, 4);
  EXPECT_EQ(run.parallel.expert_tensor, 1);
  EXPECT_EQ(run.finetune->adapter->targets, (std::vector<std::string>{"linear_qkv", "linear_proj"}));
}

}  // namespace
}  // namespace primus::dialect
