"""Run the command line with ``python -m sfs_cli``."""

from sfs_cli.cli.app import main

if __name__ == "__main__":
    main()
