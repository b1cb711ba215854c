"""EWoK's items for other programs: evaluation harnesses, the Hugging Face hub, search for copies on
the web.
"""
