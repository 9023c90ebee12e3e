"""`python -m research.train experiment=train_faier …`: the command, with the trainings' options."""

import sys
from pathlib import Path

from metaeval.cli.main import main

CONF = Path(__file__).parents[1] / "conf"

if __name__ == "__main__":
    sys.argv[1:1] = ["--config-dir", str(CONF)]
    main()
