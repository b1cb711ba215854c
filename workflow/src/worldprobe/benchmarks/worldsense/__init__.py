"""WorldSense (arXiv 2311.15930): worlds, problems, skins and sets of trials whose answers an exact
solver decides.
"""
