"""Books' web sites: what puts the widget on their pages."""
