"""EWoK: materials compile to templates, templates are filled into items (arXiv 2405.09605, Section
3).
"""
