"""Skins: the words in which an abstract problem is told."""
