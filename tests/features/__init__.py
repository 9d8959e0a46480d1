"""What engines have and their users ask for, each as a small program."""
