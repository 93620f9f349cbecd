"""A small invented world: reports of who did what where, and texts about them of known quality.

What is judged elsewhere by people is known here by construction, so a judge can be trained on one
half of the world and measured on the other. The halves share words and no name.
"""
