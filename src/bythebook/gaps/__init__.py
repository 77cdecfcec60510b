"""What readers asked and the book did not say well: grouped by meaning, on this machine."""
