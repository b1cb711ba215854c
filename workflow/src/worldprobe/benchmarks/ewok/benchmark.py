"""EWoK as the shared parts see it."""

from worldprobe.benchmark import Benchmark
from worldprobe.benchmarks.ewok.settings import check_settings

BENCHMARK = Benchmark(name="ewok", title="EWoK", check_settings=check_settings)
