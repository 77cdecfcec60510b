"""The page, the widget and the admin's page: files that browsers load as they are."""
