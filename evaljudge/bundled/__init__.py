"""What comes with evaljudge: a small invented world, a judge that knows it, a tiny checkpoint."""
