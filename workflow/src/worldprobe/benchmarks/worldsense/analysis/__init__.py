"""From answers to numbers: accuracy and bias by tuples, intervals, comparisons (paper, Sections 4.2
and 5).
"""
