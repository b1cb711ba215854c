"""Displays, the report's page, the paper, the leaderboard."""
