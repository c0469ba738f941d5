// FLOPs and parameters of mixers that are no attention, counted by hand.
#include "primus/spec/model_size.h"

#include <functional>
#include <gtest/gtest.h>

namespace primus::spec {
namespace {

Model one_layer(const std::function<void(LayerSpec&)>& change) {
  Model model;
  model.hidden_size = 8;
  LayerSpec layer;
  layer.has_mlp = false;
  change(layer);
  model.layers = {layer};
  return model;
}

double flops(const std::function<void(LayerSpec&)>& change) {
  return flops_per_token(one_layer(change), 64);
}

int64_t parameters(const std::function<void(LayerSpec&)>& change) {
  return count_layer_parts(one_layer(change)).other_mixers;
}

TEST(ModelSize, CountsShortConvolutions) {
  const auto plain = [](LayerSpec& l) { l.short_conv = ShortConv{3, false}; };
  EXPECT_EQ(flops(plain), 6 * (3 * 64 + 3 * 8 + 64));
  EXPECT_EQ(parameters(plain), 4 * 64 + 24);
  EXPECT_EQ(parameters([](LayerSpec& l) { l.short_conv = ShortConv{3, true}; }), 4 * 64 + 24 + 5 * 8);
}

TEST(ModelSize, CountsGatedDeltaNets) {
  const auto net = [](LayerSpec& l) {
    l.gated_delta =
        GatedDelta{.num_key_heads = 2, .num_value_heads = 4, .key_head_dim = 6, .value_head_dim = 5, .kernel_size = 3};
  };
  EXPECT_EQ(flops(net), 6 * (8 * 72 + 3 * 44 + 4 * 4 * 25 + 160));
  EXPECT_EQ(parameters(net), 8 * 72 + 3 * 44 + 8 + 5 + 160);
}

TEST(ModelSize, CountsStateSpaces) {
  const auto mamba = [](LayerSpec& l) {
    l.mamba2 = Mamba2{.num_heads = 4, .head_dim = 3, .num_groups = 2, .state_dim = 5, .kernel_size = 4};
  };
  // Megatron-LM's mamba_layer_flops, forward, times three.
  EXPECT_EQ(flops(mamba), 3 * (2 * 8 * (24 + 20 + 4) + 7 * 12 * 5 + 2 * 12 * 8));
  EXPECT_EQ(parameters(mamba), 8 * (12 + 32 + 4) + 32 * 5 + 3 * 4 + 12 + 12 * 8);
}

TEST(ModelSize, CountsTheHalfThatALayerHas) {
  const auto parts = [](bool mixer, bool mlp) {
    return count_layer_parts(one_layer([&](LayerSpec& l) {
      l.short_conv = ShortConv{};
      l.mlp.ffn_size = 10;
      l.has_mixer = mixer, l.has_mlp = mlp;
      if (!mixer) l.short_conv.reset();
    }));
  };
  EXPECT_EQ(parts(true, false).norms, 8);
  EXPECT_EQ(parts(true, false).dense_mlp, 0);
  EXPECT_EQ(parts(false, true).other_mixers + parts(false, true).attention, 0);
  EXPECT_EQ(parts(false, true).dense_mlp, 240);
  EXPECT_EQ(parts(true, true).norms, 16);
}

}  // namespace
}  // namespace primus::spec
