"""WorldSense's figures, as they are drawn."""

import pandas as pd
from matplotlib.colors import to_hex

from worldprobe.benchmarks.worldsense.figures import draw_promptings
from worldprobe.report.model_names import RULE_FAMILY


def test_the_main_way_of_asking_is_the_darker_one_and_models_are_bold() -> None:
    """A sample by basic prompting stood in full colour above the whole set's, and SmolLM2 among
    nine rules in their letters.
    """
    rows = [
        {"panel": panel, "model": model, "name": model, "family": family, "colour": "#b2182b"}
        | {"mark": mark, "mean": 0.6, "ci_low": 0.5, "ci_high": 0.7, "is_main": is_main}
        for panel in ("accuracy", "size of the bias")
        for model, family in (("ant", "ants"), ("counting", RULE_FAMILY))
        for mark, is_main in (("basic", "False"), ("constrained", "True"))
    ]
    figure = draw_promptings(pd.DataFrame(rows))
    axes = figure.axes[0]
    weights = {label.get_text(): label.get_fontweight() for label in axes.get_yticklabels()}
    assert weights == {"ant": "bold", "counting": "normal"}
    colours = {
        handle.get_label(): to_hex(handle.get_color())
        for handle in figure.legends[0].legend_handles
    }
    assert int(colours["constrained"][1:3], 16) < int(colours["basic"][1:3], 16)
