"""Where jobs live: one package a database, the same promises in both."""
