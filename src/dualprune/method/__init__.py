"""The centre: from the name of a method, or a user's own functions, to a coreset."""
