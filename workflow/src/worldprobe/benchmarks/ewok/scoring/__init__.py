"""What a model is asked about an item, and the scores that its responses give."""
