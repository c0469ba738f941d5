// The recipes: which builder each calls, with what, and what it sets behind it. Sources: Megatron-Bridge 0.3.0, the
// release that follows the pin 9577b128 (llama2, llama3, qwen3, qwen3_moe); its mamba2 at abdddc32; the recipes that
// Primus adds (mamba2 fine-tuning at 99eee1c3, zebra_llama at 6953b372, mlperf_llama2_70b at 55fd2417).
#include "primus/dialect/bridge_builders.h"

namespace primus::dialect {

namespace {

// ---------------------------------------------------------------- what several recipes share
constexpr std::string_view kRateFull = "finetune_lr=5e-06", kRateAdapted = "finetune_lr=0.0001";
constexpr std::string_view kGc = "train.manual_gc=true train.manual_gc_interval=100";
constexpr std::string_view kOneRank =
    "model.tensor_model_parallel_size=1 model.pipeline_model_parallel_size=1 model.context_parallel_size=1 "
    "model.sequence_parallel=false train.manual_gc=true train.manual_gc_interval=100";
constexpr std::string_view kPlainAdapter =
    "optimizer.use_distributed_optimizer=false model.cross_entropy_loss_fusion=false";
constexpr std::string_view k8BFull = "model.tensor_model_parallel_size=2 model.pipeline_model_parallel_size=1";
constexpr std::string_view k8BAdapted =
    "model.tensor_model_parallel_size=1 model.pipeline_model_parallel_size=1 adapter.dim=8 adapter.alpha=16 "
    "optimizer.use_distributed_optimizer=false model.cross_entropy_loss_fusion=false";
constexpr std::string_view k70BFull = "model.tensor_model_parallel_size=8 model.pipeline_model_parallel_size=4";
constexpr std::string_view k70BAdapted =
    "model.tensor_model_parallel_size=8 adapter.dim=16 adapter.alpha=32 optimizer.use_distributed_optimizer=false "
    "model.cross_entropy_loss_fusion=false";
constexpr std::string_view kMoeFull =
    "model.tensor_model_parallel_size=4 model.expert_model_parallel_size=4 model.pipeline_model_parallel_size=2 "
    "model.expert_tensor_parallel_size=1 model.sequence_parallel=true";
constexpr std::string_view kMoeAdapted =
    "model.tensor_model_parallel_size=4 model.expert_model_parallel_size=4 model.pipeline_model_parallel_size=1 "
    "model.expert_tensor_parallel_size=1 model.sequence_parallel=true adapter.dim=8 adapter.alpha=16 "
    "adapter.target_modules=[linear_qkv,linear_proj]";
constexpr std::string_view kMoeBigFull =
    "model.tensor_model_parallel_size=4 model.expert_model_parallel_size=4 model.pipeline_model_parallel_size=16 "
    "model.expert_tensor_parallel_size=1 model.sequence_parallel=true";
constexpr std::string_view kMoeBigAdapted =
    "model.tensor_model_parallel_size=4 model.expert_model_parallel_size=4 model.pipeline_model_parallel_size=4 "
    "model.expert_tensor_parallel_size=1 model.sequence_parallel=true adapter.dim=8 adapter.alpha=16 "
    "adapter.target_modules=[linear_qkv,linear_proj]";
constexpr std::string_view kSplitAccounting =
    "model.account_for_embedding_in_pipeline_split=true model.account_for_loss_in_pipeline_split=true";
constexpr std::string_view k405B =
    "mixed_precision.grad_reduce_in_fp32=false ddp.grad_reduce_in_fp32=false model.sequence_parallel=true "
    "train.manual_gc=true train.manual_gc_interval=100 model.account_for_embedding_in_pipeline_split=true "
    "model.account_for_loss_in_pipeline_split=true";
constexpr std::string_view k405BFull =
    "model.tensor_model_parallel_size=8 model.pipeline_model_parallel_size=16 ddp.overlap_grad_reduce=true "
    "ddp.overlap_param_gather=true ddp.average_in_collective=true";
constexpr std::string_view k405BAdapted =
    "model.tensor_model_parallel_size=4 model.pipeline_model_parallel_size=8 "
    "model.virtual_pipeline_model_parallel_size=8 adapter.dim=16 adapter.alpha=32 "
    "adapter.target_modules=[linear_qkv] optimizer.use_distributed_optimizer=false "
    "model.cross_entropy_loss_fusion=false";
constexpr std::string_view k32BRecompute =
    "model.recompute_granularity=full model.recompute_method=uniform model.recompute_num_layers=1";
constexpr std::string_view kTwoContext =
    "tensor_model_parallel_size=1 pipeline_model_parallel_size=1 context_parallel_size=2 sequence_parallel=false";
constexpr std::string_view k70BPretrain =
    "tensor_model_parallel_size=4 pipeline_model_parallel_size=4 pipeline_dtype=bfloat16 "
    "virtual_pipeline_model_parallel_size=5 context_parallel_size=2 sequence_parallel=true";
constexpr std::string_view kOneByOne = "tensor_model_parallel_size=1 pipeline_model_parallel_size=1";
constexpr std::string_view kMlperfRecipe =
    "hf_path=meta-llama/Llama-2-70b-hf tensor_model_parallel_size=1 pipeline_model_parallel_size=1 train_iters=1000 "
    "global_batch_size=8 micro_batch_size=1 eval_interval=48 eval_iters=22";

// ---------------------------------------------------------------- recipes
constexpr std::string_view kL2 = "llama.llama2", kL3 = "llama.llama3", kQ3 = "qwen.qwen3", kQ3Moe = "qwen.qwen3_moe";
constexpr std::string_view kMambaModule = "mamba.mamba2", kZebraModule = "zebra_llama.zebra_llama";
constexpr std::string_view kMlperfModule = "mlperf_llama2_70b.llama2_custom";

constexpr BridgeRecipe llama3_finetune(std::string_view flavor, std::string_view model, std::string_view settings,
                                       std::string_view full, std::string_view adapted) {
  return {kL3, flavor, model, &kLlama3Finetune, {}, kRateFull, kRateAdapted, settings, full, adapted};
}

constexpr BridgeRecipe kRecipes[] = {
    {kL2, "llama2_7b_pretrain_config", "meta-llama/Llama-2-7b-hf", &kLlama2Pretrain, "tensor_model_parallel_size=2"},
    // ------------------------------------------------------------------------------------------------ llama3
    {kL3, "llama32_1b_pretrain_config", "meta-llama/Llama-3.2-1B", &kLlama3Pretrain, kOneByOne},
    {kL3, "llama32_3b_pretrain_config", "meta-llama/Llama-3.2-3B", &kLlama3Pretrain, kOneByOne},
    {kL3, "llama3_8b_pretrain_config", "meta-llama/Meta-Llama-3-8B", &kLlama3Pretrain, kTwoContext},
    {kL3, "llama3_8b_16k_pretrain_config", "meta-llama/Meta-Llama-3-8B", &kLlama3Pretrain,
     "tensor_model_parallel_size=4 pipeline_model_parallel_size=2 pipeline_dtype=bfloat16 context_parallel_size=2 "
     "sequence_parallel=true seq_length=16384"},
    {kL3, "llama3_8b_64k_pretrain_config", "meta-llama/Meta-Llama-3-8B", &kLlama3Pretrain,
     "tensor_model_parallel_size=4 pipeline_model_parallel_size=2 pipeline_dtype=bfloat16 context_parallel_size=4 "
     "sequence_parallel=true seq_length=65536"},
    {kL3, "llama3_8b_128k_pretrain_config", "meta-llama/Meta-Llama-3-8B", &kLlama3Pretrain,
     "tensor_model_parallel_size=4 pipeline_model_parallel_size=2 pipeline_dtype=bfloat16 context_parallel_size=8 "
     "sequence_parallel=true seq_length=131072"},
    {kL3, "llama3_70b_pretrain_config", "meta-llama/Meta-Llama-3-70B", &kLlama3Pretrain, k70BPretrain},
    {kL3, "llama3_70b_16k_pretrain_config", "meta-llama/Meta-Llama-3-70B", &kLlama3Pretrain,
     "tensor_model_parallel_size=8 pipeline_model_parallel_size=2 pipeline_dtype=bfloat16 context_parallel_size=2 "
     "sequence_parallel=true seq_length=16384"},
    {kL3, "llama3_70b_64k_pretrain_config", "meta-llama/Meta-Llama-3-70B", &kLlama3Pretrain,
     "tensor_model_parallel_size=8 pipeline_model_parallel_size=4 pipeline_dtype=bfloat16 context_parallel_size=8 "
     "sequence_parallel=true seq_length=65536"},
    {kL3, "llama31_8b_pretrain_config", "meta-llama/Meta-Llama-3.1-8B", &kLlama3Pretrain, kTwoContext},
    {kL3, "llama31_70b_pretrain_config", "meta-llama/Meta-Llama-3.1-70B", &kLlama3Pretrain,
     "tensor_model_parallel_size=4 pipeline_model_parallel_size=4 pipeline_dtype=bfloat16 "
     "virtual_pipeline_model_parallel_size=5 context_parallel_size=2 sequence_parallel=true seq_length=131072"},
    {kL3, "llama31_405b_pretrain_config", "meta-llama/Meta-Llama-3.1-405B", &kLlama3Pretrain,
     "tensor_model_parallel_size=8 pipeline_model_parallel_size=8 pipeline_dtype=bfloat16 "
     "virtual_pipeline_model_parallel_size=2 context_parallel_size=4 sequence_parallel=true "
     "account_for_embedding_in_pipeline_split=true account_for_loss_in_pipeline_split=true seq_length=131072"},
    llama3_finetune("llama32_1b_finetune_config", "meta-llama/Llama-3.2-1B", kOneRank, {}, kPlainAdapter),
    llama3_finetune("llama32_3b_finetune_config", "meta-llama/Llama-3.2-3B", kOneRank, {}, kPlainAdapter),
    llama3_finetune("llama3_8b_finetune_config", "meta-llama/Meta-Llama-3-8B", kGc, k8BFull, k8BAdapted),
    llama3_finetune("llama31_8b_finetune_config", "meta-llama/Meta-Llama-3.1-8B", kGc, k8BFull, k8BAdapted),
    llama3_finetune("llama3_70b_finetune_config", "meta-llama/Meta-Llama-3-70B", kGc, k70BFull, k70BAdapted),
    llama3_finetune("llama31_70b_finetune_config", "meta-llama/Meta-Llama-3.1-70B", kGc, k70BFull, k70BAdapted),
    {kL3, "llama31_405b_finetune_config", "meta-llama/Meta-Llama-3.1-405B", &kLlama3Finetune, "seq_length=2048",
     "finetune_lr=5e-06 global_batch_size=16", "finetune_lr=0.0001 global_batch_size=32", k405B, k405BFull,
     k405BAdapted},
    // ------------------------------------------------------------------------------------------------ qwen3
    {kQ3, "qwen3_600m_pretrain_config", "Qwen/Qwen3-0.6B", &kQwen3Pretrain, kOneByOne},
    {kQ3, "qwen3_1p7b_pretrain_config", "Qwen/Qwen3-1.7B", &kQwen3Pretrain, kOneByOne},
    {kQ3, "qwen3_4b_pretrain_config", "Qwen/Qwen3-4B", &kQwen3Pretrain, "tensor_model_parallel_size=2"},
    {kQ3, "qwen3_8b_pretrain_config", "Qwen/Qwen3-8B", &kQwen3Pretrain, "tensor_model_parallel_size=4"},
    {kQ3, "qwen3_14b_pretrain_config", "Qwen/Qwen3-14B", &kQwen3Pretrain, "tensor_model_parallel_size=8"},
    {kQ3, "qwen3_32b_pretrain_config", "Qwen/Qwen3-32B", &kQwen3Pretrain,
     "tensor_model_parallel_size=8 pipeline_model_parallel_size=2 pipeline_dtype=bfloat16 enable_recompute=true"},
    {kQ3, "qwen3_600m_finetune_config", "Qwen/Qwen3-0.6B", &kQwen3Finetune, kOneByOne, kRateFull, kRateAdapted},
    {kQ3, "qwen3_1p7b_finetune_config", "Qwen/Qwen3-1.7B", &kQwen3Finetune, kOneByOne, kRateFull, kRateAdapted},
    {kQ3, "qwen3_4b_finetune_config", "Qwen/Qwen3-4B", &kQwen3Finetune, kOneByOne,
     "finetune_lr=5e-06 tensor_model_parallel_size=2", kRateAdapted},
    {kQ3, "qwen3_8b_finetune_config", "Qwen/Qwen3-8B", &kQwen3Finetune, kOneByOne,
     "finetune_lr=5e-06 tensor_model_parallel_size=4", kRateAdapted},
    {kQ3, "qwen3_14b_finetune_config", "Qwen/Qwen3-14B", &kQwen3Finetune, kOneByOne,
     "finetune_lr=5e-06 tensor_model_parallel_size=8", kRateAdapted},
    {kQ3, "qwen3_32b_finetune_config", "Qwen/Qwen3-32B", &kQwen3Finetune, kOneByOne,
     "finetune_lr=5e-06 tensor_model_parallel_size=8 pipeline_model_parallel_size=2", kRateAdapted, k32BRecompute},
    {kQ3Moe, "qwen3_30b_a3b_pretrain_config", "Qwen/Qwen3-30B-A3B", &kQwen3MoePretrain, "enable_recompute=true"},
    {kQ3Moe, "qwen3_235b_a22b_pretrain_config", "Qwen/Qwen3-235B-A22B", &kQwen3MoePretrain,
     "pipeline_model_parallel_size=16 context_parallel_size=2 expert_model_parallel_size=8 micro_batch_size=1 "
     "account_for_embedding_in_pipeline_split=true account_for_loss_in_pipeline_split=true"},
    {kQ3Moe,
     "qwen3_30b_a3b_finetune_config",
     "Qwen/Qwen3-30B-A3B",
     &kQwen3MoeFinetune,
     {},
     kRateFull,
     kRateAdapted,
     {},
     kMoeFull,
     kMoeAdapted},
    {kQ3Moe,
     "qwen3_235b_a22b_finetune_config",
     "Qwen/Qwen3-235B-A22B",
     &kQwen3MoeFinetune,
     {},
     kRateFull,
     kRateAdapted,
     kSplitAccounting,
     kMoeBigFull,
     kMoeBigAdapted},
    // ------------------------------------------------------------------------------------------------ mamba
    {kMambaModule, "mamba2_130m_pretrain_config", "MambaModelProvider130M", &kMambaPretrain, {}},
    {kMambaModule, "mamba2_370m_pretrain_config", "MambaModelProvider370M", &kMambaPretrain, {}},
    {kMambaModule, "mamba2_780m_pretrain_config", "MambaModelProvider780M", &kMambaPretrain, {}},
    {kMambaModule, "mamba2_1p3b_pretrain_config", "MambaModelProvider1P3B", &kMambaPretrain, {}},
    {kMambaModule, "mamba2_2p7b_pretrain_config", "MambaModelProvider2P7B", &kMambaPretrain, {}},
    {kMambaModule, "mamba2_8b_pretrain_config", "NVIDIAMambaModelProvider8B", &kMambaPretrain,
     "tensor_model_parallel_size=8 use_null_tokenizer=true"},
    {kMambaModule, "mamba2_hybrid_8b_pretrain_config", "NVIDIAMambaHybridProvider8B", &kMambaPretrain,
     "tensor_model_parallel_size=8 use_null_tokenizer=true"},
    {kMambaModule,
     "mamba2_130m_finetune_config",
     "MambaModelProvider130M",
     &kMambaFinetune,
     {},
     {},
     {},
     "tokenizer.tokenizer_model=EleutherAI/gpt-neox-20b"},
    {kMambaModule,
     "mamba2_370m_finetune_config",
     "MambaModelProvider370M",
     &kMambaFinetune,
     {},
     {},
     {},
     "tokenizer.tokenizer_model=EleutherAI/gpt-neox-20b"},
    {kMambaModule,
     "mamba2_780m_finetune_config",
     "MambaModelProvider780M",
     &kMambaFinetune,
     {},
     {},
     {},
     "tokenizer.tokenizer_model=EleutherAI/gpt-neox-20b"},
    {kMambaModule,
     "mamba2_1p3b_finetune_config",
     "MambaModelProvider1P3B",
     &kMambaFinetune,
     {},
     {},
     {},
     "tokenizer.tokenizer_model=EleutherAI/gpt-neox-20b"},
    {kMambaModule,
     "mamba2_2p7b_finetune_config",
     "MambaModelProvider2P7B",
     &kMambaFinetune,
     {},
     {},
     {},
     "tokenizer.tokenizer_model=EleutherAI/gpt-neox-20b"},
    {kMambaModule,
     "mamba2_8b_finetune_config",
     "NVIDIAMambaModelProvider8B",
     &kMambaFinetune,
     "tensor_model_parallel_size=8",
     {},
     {},
     "tokenizer.tokenizer_model=EleutherAI/gpt-neox-20b"},
    {kMambaModule,
     "mamba2_hybrid_8b_finetune_config",
     "NVIDIAMambaHybridProvider8B",
     &kMambaFinetune,
     "tensor_model_parallel_size=8",
     {},
     {},
     "tokenizer.tokenizer_model=EleutherAI/gpt-neox-20b"},
    // ------------------------------------------------------------------------------------------------ zebra
    {kZebraModule,
     "zebra_llama_1b_pretrain_config",
     "ZebraLlama1BModelProvider",
     &kZebraPretrain,
     {},
     {},
     {},
     "tokenizer.tokenizer_model=meta-llama/Llama-3.2-1B"},
    {kZebraModule,
     "zebra_llama_3b_pretrain_config",
     "ZebraLlama3BModelProvider",
     &kZebraPretrain,
     {},
     {},
     {},
     "tokenizer.tokenizer_model=meta-llama/Llama-3.2-3B"},
    {kZebraModule,
     "zebra_llama_8b_pretrain_config",
     "ZebraLlama8BModelProvider",
     &kZebraPretrain,
     {},
     {},
     {},
     "tokenizer.tokenizer_model=meta-llama/Llama-3.1-8B"},
    {kZebraModule,
     "zebra_llama_1b_finetune_config",
     "ZebraLlama1BModelProvider",
     &kZebraFinetune,
     "name=zebra_llama_1b",
     {},
     {},
     "tokenizer.tokenizer_model=meta-llama/Llama-3.2-1B"},
    {kZebraModule,
     "zebra_llama_3b_finetune_config",
     "ZebraLlama3BModelProvider",
     &kZebraFinetune,
     "name=zebra_llama_3b",
     {},
     {},
     "tokenizer.tokenizer_model=meta-llama/Llama-3.2-3B"},
    {kZebraModule,
     "zebra_llama_8b_finetune_config",
     "ZebraLlama8BModelProvider",
     &kZebraFinetune,
     "name=zebra_llama_8b",
     {},
     {},
     "tokenizer.tokenizer_model=meta-llama/Llama-3.1-8B"},
    // ------------------------------------------------------------------------------------------------ MLPerf
    {kMlperfModule,
     "llama2_70b_lora_config",
     "meta-llama/Llama-2-70b-hf",
     &kMlperf,
     kMlperfRecipe,
     {},
     {},
     {},
     {},
     "adapter.dim=16 adapter.alpha=32 adapter.dropout=0.1"},
    {kMlperfModule,
     "llama2_70b_lora_mxfp4_config",
     "meta-llama/Llama-2-70b-hf",
     &kMlperf,
     kMlperfRecipe,
     {},
     {},
     "model.attention_backend=fused",
     {},
     "adapter.dim=16 adapter.alpha=32 adapter.dropout=0.1"},
};

constexpr std::string_view kOtherModules[] = {
    "deepseek.deepseek_v2",
    "deepseek.deepseek_v3",
    "gemma.gemma2",
    "gemma.gemma3",
    "gemma3_vl.gemma3_vl",
    "glm.glm45",
    "glm_vl.glm_45v",
    "gpt.gpt3_175b",
    "gpt_oss.gpt_oss",
    "kimi.kimi_k2",
    "llama.llama4",
    "ministral3.ministral3",
    "moonlight.moonlight_16b",
    "nemotronh.nemotron_3_nano",
    "nemotronh.nemotronh",
    "olmoe.olmoe_7b",
    "qwen.qwen2",
    "qwen.qwen3_next",
    "qwen_vl.qwen25_vl",
    "qwen_vl.qwen3_vl",
};

}  // namespace

std::span<const BridgeRecipe> bridge_recipes() {
  return kRecipes;
}

std::span<const std::string_view> bridge_other_modules() {
  return kOtherModules;
}

}  // namespace primus::dialect
