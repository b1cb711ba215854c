"""Displays, the report's page, the paper, exports, the leaderboard."""
