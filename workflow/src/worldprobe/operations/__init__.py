"""Running studies: status, locks, what a job needs."""
