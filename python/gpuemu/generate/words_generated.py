"""Words of gpuemu.toml that Python takes, too.

Written by tools/make_words.py from common/config/*.def; edit that and run it again.
"""

VALUE_STRATEGIES = (
    "bits_uniform", "normal", "uniform10", "unit", "small_int", "offset", "tiny", "subnormal", "all_neg", "all_pos",
    "impulse", "ascend", "descend", "constant", "zeros", "large", "duplicates", "signed_zero", "sorted_ties",
    "int_extremes", "int_wide", "tile_maxima", "exact_ties", "row_mix", "thresholds", "int_thresholds", "row_specials",
    "one_nan", "one_inf", "one_ninf", "special", "near_max", "mixed_adversarial",
)  # fmt: skip
LAYOUTS = (
    "contiguous", "strided", "transposed", "broadcast", "reversed",
)  # fmt: skip
