"""`python -m judgelab` is the `judgelab` command."""

import sys

from judgelab.cli import main

sys.exit(main())
