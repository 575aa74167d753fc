"""Other libraries: one file each, imported only by those who use that library."""
