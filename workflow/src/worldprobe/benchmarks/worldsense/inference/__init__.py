"""What a model, or a rule, is asked about a trial, and what it answers."""
