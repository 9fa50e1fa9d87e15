"""What is owned, traded and owed."""
