"""What operators and monitors ask and order."""
