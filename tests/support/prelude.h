// The precompiled header of tests without libtorch.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "primus/base/prelude.h"
