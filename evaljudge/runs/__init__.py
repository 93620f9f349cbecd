"""A configuration made ready and carried out: binding, planning, the pipeline and its progress."""
