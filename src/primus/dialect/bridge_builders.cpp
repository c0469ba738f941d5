// The functions behind the recipes: the keyword arguments that they take, and every value that they set. Sources:
// as in bridge_recipes.cpp, and Megatron-Bridge's utils for optimizer and fine-tuning data.
#include "primus/dialect/bridge_builders.h"

namespace primus::dialect {

constexpr std::string_view kLlamaPretrainSettings =
    "train.eval_iters=32 train.manual_gc=true train.manual_gc_interval=100 optimizer.optimizer=adam "
    "optimizer.adam_beta1=0.9 optimizer.adam_beta2=0.95 optimizer.weight_decay=0.1 "
    "optimizer.clip_grad=1.0 optimizer.use_distributed_optimizer=true scheduler.lr_decay_style=cosine "
    "scheduler.start_weight_decay=0.033 scheduler.end_weight_decay=0.033 "
    "scheduler.override_opt_param_scheduler=true ddp.check_for_nan_in_grad=true "
    "ddp.grad_reduce_in_fp32=true ddp.overlap_grad_reduce=true ddp.overlap_param_gather=true "
    "ddp.average_in_collective=true ddp.use_distributed_optimizer=true dataset.random_seed=1234 "
    "dataset.dataloader_type=single logger.log_interval=10 logger.tensorboard_dir=tb_logs "
    "logger.log_timers_to_tensorboard=true checkpoint.save=checkpoints checkpoint.load=checkpoints "
    "rng.seed=1234";

constexpr BridgeBuilder kLlama3Pretrain{
    .arguments =
        "hf_path=null dir=null name=default load_weights=false data_paths=null data_args_path=null "
        "train_data_path=null valid_data_path=null test_data_path=null per_split_data_args_path=null mock=false "
        "tensor_model_parallel_size=1 pipeline_model_parallel_size=1 pipeline_dtype=null "
        "virtual_pipeline_model_parallel_size=null context_parallel_size=1 sequence_parallel=false "
        "use_megatron_fsdp=false account_for_embedding_in_pipeline_split=false "
        "account_for_loss_in_pipeline_split=false train_iters=1168251 global_batch_size=512 micro_batch_size=1 "
        "seq_length=8192 lr=0.0003 min_lr=3e-05 adam_eps=1e-05 lr_warmup_iters=2000 lr_decay_iters=null "
        "eval_interval=2000 save_interval=500 use_null_tokenizer=true precision_config=bf16_mixed "
        "comm_overlap_config=null",
    .settings = kLlamaPretrainSettings,
    .more_settings = "model.cross_entropy_fusion_impl=te",
    .packed = {},
    .unpacked = {},
    .takes_hf_path = true};

constexpr BridgeBuilder kLlama2Pretrain{
    .arguments =
        "hf_path=null dir=null name=default data_paths=null data_args_path=null train_data_path=null "
        "valid_data_path=null test_data_path=null per_split_data_args_path=null mock=false "
        "tensor_model_parallel_size=2 pipeline_model_parallel_size=1 pipeline_dtype=null "
        "virtual_pipeline_model_parallel_size=null context_parallel_size=1 sequence_parallel=false "
        "use_megatron_fsdp=false train_iters=1168251 global_batch_size=512 micro_batch_size=1 seq_length=4096 "
        "lr=0.0003 min_lr=3e-05 lr_warmup_iters=2000 lr_decay_iters=null eval_interval=2000 save_interval=2000 "
        "use_null_tokenizer=true precision_config=bf16_mixed comm_overlap_config=null",
    .settings = kLlamaPretrainSettings,
    .more_settings = "optimizer.adam_eps=1e-05",
    .packed = {},
    .unpacked = {},
    .takes_hf_path = true};

constexpr BridgeBuilder kQwen3Pretrain{
    .arguments =
        "hf_path=null dir=null name=default data_paths=null data_args_path=null train_data_path=null "
        "valid_data_path=null test_data_path=null per_split_data_args_path=null mock=false "
        "tensor_model_parallel_size=1 pipeline_model_parallel_size=1 pipeline_dtype=null "
        "virtual_pipeline_model_parallel_size=null context_parallel_size=1 sequence_parallel=false "
        "use_megatron_fsdp=false use_null_tokenizer=false enable_recompute=false train_iters=300000 "
        "global_batch_size=32 micro_batch_size=2 seq_length=4096 lr=0.0003 min_lr=3e-05 lr_warmup_iters=500 "
        "lr_decay_iters=null eval_interval=500 save_interval=500 precision_config=bf16_mixed comm_overlap_config=null",
    .settings =
        "train.eval_iters=32 train.manual_gc=true train.manual_gc_interval=100 model.cross_entropy_fusion_impl=te "
        "optimizer.optimizer=adam optimizer.adam_beta1=0.9 optimizer.adam_beta2=0.95 optimizer.adam_eps=1e-05 "
        "optimizer.weight_decay=0.1 optimizer.clip_grad=1.0 optimizer.use_distributed_optimizer=true "
        "scheduler.lr_decay_style=cosine scheduler.start_weight_decay=0.033 scheduler.end_weight_decay=0.033 "
        "scheduler.override_opt_param_scheduler=true ddp.check_for_nan_in_grad=true ddp.grad_reduce_in_fp32=true "
        "ddp.overlap_grad_reduce=true ddp.overlap_param_gather=true ddp.average_in_collective=true "
        "ddp.data_parallel_sharding_strategy=optim_grads_params ddp.use_distributed_optimizer=true "
        "dataset.random_seed=1234 dataset.dataloader_type=single logger.log_interval=10 "
        "logger.tensorboard_dir=tb_logs logger.log_timers_to_tensorboard=true checkpoint.save=checkpoints "
        "checkpoint.load=checkpoints rng.seed=1234",
    .packed = {},
    .unpacked = {},
    .takes_hf_path = true};

constexpr BridgeBuilder kQwen3MoePretrain{
    .arguments =
        "hf_path=null dir=null name=default data_paths=null data_args_path=null train_data_path=null "
        "valid_data_path=null test_data_path=null per_split_data_args_path=null mock=false "
        "tensor_model_parallel_size=4 pipeline_model_parallel_size=2 pipeline_dtype=bfloat16 "
        "virtual_pipeline_model_parallel_size=null context_parallel_size=1 expert_model_parallel_size=4 "
        "expert_tensor_parallel_size=1 sequence_parallel=true use_megatron_fsdp=false enable_recompute=false "
        "account_for_embedding_in_pipeline_split=false account_for_loss_in_pipeline_split=false train_iters=300000 "
        "global_batch_size=32 micro_batch_size=2 seq_length=4096 lr=0.0003 min_lr=3e-05 lr_warmup_iters=500 "
        "lr_decay_iters=null eval_interval=500 save_interval=500 use_null_tokenizer=false precision_config=null "
        "comm_overlap_config=null moe_flex_dispatcher_backend=null",
    .settings = kQwen3Pretrain.settings,
    .packed = {},
    .unpacked = {},
    .takes_hf_path = true,
    .precision_is_map = true};

constexpr std::string_view kFinetuneSettings =
    "train.eval_iters=32 optimizer.optimizer=adam optimizer.adam_beta1=0.9 optimizer.adam_beta2=0.98 "
    "optimizer.adam_eps=1e-05 optimizer.weight_decay=0.1 optimizer.clip_grad=1.0 "
    "optimizer.use_distributed_optimizer=true scheduler.lr_decay_style=cosine scheduler.start_weight_decay=0.033 "
    "scheduler.end_weight_decay=0.033 scheduler.override_opt_param_scheduler=true ddp.check_for_nan_in_grad=true "
    "dataset.dataset_name=squad dataset.seed=5678 dataset.dataloader_type=batch dataset.num_workers=1 "
    "dataset.do_validation=true dataset.do_test=false dataset.val_proportion=0.1 dataset.rewrite=false "
    "logger.log_interval=1 logger.tensorboard_dir=tb_logs logger.log_timers_to_tensorboard=true "
    "checkpoint.save=checkpoints checkpoint.load=checkpoints rng.seed=5678";

constexpr BridgeBuilder kQwen3Finetune{
    .arguments =
        "hf_path=null dir=null name=default tensor_model_parallel_size=1 pipeline_model_parallel_size=1 "
        "pipeline_dtype=null virtual_pipeline_model_parallel_size=null context_parallel_size=1 "
        "sequence_parallel=false use_megatron_fsdp=false pretrained_checkpoint=null peft=lora packed_sequence=false "
        "train_iters=1000 global_batch_size=null micro_batch_size=1 seq_length=2048 eval_interval=30 "
        "save_interval=50 finetune_lr=0.0001 min_lr=0.0 lr_warmup_iters=50 lr_decay_iters=null wandb_project=null "
        "wandb_entity=null wandb_exp_name=null precision_config=bf16_mixed comm_overlap_config=null",
    .settings = kFinetuneSettings,
    .packed = "global_batch_size=8",
    .unpacked = "global_batch_size=128",
    .finetunes = true,
    .takes_hf_path = true};

constexpr BridgeBuilder kLlama3Finetune{
    .arguments =
        "dir=null name=default pretrained_checkpoint=null peft=lora packed_sequence=false train_iters=1000 "
        "global_batch_size=null micro_batch_size=1 seq_length=null eval_interval=30 save_interval=50 "
        "finetune_lr=0.0001 min_lr=0.0 lr_warmup_iters=50 lr_decay_iters=null wandb_project=null wandb_entity=null "
        "wandb_exp_name=null precision_config=bf16_mixed",
    .settings = kFinetuneSettings,
    .packed = "global_batch_size=8 seq_length=4096",
    .unpacked = "global_batch_size=128 seq_length=2048",
    .finetunes = true};

constexpr BridgeBuilder kQwen3MoeFinetune{
    .arguments =
        "dir=null name=default pretrained_checkpoint=null peft=lora packed_sequence=false train_iters=100 "
        "global_batch_size=null micro_batch_size=1 seq_length=null eval_interval=50 save_interval=100 "
        "finetune_lr=0.0001 min_lr=0.0 lr_warmup_iters=10 lr_decay_iters=null wandb_project=null wandb_entity=null "
        "wandb_exp_name=null precision_config=null moe_flex_dispatcher_backend=null",
    .settings =
        "train.eval_iters=10 train.manual_gc=true train.manual_gc_interval=100 model.cross_entropy_fusion_impl=te "
        "optimizer.optimizer=adam optimizer.adam_beta1=0.9 optimizer.adam_beta2=0.95 optimizer.adam_eps=1e-05 "
        "optimizer.weight_decay=0.1 optimizer.clip_grad=1.0 optimizer.use_distributed_optimizer=true "
        "scheduler.lr_decay_style=cosine scheduler.start_weight_decay=0.033 scheduler.end_weight_decay=0.033 "
        "scheduler.override_opt_param_scheduler=true ddp.check_for_nan_in_grad=true ddp.grad_reduce_in_fp32=true "
        "ddp.overlap_grad_reduce=true ddp.overlap_param_gather=true ddp.average_in_collective=true "
        "ddp.use_distributed_optimizer=true dataset.dataset_name=squad dataset.seed=5678 "
        "dataset.dataloader_type=batch dataset.num_workers=1 dataset.do_validation=true dataset.do_test=false "
        "dataset.val_proportion=0.1 dataset.rewrite=false logger.log_interval=10 logger.tensorboard_dir=tb_logs "
        "logger.log_timers_to_tensorboard=true checkpoint.save=checkpoints checkpoint.load=checkpoints rng.seed=5678",
    .packed = "global_batch_size=32 seq_length=2048",
    .unpacked = "global_batch_size=32 seq_length=4096",
    .finetunes = true,
    .precision_is_map = true};

constexpr BridgeBuilder kMambaPretrain{
    .arguments =
        "tokenizer_model=null dir=null name=default data_paths=null data_args_path=null train_data_path=null "
        "valid_data_path=null test_data_path=null per_split_data_args_path=null mock=false "
        "tensor_model_parallel_size=1 pipeline_model_parallel_size=1 pipeline_dtype=null "
        "virtual_pipeline_model_parallel_size=null context_parallel_size=1 sequence_parallel=false "
        "train_iters=1168251 global_batch_size=8 micro_batch_size=1 seq_length=4096 lr=0.0003 min_lr=3e-05 "
        "lr_warmup_iters=2000 lr_decay_iters=null use_null_tokenizer=false precision_config=bf16_mixed "
        "comm_overlap_config=null",
    .settings =
        "train.eval_interval=100 train.eval_iters=32 optimizer.optimizer=adam optimizer.adam_beta1=0.9 "
        "optimizer.adam_beta2=0.95 optimizer.adam_eps=1e-05 optimizer.weight_decay=0.1 optimizer.clip_grad=1.0 "
        "optimizer.use_distributed_optimizer=true scheduler.lr_decay_style=cosine "
        "scheduler.start_weight_decay=0.033 scheduler.end_weight_decay=0.033 "
        "scheduler.override_opt_param_scheduler=true ddp.check_for_nan_in_grad=true ddp.grad_reduce_in_fp32=true "
        "ddp.overlap_grad_reduce=true ddp.overlap_param_gather=true ddp.use_distributed_optimizer=true "
        "dataset.random_seed=1234 dataset.dataloader_type=single dataset.num_workers=8 logger.log_interval=10 "
        "logger.tensorboard_dir=tb_logs checkpoint.save_interval=2000 checkpoint.save=checkpoints "
        "checkpoint.load=checkpoints checkpoint.fully_parallel_load=true rng.seed=1234 "
        "tokenizer.tokenizer_model=EleutherAI/gpt-neox-20b",
    .packed = {},
    .unpacked = {}};

constexpr std::string_view kHybridFinetuneSettings =
    "train.eval_iters=10 optimizer.optimizer=adam optimizer.adam_beta1=0.9 optimizer.adam_beta2=0.95 "
    "optimizer.adam_eps=1e-05 optimizer.weight_decay=0.1 optimizer.clip_grad=1.0 "
    "optimizer.use_distributed_optimizer=true scheduler.lr_decay_style=cosine scheduler.start_weight_decay=0.033 "
    "scheduler.end_weight_decay=0.033 scheduler.override_opt_param_scheduler=true ddp.check_for_nan_in_grad=true "
    "ddp.grad_reduce_in_fp32=true ddp.overlap_grad_reduce=true ddp.overlap_param_gather=false "
    "ddp.use_distributed_optimizer=true dataset.dataset_name=squad dataset.seed=5678 dataset.dataloader_type=batch "
    "dataset.num_workers=1 dataset.do_validation=true dataset.do_test=false dataset.val_proportion=0.1 "
    "dataset.rewrite=false logger.log_interval=1 logger.tensorboard_dir=tb_logs "
    "logger.log_timers_to_tensorboard=true checkpoint.save=checkpoints checkpoint.load=checkpoints rng.seed=5678";
constexpr std::string_view kHybridFinetuneArguments =
    "dir=null name=default tensor_model_parallel_size=1 pipeline_model_parallel_size=1 pipeline_dtype=null "
    "virtual_pipeline_model_parallel_size=null context_parallel_size=1 sequence_parallel=false "
    "pretrained_checkpoint=null peft=none packed_sequence=false train_iters=1000 global_batch_size=128 "
    "micro_batch_size=4 seq_length=2048 eval_interval=30 save_interval=50 finetune_lr=5e-06 min_lr=0.0 "
    "lr_warmup_iters=50 lr_decay_iters=null wandb_project=null wandb_entity=null wandb_exp_name=null "
    "precision_config=bf16_mixed comm_overlap_config=null";

constexpr BridgeBuilder kMambaFinetune{.arguments = kHybridFinetuneArguments,
                                       .settings = kHybridFinetuneSettings,
                                       .packed = {},
                                       .unpacked = {},
                                       .finetunes = true,
                                       .adapter = "[linear_qkv,linear_proj,linear_fc1,linear_fc2,in_proj,out_proj]"};
constexpr BridgeBuilder kZebraFinetune{
    .arguments = kHybridFinetuneArguments,
    .settings = kHybridFinetuneSettings,
    .packed = {},
    .unpacked = {},
    .finetunes = true,
    .adapter =
        "[linear_q_proj,linear_q_down_proj,linear_q_up_proj,linear_kv_down_proj,linear_kv_up_proj,linear_proj,"
        "linear_fc1,linear_fc2,in_proj,out_proj]"};

constexpr BridgeBuilder kZebraPretrain{
    .arguments =
        "dir=null name=default data_paths=null data_args_path=null train_data_path=null valid_data_path=null "
        "test_data_path=null per_split_data_args_path=null mock=false tensor_model_parallel_size=1 "
        "pipeline_model_parallel_size=1 pipeline_dtype=null virtual_pipeline_model_parallel_size=null "
        "context_parallel_size=1 sequence_parallel=false train_iters=100 global_batch_size=64 micro_batch_size=8 "
        "seq_length=8192 lr=0.0002 min_lr=2e-05 lr_warmup_iters=200 lr_decay_iters=10000 use_null_tokenizer=false "
        "precision_config=bf16_mixed comm_overlap_config=null",
    .settings =
        "train.eval_interval=100 train.eval_iters=0 optimizer.optimizer=adam optimizer.adam_beta1=0.9 "
        "optimizer.adam_beta2=0.95 optimizer.adam_eps=1e-05 optimizer.weight_decay=0.1 optimizer.clip_grad=1.0 "
        "optimizer.use_distributed_optimizer=true scheduler.lr_decay_style=cosine "
        "scheduler.start_weight_decay=0.033 scheduler.end_weight_decay=0.033 "
        "scheduler.override_opt_param_scheduler=true ddp.check_for_nan_in_grad=true ddp.grad_reduce_in_fp32=true "
        "ddp.overlap_grad_reduce=true ddp.overlap_param_gather=true ddp.use_distributed_optimizer=true "
        "dataset.random_seed=1234 dataset.dataloader_type=single dataset.num_workers=8 dataset.eod_mask_loss=true "
        "logger.log_interval=1 logger.tensorboard_dir=tb_logs logger.log_timers_to_tensorboard=true "
        "checkpoint.save_interval=10000 checkpoint.save=checkpoints checkpoint.load=checkpoints rng.seed=1234",
    .packed = {},
    .unpacked = {}};

constexpr BridgeBuilder kMlperf{
    .arguments =
        "hf_path=null dir=null name=default tensor_model_parallel_size=1 pipeline_model_parallel_size=1 "
        "virtual_pipeline_model_parallel_size=null context_parallel_size=1 sequence_parallel=false train_iters=1000 "
        "global_batch_size=8 micro_batch_size=1 seq_length=8192 lr=0.0004 min_lr=0.0 lr_warmup_iters=0 "
        "lr_decay_iters=null eval_interval=48 eval_iters=22 use_null_tokenizer=false pretrained_checkpoint=null "
        "packed_sequence=false packed_train_data_path=null packed_val_data_path=null packed_metadata_path=null "
        "dataset_type=mlperf_dataset adam_beta1=0.9 adam_beta2=0.999 adam_eps=1e-08 weight_decay=0.0001 "
        "clip_grad=0.3 precision_config=bf16_with_mxfp4_mixed comm_overlap_config=null seed=1234 "
        "check_for_nan_in_loss=false te_fused_lora_include_modules=null te_fused_lora_exclude_modules=null "
        "recompute_granularity=null recompute_method=null recompute_num_layers=null attention_backend=null",
    .settings =
        "optimizer.optimizer=adam optimizer.use_distributed_optimizer=true scheduler.lr_decay_style=cosine "
        "scheduler.override_opt_param_scheduler=true ddp.check_for_nan_in_grad=false ddp.grad_reduce_in_fp32=false "
        "ddp.use_distributed_optimizer=true dataset.dataloader_type=batch dataset.num_workers=0 "
        "dataset.do_validation=true dataset.do_test=false logger.log_interval=10 logger.log_throughput=true "
        "checkpoint.save_optim=false checkpoint.save_rng=false checkpoint.finetune=true checkpoint.load_optim=false "
        "checkpoint.load_rng=false rng.te_rng_tracker=true",
    .packed = {},
    .unpacked = {},
    .finetunes = true,
    .takes_hf_path = true,
    .adapter = "[linear_qkv,linear_proj]"};

}  // namespace primus::dialect
