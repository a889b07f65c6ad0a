"""How the bundled checkpoint was made, runnable: `python -m training --help`."""
