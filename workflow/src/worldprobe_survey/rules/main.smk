# Studies with people: only where the study asks with EWoK.

if study.get("ewok"):

    include: "people.smk"
