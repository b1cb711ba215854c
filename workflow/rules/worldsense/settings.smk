# WorldSense's settings, as options of its commands (docs/worldsense.md).


worldsense = study["worldsense"]


pathvars:
    worldsense=f"{STUDY.root}/worldsense",


def skin_folder():
    """The folder of skins."""
    return worldsense.get("skin_folder") or in_repository("resources/skins")


def skin_files():
    """The skins, so that an edit of any makes the sets again."""
    return sorted(str(path) for path in Path(skin_folder()).glob("*.yaml"))


def subset():
    """Which part of a set the study asks for, as options."""
    return flags(
        flag("--seed", worldsense.get("seed", 0)),
        flag("--sizes", worldsense.get("sizes")),
        flag("--problems", worldsense.get("problems")),
        flag("--skins", worldsense.get("skins")),
        flag("--per-cell", worldsense.get("per_cell")),
        flag("--skin-folder", skin_folder()),
    )
