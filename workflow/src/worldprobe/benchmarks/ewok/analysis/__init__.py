"""From judgements to numbers; reads tables only."""
