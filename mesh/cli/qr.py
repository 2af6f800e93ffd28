"""A QR code in the terminal."""

import io

from mesh.cli.terminal import Terminal


def show_qr(terminal: Terminal, text: str) -> None:
    """Draw it with half blocks, with a quiet zone, light on dark terminals too."""
    # Imported here: only commands with --qr need it.
    import segno

    drawn = io.StringIO()
    segno.make(text, error="l", micro=False).terminal(out=drawn, compact=True, border=2)
    terminal.line(drawn.getvalue().rstrip("\n"))
