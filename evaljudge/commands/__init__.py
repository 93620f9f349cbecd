"""Commands that do not run judges: each reads its own inputs, and prints what it found."""
