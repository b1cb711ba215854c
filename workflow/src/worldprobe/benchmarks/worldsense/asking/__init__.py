"""Asking models about trials: prompt sets, solved examples, dialogues, and controls of known behaviour."""
