"""What to quote from retrieved passages, and what a follow-up question asks for."""
