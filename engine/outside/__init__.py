"""An engine that is not ours, asked over OpenAI's API and timed from outside. Nothing here imports torch."""
