"""Books from elsewhere: web sites and git repositories, kept as folders below the home."""
