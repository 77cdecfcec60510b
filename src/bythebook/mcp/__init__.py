"""The books as an MCP server: tools and resources that an assistant's program can use."""
