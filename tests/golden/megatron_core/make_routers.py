"""Routers of megatron-core, for tests/golden/train/megatron_routers_test.cpp.

Every case runs megatron-core's own TopKRouter in training, forward and backward, over the micro-batches of one step:
the router's weight is the identity, so its input is the logits. Recorded per micro-batch: input, cotangent of the
probabilities, probabilities and choice after dropping, gradient of the input; per case: the auxiliary losses (what megatron-core logs,
times the coefficients that it divides by) and the expert bias after get_updated_expert_bias.

    pip download --no-deps --only-binary :all: --python-version 3.12 megatron-core==0.19.2 && unzip -q -d core megatron_core*.whl
    PYTHONPATH=core python make_routers.py     # writes routers.safetensors and routers.json

Made with megatron-core 0.19.2 (PyPI), torch 2.15.0 (CPU), safetensors 0.8.
Patched: torch.cuda.current_device says "cpu"; torch.topk of integers is stable (the policy "position" means to keep the
first tokens, but topk leaves the order of equal values open).
"""
import json, os
import torch
from safetensors.torch import save_file

torch.cuda.current_device = lambda: "cpu"
plain_topk = torch.topk
def stable_topk(x, k, dim=-1, largest=True, sorted=True):
    if x.is_floating_point(): return plain_topk(x, k, dim=dim, largest=largest, sorted=sorted)
    values, indices = torch.sort(x, dim=dim, descending=True, stable=True)
    return values.narrow(dim, 0, k), indices.narrow(dim, 0, k)
torch.topk = stable_topk

from megatron.core import __version__, parallel_state
from megatron.core.transformer.moe.moe_logging import get_moe_metrics_tracker
from megatron.core.transformer.moe.moe_utils import MoEAuxLossAutoScaler, get_default_pg_collection, get_updated_expert_bias
from megatron.core.transformer.moe.router import TopKRouter
from megatron.core.transformer.transformer_config import TransformerConfig

HERE = os.path.dirname(os.path.abspath(__file__))
os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="29611", RANK="0", WORLD_SIZE="1")
torch.distributed.init_process_group("gloo", rank=0, world_size=1)
parallel_state.initialize_model_parallel()
torch.set_num_threads(1)
torch.manual_seed(20241127)

AUX, SEQ, GLOBAL = "aux_loss", "seq_aux_loss", "global_aux_loss"
# name: (experts, top-k, [(sequence, rows) of each micro-batch], options by megatron-core's names)
CASES = {
    "softmax_after": (7, 3, [(11, 1)], {}),
    "softmax_after_scaled": (5, 4, [(37, 1)], dict(moe_router_topk_scaling_factor=1.7)),
    "softmax_before": (9, 3, [(13, 1)], dict(moe_router_pre_softmax=True)),
    "softmax_before_one": (5, 1, [(7, 3)], dict(moe_router_pre_softmax=True, moe_router_topk_scaling_factor=0.6)),
    "softmax_before_groups": (12, 4, [(19, 1)], dict(moe_router_pre_softmax=True, moe_router_num_groups=4, moe_router_group_topk=2,
                                                     moe_router_topk_scaling_factor=16.0)),
    "softmax_after_groups": (10, 2, [(17, 1)], dict(moe_router_num_groups=5, moe_router_group_topk=2)),
    "sigmoid": (11, 3, [(23, 1)], dict(moe_router_score_function="sigmoid")),
    "sigmoid_one": (6, 1, [(9, 2)], dict(moe_router_score_function="sigmoid", moe_router_topk_scaling_factor=2.5)),
    "sigmoid_bias": (8, 3, [(14, 2), (14, 2)], dict(moe_router_score_function="sigmoid", moe_router_enable_expert_bias=True,
                                                    moe_router_bias_update_rate=0.01)),
    "sigmoid_bias_groups": (12, 4, [(31, 1), (31, 1), (31, 1)], dict(
        moe_router_score_function="sigmoid", moe_router_enable_expert_bias=True, moe_router_bias_update_rate=0.003,
        moe_router_num_groups=6, moe_router_group_topk=2, moe_router_topk_scaling_factor=2.5,
        moe_router_load_balancing_type=SEQ, moe_aux_loss_coeff=0.2)),
    "sqrtsoftplus": (9, 4, [(15, 1)], dict(moe_router_score_function="sqrtsoftplus", moe_router_topk_scaling_factor=1.3,
                                          moe_router_load_balancing_type=AUX, moe_aux_loss_coeff=0.3)),
    "aux": (7, 2, [(9, 3), (9, 3)], dict(moe_router_load_balancing_type=AUX, moe_aux_loss_coeff=0.31)),
    "aux_before_groups": (9, 3, [(12, 2)], dict(moe_router_pre_softmax=True, moe_router_num_groups=3, moe_router_group_topk=3,
                                                moe_router_load_balancing_type=AUX, moe_aux_loss_coeff=0.17)),
    "sequence": (5, 2, [(7, 4), (7, 4)], dict(moe_router_load_balancing_type=SEQ, moe_aux_loss_coeff=0.23)),
    "global": (6, 2, [(11, 2), (11, 2), (11, 2)], dict(moe_router_load_balancing_type=GLOBAL, moe_aux_loss_coeff=0.29)),
    "three_and_z": (11, 4, [(8, 3), (8, 3)], dict(moe_router_score_function="sigmoid", moe_router_load_balancing_type=[AUX, SEQ, GLOBAL],
                                                 moe_aux_loss_coeff=[0.11, 0.07, 0.05], moe_z_loss_coeff=0.02)),
    "z": (8, 2, [(21, 1), (21, 1)], dict(moe_z_loss_coeff=0.013)),
    "sinkhorn_one": (5, 1, [(22, 1)], dict(moe_router_load_balancing_type="sinkhorn", moe_router_pre_softmax=True)),
    "sinkhorn": (7, 3, [(18, 2)], dict(moe_router_load_balancing_type="sinkhorn")),
    "drop_lowest": (5, 2, [(13, 1), (13, 1)], dict(moe_expert_capacity_factor=0.7)),
    "drop_lowest_rows": (6, 3, [(9, 3)], dict(moe_expert_capacity_factor=0.83, moe_router_pre_softmax=True)),
    "drop_last": (7, 2, [(29, 1)], dict(moe_expert_capacity_factor=0.61, moe_token_drop_policy="position")),
    "drop_last_rows": (5, 3, [(10, 3)], dict(moe_expert_capacity_factor=0.9, moe_token_drop_policy="position",
                                             moe_router_load_balancing_type=AUX, moe_aux_loss_coeff=0.4)),
    "drop_padded": (8, 2, [(33, 1)], dict(moe_expert_capacity_factor=1.1, moe_pad_expert_input_to_capacity=True)),
    "drop_nothing": (5, 4, [(7, 1)], dict(moe_expert_capacity_factor=3.0)),
    "drop_with_bias": (8, 3, [(15, 2), (15, 2)], dict(moe_expert_capacity_factor=0.9, moe_router_score_function="sigmoid",
                                                     moe_router_enable_expert_bias=True, moe_router_bias_update_rate=0.02)),
    "drop_padded_with_bias": (6, 2, [(17, 2)], dict(moe_expert_capacity_factor=0.9, moe_pad_expert_input_to_capacity=True,
                                                    moe_router_score_function="sigmoid", moe_router_enable_expert_bias=True,
                                                    moe_router_bias_update_rate=0.02)),
}

tensors, described = {}, {}
for name, (experts, top_k, shapes, options) in CASES.items():
    given = dict(options)
    config = TransformerConfig(num_layers=1, hidden_size=experts, num_attention_heads=1, num_moe_experts=experts, moe_router_topk=top_k,
                               add_bias_linear=False, moe_token_dispatcher_type="alltoall", **{"moe_router_load_balancing_type": "none", **given})
    router = TopKRouter(config, pg_collection=get_default_pg_collection())
    router.set_layer_number(1)
    router.train()
    with torch.no_grad():
        router.weight.copy_(torch.eye(experts))
        if router.expert_bias is not None:
            router.expert_bias.copy_(0.3 * torch.randn(experts))
            tensors[f"{name}.bias"] = router.expert_bias.clone()
    get_moe_metrics_tracker()._metrics.clear()
    MoEAuxLossAutoScaler.set_loss_scale(torch.tensor(1.0 / len(shapes)))
    skew = 0.9 * torch.randn(experts)
    for i, (sequence, rows) in enumerate(shapes):
        x = (1.3 * torch.randn(sequence, rows, experts) + skew).requires_grad_(True)
        probs, chosen = router(x)
        cotangent = torch.randn_like(probs)
        probs.backward(cotangent)
        tensors.update({f"{name}.{i}.x": x.detach().clone(), f"{name}.{i}.cotangent": cotangent, f"{name}.{i}.probs": probs.detach().clone(),
                        f"{name}.{i}.chosen": chosen.long(), f"{name}.{i}.dx": x.grad.clone()})
    coefficients = {"load_balancing_loss": router.get_aux_loss_coeff(AUX), "seq_load_balancing_loss": router.get_aux_loss_coeff(SEQ),
                    "global_load_balancing_loss": router.get_aux_loss_coeff(GLOBAL), "z_loss": config.moe_z_loss_coeff}
    losses = {k: v.values[0].item() / len(shapes) * coefficients[k] for k, v in get_moe_metrics_tracker().metrics.items()}
    if router.expert_bias is not None:
        tensors[f"{name}.new_bias"] = get_updated_expert_bias(router.local_tokens_per_expert, router.expert_bias,
                                                              config.moe_router_bias_update_rate).clone()
    described[name] = {"experts": experts, "top_k": top_k, "micro_batches": len(shapes), "options": options, "losses": losses}

for key in [k for k in tensors if k.endswith(".chosen")]: tensors[key] = tensors[key].float()
save_file({k: v.contiguous() for k, v in tensors.items()}, os.path.join(HERE, "routers.safetensors"))
with open(os.path.join(HERE, "routers.json"), "w") as f:
    json.dump({"made_with": f"megatron-core {__version__}, torch {torch.__version__}", "cases": described}, f, indent=1)
    f.write("\n")
print(len(CASES), "cases")
