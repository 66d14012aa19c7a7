#include "does_not_exist.h"
__global__ void uses_missing(Missing<float> x, int n) { x[n] = 0; }
