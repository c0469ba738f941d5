// The precompiled header of tests with libtorch.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "primus/tensor/prelude.h"
