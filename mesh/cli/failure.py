"""A command that could not do what it was asked, in the three words of every refusal."""


class Failed(Exception):
    """Ends the command with the exit status of its reason."""

    def __init__(self, reason: str, message: str, next: str = "") -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message
        self.next = next
