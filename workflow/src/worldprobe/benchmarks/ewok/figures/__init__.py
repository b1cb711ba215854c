"""Figures: each module has ``tidy`` (contract tables -> one tidy table) and ``draw`` (that table ->
a matplotlib figure).
"""
