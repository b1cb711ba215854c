"""Abstract problems: what they state, what follows, how they are drawn."""
