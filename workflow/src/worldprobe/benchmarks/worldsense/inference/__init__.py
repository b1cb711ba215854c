"""Questions to a model, or a rule, about a trial, and its answers."""
