"""Short ways for the calls that programs are full of; each may be unplugged."""
