"""One module a noun: the verbs it has, what they take, and what they show."""
