"""Asking models: what no benchmark knows of."""
