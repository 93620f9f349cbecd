"""G-Eval: steps of evaluation, then the model's distribution of ratings."""
