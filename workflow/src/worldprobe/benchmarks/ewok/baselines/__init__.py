"""Yardsticks beside the models: word2vec and surface properties (arXiv 2405.09605, Appendix A.5)."""
