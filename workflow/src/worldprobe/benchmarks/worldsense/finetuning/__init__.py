"""Fine-tuning on WorldSense (paper, Section 5.4): what is trained on, what must not be, and the
card of the tuned model.
"""
