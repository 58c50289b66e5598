"""The commands from begin to end, a file each."""
