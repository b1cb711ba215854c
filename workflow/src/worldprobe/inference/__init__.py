"""Requests to models, their responses, and the store that keeps them."""
