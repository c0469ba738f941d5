#include "gloo/fwd.h"
