"""The interface's own words go through gettext, so that a translation is a catalogue and not a change of code.

Catalogues lie in views/locale; without one for the chosen language the English words in the code are shown. Lessons are
translated as files of their own (`lessons/<language>`).
"""

from __future__ import annotations

import gettext
from pathlib import Path

LOCALE = Path(__file__).resolve().parent / "locale"

_translation = gettext.translation("twospeeds", localedir=LOCALE, fallback=True)

_ = _translation.gettext
ngettext = _translation.ngettext
