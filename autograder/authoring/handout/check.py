"""`check("name")` and `hint("name")` for the notebook beside this file; what they do lives in ../kit."""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from kit.notebook import Checker  # noqa: E402  (the kit is found only now)

check = Checker(HERE)
hint = check.hint
