"""Fixed filling: in one version of a domain, a variable means the same filler throughout, as far as its restrictions allow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from worldprobe.benchmarks.ewok.materials.fillers import MAGNET, Filler, Fillers
from worldprobe.benchmarks.ewok.materials.placeholders import restrictions_of, variable_of

#: Versions are windows on the same shuffled fillers that move by this many.
STEP = 2


def enough_for(count: int) -> int:
    """For how many versions so many fillers are enough, where nothing else uses them.

    >>> [enough_for(count) for count in (0, 1, 2, 9)]
    [0, 1, 1, 5]
    """
    return (count + STEP - 1) // STEP


class FixedSampler:
    """Fills the templates of one domain in one version, in row order: what comes first decides what is shared.

    Args:
        fillers: the fillers.
        version: from 0.
        key_sets: the key sets of all the domain's templates; fillers that alone meet a restriction are kept for it.
    """

    def __init__(self, fillers: Fillers, version: int, key_sets: Sequence[tuple[str, ...]]) -> None:
        self.fillers, self.rules, self.version = fillers, fillers.rules, version
        self.short: dict[str, int] = {}
        self._picked: dict[str, list[Filler]] = {}
        self._memo: dict[str, Filler] = {}
        self._outcomes: dict[tuple[str, ...], dict[str, str] | None] = {}
        if self.rules.one_magnet:
            self._used = {MAGNET}
        else:
            options = (fillers.options(key) for key in dict.fromkeys(key for keys in key_sets for key in keys))
            self._used = {only[0].text for only in options if len(only) == 1}

    def fill(self, keys: tuple[str, ...]) -> Mapping[str, str] | None:
        """Fillings for a key set, or None where some class has too few fillers for this version.

        Args:
            keys: distinct keys in code-point order.
        """
        if keys in self._outcomes and (self.rules.failed_stay_failed or self._outcomes[keys] is not None):
            return self._outcomes[keys]
        fillings: dict[str, str] | None = {}
        for key in keys:
            filler = self._pick(key)
            if filler is None:
                fillings = None
                break
            assert fillings is not None
            fillings[key] = filler.text
        if fillings is not None and len(set(fillings.values())) < len(fillings):
            fillings = None
        self._outcomes[keys] = fillings
        return fillings

    def _pick(self, key: str) -> Filler | None:
        known = self._recall(key)
        if known is not None:
            return known
        options = self.fillers.options(key)
        if self.fillers.is_magnet(key) or (not self.rules.one_magnet and len(options) == 1):
            # Kept for this key alone: elsewhere the variable stays free.
            if options:
                self._memo[key] = options[0]
            return options[0] if options else None
        start = STEP * self.version
        filler = next((f for f in options[start:] if f.text not in self._used), None)
        if filler is None:
            self.short[key] = len(options)
            return None
        self._used.add(filler.text)
        self._remember(key, filler)
        return filler

    def _recall(self, key: str) -> Filler | None:
        if key in self._memo or self.rules.loose_variables:
            return self._memo.get(key)
        restrictions = restrictions_of(key)
        return next((f for f in self._picked.get(variable_of(key), ()) if f.meets(restrictions)), None)

    def _remember(self, key: str, filler: Filler) -> None:
        variable = variable_of(key)
        self._memo[key] = filler
        self._picked.setdefault(variable, []).append(filler)
        if self.rules.loose_variables:
            self._memo.setdefault(variable, filler)
            for column, value in filler.columns.items():
                self._memo.setdefault(f"{variable}:{column}={value}", filler)
