"""What stores of conversations are made of: plain blocking code, which has no twin."""
