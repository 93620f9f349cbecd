"""Direct scoring by comparison with synthetic references of graded quality."""
