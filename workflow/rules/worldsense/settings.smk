# WorldSense's settings, as its rules take them (docs/worldsense.md).


from worldprobe.benchmarks.worldsense import outputs as worldsense_outputs
from worldprobe.benchmarks.worldsense.rules import WorldsenseRules

worldsense = WorldsenseRules(study, registry)


pathvars:
    worldsense=f"{paths.root}/worldsense",
