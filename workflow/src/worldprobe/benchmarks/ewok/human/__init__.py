"""EWoK asked of people (paper, Section 4.4 and Appendices A.1 and B.1): items to questions, and answers back to items."""
