"""The shell: reads, decides, writes, announces."""
