"""The command line: `dure NOUN VERB`, over the same commands and insights as every surface."""
