"""The survey that people take: a web server in front of one SQLite file, for any benchmark's lists
of trials.
"""
