"""What users of absolute scores decide: arrays in, named results out, each with its uncertainty.

A document is the unit that is drawn: the candidates of one document depend on each other, so every
interval and test treats documents as clusters.
"""
