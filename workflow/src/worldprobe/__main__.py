"""``python -m worldprobe``."""

import sys

# pandera imports hypothesis wherever that is installed, a tenth of each short command's time, to synthesise data nobody asks for.
sys.modules.setdefault("hypothesis", None)  # type: ignore[arg-type]

from worldprobe.cli import main  # noqa: E402

if __name__ == "__main__":
    raise SystemExit(main())
