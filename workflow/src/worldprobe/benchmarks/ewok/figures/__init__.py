"""Figures: each is a function of tables that gives one tidy table, and a second one, ``drawn_by``,
that draws it.
"""
