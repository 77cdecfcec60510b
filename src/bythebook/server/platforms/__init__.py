"""Chat platforms: questions that come from Slack and Discord, and answers that go there."""
