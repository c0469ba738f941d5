// Owns the precompiled header (cmake/Rooms.cmake); nothing to compile.
