"""`python -m finchsched`."""

import sys

from finchsched.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
