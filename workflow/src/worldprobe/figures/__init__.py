"""Figures for papers: PDF, SVG, PNG."""
