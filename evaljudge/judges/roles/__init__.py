"""Role-players that vote: is the candidate better than a reference, in whose eyes, and why."""
