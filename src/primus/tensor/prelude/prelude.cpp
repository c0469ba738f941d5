// Owns the precompiled header (cmake/Torch.cmake); nothing to compile.
