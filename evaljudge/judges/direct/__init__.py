"""Direct scoring: the model is asked for a rating from 1 to 5."""
