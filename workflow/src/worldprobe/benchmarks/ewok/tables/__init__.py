"""Tables as they are printed: each a function of a contract's table and the roster, returning a
``Sheet``.
"""
