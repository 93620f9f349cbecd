"""What several judges need."""
