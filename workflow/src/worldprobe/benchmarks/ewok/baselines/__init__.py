"""What models are compared with: word2vec and surface properties (arXiv 2405.09605, Appendix A.5)."""
