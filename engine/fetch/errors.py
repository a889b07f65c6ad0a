"""What a person is told when a model cannot be brought here."""


class FetchError(ValueError):
    """The model was not fetched; the message says why and what to do. Nothing half-done is left behind."""
