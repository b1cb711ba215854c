"""The package's own command. It is declared where nothing is imported that takes time, as every
``worldprobe --help`` reads it.
"""

from worldprobe.extensions import Extension

EXTENSION = Extension(
    title="Opposites",
    commands={"opposites": ("aaa_commands:opposites", "print the words that are asked about")},
)


def opposites(domain: str, /, *, per_domain: int = 3) -> None:
    """Print words and their opposites.

    Args:
        domain: size, place or time
        per_domain: number of words at most
    """
    from aaa import WORDS

    for word, opposite, _ in WORDS[domain][:per_domain]:
        print(word, opposite)
