# EWoK's settings, as its rules take them.


from worldprobe.benchmarks.ewok import outputs as ewok_outputs
from worldprobe.benchmarks.ewok.rules import EwokRules, notebook_file
from worldprobe.models.registry import BASELINES

ewok = EwokRules(study, registry)
ewok.share_password()


pathvars:
    ewok=f"{paths.root}/ewok",


wildcard_constraints:
    baseline=one_of(BASELINES),
    condition=one_of(ewok_outputs.conditions(study)),
