"""Tests recommended and measured tolerances, and writing them to gpuemu.toml."""

import pathlib

import numpy as np
import pytest

import gpuemu
from gpuemu.check import tolerances


def test_a_tolerance_is_recommended_for_op_and_dtype_in_either_order():
    plain = gpuemu.get_recommended_tolerance("float32")
    assert (plain.atol, plain.rtol) == (1e-5, 1e-4)
    assert gpuemu.get_recommended_tolerance("matmul", "float32") == gpuemu.get_recommended_tolerance("float32", operation="matmul")
    assert gpuemu.get_recommended_tolerance("float32", "jax", "matmul").rtol == pytest.approx(2.25e-4)


def test_a_negative_tolerance_is_refused():
    with pytest.raises(ValueError, match="rtol is -1"):
        gpuemu.ToleranceConfig(0, -1)
    with pytest.raises(ValueError, match="atol"):
        gpuemu.ToleranceConfig(float("nan"), 0)


def single(x):
    return np.sin(x.astype(np.float16)).astype(np.float32)


def test_a_calibrated_tolerance_passes_what_it_was_measured_on_and_little_more():
    found = gpuemu.calibrate_tolerance(np.sin, single, [(200,)], n_samples=40)
    evidence = found.evidence
    assert evidence.passed == evidence.samples == 40 and max(evidence.errors) > 0
    assert max(evidence.required) <= 2.0 < 1000 * max(evidence.required)
    x = np.linspace(-3, 3, 500, dtype=np.float32)
    error = np.abs(single(x).astype(np.float64) - np.sin(x))
    assert (error <= found.atol + found.rtol * np.abs(np.sin(x))).all()
    assert found.atol < 20 * error.max() and found.rtol < 0.01


def test_the_margin_and_the_percentile_scale_it():
    narrow = gpuemu.calibrate_tolerance(np.sin, single, [(50,)], n_samples=20, safety_margin=1.0)
    wide = gpuemu.calibrate_tolerance(np.sin, single, [(50,)], n_samples=20, safety_margin=3.0)
    low = gpuemu.calibrate_tolerance(np.sin, single, [(50,)], n_samples=20, safety_margin=1.0, percentile=10)
    assert wide.atol == pytest.approx(3 * narrow.atol) and low.atol < narrow.atol
    assert low.evidence.passed < narrow.evidence.passed


def test_what_is_not_finite_or_of_another_shape_cannot_be_measured():
    with pytest.raises(ValueError, match="not finite"):
        gpuemu.calibrate_tolerance(lambda x: x * np.inf, lambda x: x, [(2,)])
    with pytest.raises(ValueError, match=r"\[3\].*\[2\]"):
        gpuemu.calibrate_tolerance(lambda x: x, lambda x: x[:2], [(3,)])


PROJECT = """# The project.
[[ops]]
name = "scale"   # doubles
reference = "scale.py"

[[ops]]
name = "other"
reference = "other.py"
[ops.tolerances]
float32 = 1e-3   # was guessed
"""


def test_it_is_written_into_the_project_whose_comments_stay(tmp_path):
    pytest.importorskip("tomlkit")
    file = tmp_path / "gpuemu.toml"
    file.write_text(PROJECT)
    found = gpuemu.calibrate_tolerance(np.sin, single, [(50,)], n_samples=10)
    assert found.write("other", file) == pathlib.Path(file)
    tolerances.write_tolerance("scale", "float16", gpuemu.ToleranceConfig(0.25, 0.5), file)
    text = file.read_text()
    assert "# The project." in text and "# doubles" in text and "calibrated on 10 samples" in text
    import tomlkit

    ops = tomlkit.parse(text)["ops"]
    assert ops[0]["tolerances"]["float16"] == {"atol": 0.25, "rtol": 0.5}
    assert ops[1]["tolerances"]["float32"] == {"atol": found.atol, "rtol": found.rtol}
    assert text.startswith(PROJECT.split("\n\n")[0])
    with pytest.raises(LookupError, match="'nothing'; it has scale, other"):
        found.write("nothing", file)
