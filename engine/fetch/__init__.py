"""Bringing a model to this machine, as a person's own act: nothing here runs unless the fetch command is given."""
