"""What is asked of a machine follows from parameters and precision."""

import hypothesis.strategies as st
from hypothesis import given

from worldprobe.operations.resources import BYTES, WEIGHT_SHARE, needs


def test_the_papers_two_largest_models_take_four_gpus_of_80_gb() -> None:
    assert needs({"parameters": 70_553_706_496, "dtype": "bfloat16"}).gpus == 4
    assert needs({"parameters": 46_702_792_704, "dtype": "bfloat16"}).gpus == 4


def test_a_control_model_takes_no_gpu() -> None:
    assert needs({"control": {"steps": 1}, "dtype": "float32"}).gpus == 0


def test_an_entry_that_says_how_many_gpus_is_obeyed() -> None:
    assert needs({"parameters": 1_000_000, "dtype": "float32", "tensor_parallel": 8}).gpus == 8


@given(
    parameters=st.integers(1, 10**12),
    dtype=st.sampled_from(sorted(BYTES)),
    gpu_memory_gb=st.floats(10, 200),
)
def test_weights_always_leave_room_and_no_gpu_is_asked_for_in_vain(
    parameters: int, dtype: str, gpu_memory_gb: float
) -> None:
    weights_gb = parameters * BYTES[dtype] / 1e9
    gpus = needs({"parameters": parameters, "dtype": dtype}, gpu_memory_gb).gpus
    assert weights_gb <= gpus * gpu_memory_gb * WEIGHT_SHARE
    assert gpus == 1 or weights_gb > gpus / 2 * gpu_memory_gb * WEIGHT_SHARE
