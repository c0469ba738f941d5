"""Whole GPT models of megatron-core, for tests/golden/train/megatron_models_test.cpp.

One micro-batch through megatron-core's GPTModel (its own "local" modules, no Transformer Engine) with a loss mask,
forward and backward. Recorded per model: weights and gradients by primus' names (fused rows split), token losses,
the losses of prediction depths, the routers' losses (what is logged, times the coefficients that it is divided by).

    pip download --no-deps --only-binary :all: --python-version 3.12 megatron-core==0.19.2 && unzip -q -d core megatron_core*.whl
    PYTHONPATH=core python make_models.py     # writes models.safetensors and models.json

Made with megatron-core 0.19.2 (PyPI), torch 2.15.0 (CPU), safetensors 0.8.
Patched: torch.cuda.current_device says "cpu"; the tracker of CUDA's random state forks nothing (dropout is 0). Switched off in the config: everything fused.
"""
import contextlib, json, os, warnings
warnings.filterwarnings("ignore")
import torch
import torch.nn.functional as F
from safetensors.torch import save_file

torch.cuda.current_device = lambda: "cpu"

from megatron.core import __version__, parallel_state, tensor_parallel
from megatron.core.models.gpt.gpt_layer_specs import get_gpt_decoder_block_spec, get_gpt_mtp_block_spec
from megatron.core.models.gpt.gpt_model import GPTModel
from megatron.core.transformer.moe.moe_logging import get_moe_metrics_tracker
from megatron.core.transformer.moe.moe_utils import MoEAuxLossAutoScaler
from megatron.core.transformer.multi_token_prediction import MTPLossAutoScaler, MTPLossLoggingHelper
from megatron.core.transformer.transformer_config import TransformerConfig

tensor_parallel.random.CudaRNGStatesTracker.fork = lambda self, name="": contextlib.nullcontext()
HERE = os.path.dirname(os.path.abspath(__file__))
os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="29613", RANK="0", WORLD_SIZE="1")
torch.distributed.init_process_group("gloo", rank=0, world_size=1)
parallel_state.initialize_model_parallel()
torch.set_num_threads(1)
torch.manual_seed(20241130)

VOCAB, HIDDEN, HEADS, KV, DIM, FFN, SEQ, ROWS, BASE, EPS = 61, 20, 4, 2, 6, 26, 13, 3, 777, 1e-3
MOE = dict(num_moe_experts=5, moe_router_topk=2, moe_ffn_hidden_size=10, moe_layer_freq=[0, 1])
SHARED = dict(moe_shared_expert_intermediate_size=14)
CASES = {
    "dense": dict(),
    "layer_norm": dict(normalization="LayerNorm", add_bias_linear=True, gated_linear_unit=False, activation_func=F.gelu, tied=True,
                       positions="learned_absolute"),
    "mixture": dict(MOE, **SHARED, moe_shared_expert_gate=True, moe_router_load_balancing_type="aux_loss", moe_aux_loss_coeff=0.2, moe_z_loss_coeff=0.03),
    "sigmoid": dict(MOE, **SHARED, num_moe_experts=6, moe_router_topk=4, moe_router_num_groups=3, moe_router_group_topk=2, moe_router_score_function="sigmoid",
                    moe_router_enable_expert_bias=True, moe_router_topk_scaling_factor=2.5, moe_router_load_balancing_type="seq_aux_loss",
                    moe_aux_loss_coeff=0.15),
    "dropping": dict(MOE, moe_router_pre_softmax=True, moe_expert_capacity_factor=0.7, moe_router_load_balancing_type="global_aux_loss",
                     moe_aux_loss_coeff=0.25),
    "on_input": dict(MOE, moe_router_topk=1, moe_router_pre_softmax=True, moe_apply_probs_on_input=True),
    "one_ahead": dict(mtp_num_layers=1, mtp_loss_scaling_factor=0.3, qk_layernorm=True),
    "two_ahead": dict(MOE, **SHARED, mtp_num_layers=2, mtp_loss_scaling_factor=0.4, tied=True, moe_router_load_balancing_type="aux_loss",
                      moe_aux_loss_coeff=0.2, moe_z_loss_coeff=0.03),
}

RENAME = [("embedding.word_embeddings.", "embed."), ("embedding.position_embeddings.", "embed.position."), ("output_layer.", "head."),
          ("decoder.final_layernorm.", "final_norm."), ("decoder.layers.", "layer."), ("mtp.layers.", "mtp."), (".mtp_model_layer.", ".layer."),
          (".transformer_layer.", ".layer."), (".eh_proj.", ".proj."), (".final_layernorm.", ".final_norm."), (".input_layernorm.", ".attn_norm."),
          (".pre_mlp_layernorm.", ".mlp_norm."), (".self_attention.linear_proj.", ".attn.o."), (".self_attention.q_layernorm.", ".attn.q_norm."),
          (".self_attention.k_layernorm.", ".attn.k_norm."), (".mlp.router.", ".moe.router."), (".router.expert_bias", ".router.score_bias"),
          (".mlp.experts.local_experts.", ".moe.expert."), (".mlp.shared_experts.gate_weight", ".moe.shared_gate.weight"),
          (".mlp.shared_experts.", ".moe.shared."),
          (".linear_fc2.", ".down.")]

def split(name, x, gated):
    """[(primus' name, rows)] of one tensor of megatron-core."""
    for old, new in RENAME: name = name.replace(old, new)
    if ".self_attention.linear_qkv." in name:
        q, k, v = x.reshape(KV, (HEADS // KV + 2) * DIM, *x.shape[1:]).split([HEADS // KV * DIM, DIM, DIM], 1)
        return [(name.replace(".self_attention.linear_qkv.", f".attn.{n}."), t.reshape(-1, *x.shape[1:])) for n, t in (("q", q), ("k", k), ("v", v))]
    if ".linear_fc1." in name:
        if not gated: return [(name.replace(".linear_fc1.", ".up."), x)]
        return [(name.replace(".linear_fc1.", f".{n}."), t) for n, t in zip(("gate", "up"), x.chunk(2))]
    return [(name, x)]

tensors, described = {}, {}
for case, options in CASES.items():
    options = dict(options)
    tied, positions = options.pop("tied", False), options.pop("positions", "rope")
    config = TransformerConfig(**{**dict(
        num_layers=2, hidden_size=HIDDEN, num_attention_heads=HEADS, num_query_groups=KV, kv_channels=DIM, ffn_hidden_size=FFN, layernorm_epsilon=EPS,
        normalization="RMSNorm", add_bias_linear=False, gated_linear_unit=True, activation_func=F.silu, hidden_dropout=0.0, attention_dropout=0.0,
        bias_activation_fusion=False, bias_dropout_fusion=False, masked_softmax_fusion=False, apply_rope_fusion=False, use_cpu_initialization=True,
        moe_token_dispatcher_type="allgather", moe_router_load_balancing_type="none", gradient_accumulation_fusion=False), **options})
    spec = get_gpt_decoder_block_spec(config, use_transformer_engine=False, normalization=config.normalization)
    mtp = get_gpt_mtp_block_spec(config, spec, use_transformer_engine=False) if config.mtp_num_layers else None
    model = GPTModel(config, spec, VOCAB, SEQ, position_embedding_type=positions, rotary_base=BASE, share_embeddings_and_output_weights=tied,
                     mtp_block_spec=mtp)
    model.train()
    with torch.no_grad():
        for name, p in model.named_parameters():
            is_norm = "norm" in name and name.endswith("weight")
            p.copy_(1 + 0.3 * torch.randn_like(p) if is_norm else (0.5 if "router" in name else 0.2) * torch.randn_like(p))
        for name, b in model.named_buffers():
            if name.endswith("expert_bias"):
                b.copy_(0.2 * torch.randn_like(b))
                tensors[f"{case}.{split(name, b, False)[0][0]}"] = b.clone()
    tokens, mask = torch.randint(0, VOCAB, (ROWS, SEQ + 1)), (torch.rand(ROWS, SEQ) < 0.7).float()
    get_moe_metrics_tracker()._metrics.clear()
    MTPLossLoggingHelper.tracker = {}
    MoEAuxLossAutoScaler.set_loss_scale(torch.tensor(1.0))
    MTPLossAutoScaler.set_loss_scale(torch.tensor(1.0))
    causal = torch.ones(SEQ, SEQ, dtype=torch.bool).triu(1)[None, None]
    token_loss = model(tokens[:, :-1].contiguous(), torch.arange(SEQ).expand(ROWS, SEQ).contiguous(), causal, labels=tokens[:, 1:].contiguous(),
                       loss_mask=mask)
    ((token_loss * mask).sum() / mask.sum()).backward()
    for name, p in model.named_parameters():
        for (mine, w), (_, g) in zip(split(name, p.detach(), config.gated_linear_unit), split(name, p.grad, config.gated_linear_unit)):
            tensors[f"{case}.{mine}"], tensors[f"{case}.grad.{mine}"] = w, g
    tensors.update({f"{case}.tokens": tokens.float(), f"{case}.mask": mask, f"{case}.token_loss": token_loss.detach()})
    ahead = MTPLossLoggingHelper.tracker["loss_values"].tolist() if mtp else []
    routers = {k: v.values[v.values != 0].mean().item() * (config.moe_z_loss_coeff if k == "z_loss" else config.moe_aux_loss_coeff)
               for k, v in get_moe_metrics_tracker().metrics.items()}
    described[case] = {"ahead": ahead, "routers": routers}
    print(case, token_loss.mean().item(), described[case])

save_file({k: v.contiguous().clone() for k, v in tensors.items()}, os.path.join(HERE, "models.safetensors"))
with open(os.path.join(HERE, "models.json"), "w") as f:
    json.dump({"made_with": f"megatron-core {__version__}, torch {torch.__version__}", "cases": described}, f, indent=1)
    f.write("\n")
